//! Runs `cargo raddle test` over the stories of real bugs and kills it every few seconds with `kill -9`: the
//! command, one of its tests, or both. After each kill everything that was there before must still be there,
//! no process may be left, and the next run must work.
//!
//! ```text
//! cargo build -p cargo-raddle && cargo run -p raddle-soak -- 30 target/debug/cargo-raddle
//! ```
//!
//! The arguments are how many minutes, and the command. It ends with a line of counts, and with a failure if
//! anything was lost or left over. Linux only: it looks for processes in `/proc`.

mod kept;
mod processes;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use kept::Kept;

/// One run in this many is left undisturbed, and has to pass.
const ALONE: u32 = 8;
/// How long a kill may take to be noticed by everybody.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the command ends with when tests fail, as these do for it.
const FINDINGS: i32 = 1;

/// What happened so far.
#[derive(Debug, Default)]
struct Counts {
    runs: u32,
    commands_killed: u32,
    tests_killed: u32,
    passed: u32,
    problems: u32,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let minutes = arguments.next().and_then(|it| it.parse::<u64>().ok());
    let (Some(minutes), Some(command)) = (minutes, arguments.next()) else {
        eprintln!("usage: raddle-soak MINUTES CARGO-RADDLE");
        return ExitCode::from(2);
    };
    let work = std::env::temp_dir().join(format!("raddle-soak-{}", std::process::id()));
    std::fs::create_dir_all(&work).expect("the temporary folder can be written");
    let soak = Soak {
        command: PathBuf::from(command),
        folder: work.join("raddle"),
        log: work.join("log"),
    };
    let counts = soak.run(Duration::from_secs(60 * minutes));
    let kept = Kept::read(&soak.folder).unwrap_or_default();
    println!("soak {minutes} minutes: {counts:?}; {kept}");
    match counts.problems {
        0 => {
            let _ = std::fs::remove_dir_all(&work);
            ExitCode::SUCCESS
        }
        _ => {
            println!("what there is, is in {}", work.display());
            ExitCode::FAILURE
        }
    }
}

struct Soak {
    command: PathBuf,
    /// Where the tests keep what they remember.
    folder: PathBuf,
    log: PathBuf,
}

impl Soak {
    fn run(&self, time: Duration) -> Counts {
        let mut counts = Counts::default();
        let mut before = Kept::default();
        let start = Instant::now();
        while start.elapsed() < time || counts.runs % ALONE != 0 {
            counts.runs += 1;
            let problem = match counts.runs % ALONE {
                0 => self.leave_alone(&mut counts),
                _ => self.disturb(&mut counts),
            };
            let kept = Kept::read(&self.folder);
            let problems = [
                problem,
                processes::wait_for_none(&self.folder, PATIENCE).err(),
                kept.as_ref().err().cloned(),
                kept.as_ref().ok().and_then(|now| before.lost(now)),
            ];
            for problem in problems.into_iter().flatten() {
                counts.problems += 1;
                println!("run {}: {problem}", counts.runs);
            }
            before = kept.unwrap_or(before);
        }
        // Whatever was about to be renamed is old enough by now to be cleared.
        std::thread::sleep(Duration::from_secs(61));
        let status = self.start().wait().expect("a child");
        let last = (status.code() != Some(FINDINGS)).then(|| format!("it ends with {status}"));
        for problem in last.into_iter().chain(kept::left_over(&self.folder)) {
            counts.problems += 1;
            println!("in the end: {problem}");
        }
        counts
    }

    /// Starts the command, which says that bugs are found.
    fn start(&self) -> Child {
        let arguments = ["raddle", "test", "--package", "raddle-soak", "--jobs", "3"];
        self.spawn(Command::new(&self.command).args(arguments))
    }

    fn spawn(&self, command: &mut Command) -> Child {
        let log = std::fs::File::create(&self.log).expect("a folder of its own");
        let both = log.try_clone().expect("a file that is open");
        command
            .env("RADDLE_DIR", &self.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(both)
            .spawn()
            .expect("the command can be started")
    }

    /// Runs the tests without the command: each passes if it finds its bugs. What is wrong with it.
    fn leave_alone(&self, counts: &mut Counts) -> Option<String> {
        let arguments = ["test", "--package", "raddle-soak", "--test", "bugs"];
        let mut running = self.spawn(Command::new("cargo").args(arguments));
        let status = running.wait().expect("a child");
        counts.passed += u32::from(status.success());
        let said = || std::fs::read_to_string(&self.log).unwrap_or_default();
        (!status.success())
            .then(|| format!("a run that was left alone ended with {status}:\n{}", said()))
    }

    /// Kills some of it after a while; what is wrong afterwards.
    fn disturb(&self, counts: &mut Counts) -> Option<String> {
        let mut running = self.start();
        let wait = Duration::from_millis(fastrand::u64(500..5_000));
        let tests = || processes::of(&self.folder);
        let start = Instant::now();
        while tests().is_empty() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(wait);
        let victims = tests();
        let (of_test, of_command) =
            [(true, false), (false, true), (true, true)][fastrand::usize(..3)];
        if of_test && let Some(&victim) = fastrand::choice(&victims) {
            counts.tests_killed += u32::from(processes::kill(victim));
        }
        if of_command {
            counts.commands_killed += u32::from(running.kill().is_ok());
        }
        let status = running.wait().expect("a child");
        // Who is left says how it ended: a test that was killed has neither passed nor failed.
        let is_told = of_command || [Some(FINDINGS), Some(2)].contains(&status.code());
        (!is_told).then(|| format!("the command ended with {status} when a test was killed"))
    }
}

/// Whether a path is there, for messages.
fn name(path: &Path) -> String {
    path.display().to_string()
}
