//! Overruns of the limits of a check: how much wall clock and processor time passes after its budget is
//! spent, after the watchdog's limit, and after Ctrl-C, until the process has ended.
//!
//! Every program runs in a process of its own, where it would run far beyond the limit. The processor time
//! of the process is read when the limit is reached, and again when the process has ended.

mod library;
mod native_programs;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure;

pub(crate) use library::run_here;

/// Maximum processor time after a limit.
const MOST: Duration = Duration::from_secs(1);
/// A process that runs on for this long is killed.
const PATIENCE: Duration = Duration::from_secs(20);
/// The budget of each program.
const BUDGET: Duration = Duration::from_secs(2);
/// The watchdog's limit for programs that hang.
const WATCHDOG: Duration = Duration::from_secs(2);
/// Time before Ctrl-C.
const INTERRUPT: Duration = Duration::from_secs(1);

/// What a program does beyond all limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Excess {
    /// It has scheduling points, so that budget and Ctrl-C end it.
    Points,
    /// A call of this duration, outside of raddle's control, is between two scheduling points.
    Calls(Duration),
    /// It fails, and to explain the failure would take longer than there is time.
    Fails,
    /// It has no scheduling points, so that only the watchdog ends it.
    Hangs,
}

/// A program and the command that checks it.
struct Case {
    name: String,
    excess: Excess,
    command: Box<dyn Fn() -> Command>,
}

/// A limit and what is past it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Budget,
    Watchdog,
    CtrlC,
}

impl Limit {
    fn name(self) -> &'static str {
        match self {
            Limit::Budget => "budget",
            Limit::Watchdog => "watchdog",
            Limit::CtrlC => "ctrl-c",
        }
    }

    /// Time after which the process has to end.
    fn after(self) -> Duration {
        match self {
            Limit::Budget => BUDGET,
            Limit::Watchdog => WATCHDOG,
            Limit::CtrlC => INTERRUPT,
        }
    }

    /// Returns the limits that end such a program.
    fn of(excess: Excess) -> &'static [Limit] {
        match excess {
            Excess::Points | Excess::Calls(_) => &[Limit::Budget, Limit::CtrlC],
            Excess::Fails => &[Limit::Budget],
            Excess::Hangs => &[Limit::Watchdog],
        }
    }
}

/// What one process did beyond its limit.
struct Overrun {
    wall: Duration,
    processor: Duration,
    was_killed: bool,
    said: String,
}

/// Prints the overruns of all programs, or of those with these words in their names; returns true if none
/// is larger than it may be.
pub(crate) fn run(words: &[String]) -> bool {
    let mut cases = library::cases();
    cases.extend(native_programs::cases());
    let is_wanted = |case: &Case| words.is_empty() || words.iter().any(|it| case.name.contains(it));
    cases.retain(is_wanted);
    let mut worst = Duration::ZERO;
    let (mut is_good, mut count) = (true, 0);
    for case in &cases {
        count += 1;
        for &limit in Limit::of(case.excess) {
            let overrun = measure(case, limit);
            worst = worst.max(overrun.processor);
            let is_within = overrun.processor <= MOST && !overrun.was_killed;
            is_good &= is_within;
            println!(
                "limits {} {} overrun_wall={:.2}s overrun_processor={:.2}s{}{} | {}",
                case.name,
                limit.name(),
                overrun.wall.as_secs_f64(),
                overrun.processor.as_secs_f64(),
                match case.excess {
                    Excess::Calls(time) => format!(" foreign_call={:.1}s", time.as_secs_f64()),
                    _ => String::new(),
                },
                if is_within { "" } else { " TOO LONG" },
                overrun.said,
            );
        }
    }
    let verdict = if is_good { "yes" } else { "NO" };
    println!(
        "limits programs={count} worst_processor={:.2}s at_most_{}s_each={verdict}",
        worst.as_secs_f64(),
        MOST.as_secs()
    );
    is_good
}

/// Runs a program and measures what it does after its limit.
fn measure(case: &Case, limit: Limit) -> Overrun {
    let folder = folder();
    let mut command = (case.command)();
    command
        .env("RADDLE_MAX_TIME", "1h")
        .env("RADDLE_WATCHDOG", "1m")
        .env("CARGO_TARGET_DIR", &folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match limit {
        Limit::Budget => command.env("RADDLE_MAX_TIME", format!("{}s", BUDGET.as_secs())),
        Limit::Watchdog => command.env("RADDLE_WATCHDOG", format!("{}s", WATCHDOG.as_secs())),
        Limit::CtrlC => command.env("RADDLE_EVENTS", folder.join("events")),
    };
    let start = Instant::now();
    let mut child = command.spawn().expect("the program was just built");
    let readers = [
        last_line(child.stderr.take().expect("it is piped")),
        last_line(child.stdout.take().expect("it is piped")),
    ];
    let until = start + limit.after();
    while Instant::now() < until && !has_ended(&child) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let before = processor_time_of(&child);
    if limit == Limit::CtrlC {
        // SAFETY: a child that was not waited for exists.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    }
    let mut was_killed = false;
    while !has_ended(&child) {
        std::thread::sleep(Duration::from_millis(5));
        if until.elapsed() > PATIENCE {
            was_killed = true;
            let _ = child.kill();
        }
    }
    let wall = until.elapsed();
    let after = processor_time_of(&child);
    let status = child.wait().expect("it is a child");
    let [said, printed] = readers.map(|reader| reader.join().unwrap_or_default());
    let _ = std::fs::remove_dir_all(&folder);
    let said = if said.is_empty() { printed } else { said };
    let ended = if was_killed {
        "killed".to_owned()
    } else {
        status.to_string()
    };
    Overrun {
        wall,
        processor: after.saturating_sub(before),
        was_killed,
        said: format!("{ended}: {said}"),
    }
}

/// Reads all that a process prints, and returns the last line about the check.
fn last_line(pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let text = std::io::read_to_string(pipe).unwrap_or_default();
        let is_result = |line: &&str| line.contains("raddle: ") || line.contains("RESULT ");
        let line = text.lines().rev().find(is_result).unwrap_or_default();
        line.chars().take(150).collect()
    })
}

/// A folder in which nothing is known from an earlier run.
fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("raddle-bench-limits-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    folder
}

/// The fields of `/proc/PID/stat` after the name.
fn stat(child: &Child) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

/// True when the process has ended; it is not waited for yet, so that its processor time can be read.
fn has_ended(child: &Child) -> bool {
    stat(child).is_none_or(|fields| matches!(fields[0].as_str(), "Z" | "X"))
}

/// Returns the processor time of a process and of its children that have ended.
fn processor_time_of(child: &Child) -> Duration {
    let fields = stat(child).unwrap_or_default();
    let ticks: u64 = (11..15)
        .filter_map(|index| fields.get(index)?.parse::<u64>().ok())
        .sum();
    Duration::from_secs_f64(ticks as f64 / measure::ticks_per_second())
}
