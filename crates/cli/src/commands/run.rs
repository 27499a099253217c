//! `cargo raddle run`: checks `main` of an unmodified program.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use crate::arguments::settings;
use crate::arguments::subcommands::RunArguments;
use crate::commands::error::Error;
use crate::commands::native_process;
#[cfg(unix)]
use crate::commands::queue;
use crate::commands::replay::given_schedule;
use crate::commands::verdict::Verdict;
use crate::output;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::native_program::NativeProgram;
use crate::toolchain::native_runtime::NativeRuntime;
use crate::toolchain::{self, rust};

pub fn run(cargo: &Cargo, options: RunArguments) -> Result<Verdict, Error> {
    settings::check_variables(true, &options.settings, |name| env::var_os(name))?;
    // Before the build, which takes time.
    #[cfg(unix)]
    let address = options
        .queue
        .as_deref()
        .map(|given| queue::address(Some(given)));
    #[cfg(unix)]
    let address = address.transpose()?;
    #[cfg(not(unix))]
    if options.queue.is_some() {
        return Err(Error::QueueNeedsUnix);
    }
    let replay = options.replay.clone().map(given_schedule).transpose()?;
    let runtime = NativeRuntime::find()?;
    let selection = &options.selection;
    output::set_colours(selection.build.colours());
    let (path, arguments) = match options.program.as_slice() {
        [program, arguments @ ..] if !selection.is_given() => (find(program)?, arguments),
        arguments => (
            rust::build_program(cargo, &runtime, &selection.cargo_arguments())?,
            arguments,
        ),
    };
    let program = NativeProgram::new(path, runtime)?;
    let mut command = program.command(arguments);
    command.envs(options.settings.environment());
    command.envs(output::terminal_variables(selection.build.colours()));
    command.envs(replay.map(|schedule| ("RADDLE_REPLAY", schedule)));
    #[cfg(unix)]
    if let Some(address) = address {
        let front_end = queue::open_for_program(address, &options)?;
        return shared::run(front_end, &program.name(), command);
    }
    native_process::run(&mut command)
}

/// Returns the file of a program, found as a shell finds it.
pub fn find(program: &OsStr) -> Result<PathBuf, toolchain::error::Error> {
    let path = PathBuf::from(program);
    if path.components().count() > 1 {
        return Ok(path);
    }
    let directories = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&directories).map(|directory| directory.join(&path));
    files
        .find(|file| file.is_file())
        .ok_or_else(|| toolchain::error::Error::NotStarted {
            program: program.to_owned(),
            cause: io::ErrorKind::NotFound.into(),
        })
}

/// A program whose search is shared by a queue.
#[cfg(unix)]
mod shared {
    use std::env;
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitStatus, Stdio};
    use std::sync::Mutex;
    use std::thread;
    use std::time::{Duration, Instant};

    use serde_json::Value;

    use super::{Error, Verdict, native_process, output, toolchain};
    use crate::run::interrupts::{self, StopRequest};
    use crate::run::leftovers::RunDirectory;
    use crate::run::queue::SearchName;
    use crate::run::queue::front_end::FrontEnd;
    use crate::run::runner::kill_with_parent;
    use crate::toolchain::data_directory;

    /// Interval of looks at the process.
    const INTERVAL: Duration = Duration::from_millis(10);
    /// Time until the first line of progress; the intervals double.
    const FIRST_LINE: Duration = Duration::from_secs(2);

    /// Runs the program, which reports the results of all workers.
    pub fn run(front_end: FrontEnd, name: &str, mut command: Command) -> Result<Verdict, Error> {
        let raddle = data_directory::from_environment();
        let raddle = raddle.unwrap_or_else(|| env::temp_dir().join("raddle-run"));
        let directory =
            RunDirectory::new(&raddle).map_err(output::error::Error::cannot_write(&raddle))?;
        // With a file for events, an interrupt ends the check with its results so far.
        command.env("RADDLE_EVENTS", directory.path().join("events"));
        // Executions of workers have no input.
        command.stdin(Stdio::null());
        interrupts::listen();
        let next = Mutex::new((Instant::now() + FIRST_LINE, FIRST_LINE));
        let report = |event: Value| show(name, &event, &next);
        let (binary, test) = SearchName::of_program(name);
        let status = front_end.present(|| {
            front_end.run_test(directory.path(), binary, test, &report, |variables| {
                wait(command.envs(variables.iter().copied()))
            })
        });
        front_end.close(!interrupts::is_requested())?;
        let status = status.and_then(|status| status);
        let status = status.map_err(|cause| toolchain::error::Error::NotStarted {
            program: command.get_program().to_owned(),
            cause,
        })?;
        match interrupts::is_requested() {
            true if status.code() != Some(1) => {
                let events = fs::read_to_string(directory.path().join("events"));
                eprint!("{}", interrupted(name, &events.unwrap_or_default()));
                Ok(Verdict::Interrupted)
            }
            _ => native_process::verdict(status),
        }
    }

    /// Returns the results so far of an interrupted check, by its events, and the command that resumes it.
    fn interrupted(name: &str, events: &str) -> String {
        let events = events
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut ends = events.filter(|event: &Value| event["interrupted"] == true);
        let end = ends.next_back().unwrap_or_default();
        let Some(summary) = end["summary"].as_str() else {
            return format!("raddle: {name}: stopped by the user\n");
        };
        let resume = end["resume"].as_str();
        let resume = resume.map(|command| format!("\n  to resume: {command}\n"));
        format!("raddle: {name}: {summary}\n{}", resume.unwrap_or_default())
    }

    /// Prints progress now and then, and failures of workers at once.
    fn show(name: &str, event: &Value, next: &Mutex<(Instant, Duration)>) {
        if event["event"] == "found" {
            let headline = event["headline"].as_str().unwrap_or_default();
            let line = headline.lines().next().unwrap_or_default();
            eprintln!("   ... {name}: found {line}");
            return;
        }
        let mut next = next.lock().expect("not poisoned");
        if Instant::now() >= next.0 {
            next.1 *= 2;
            next.0 = Instant::now() + next.1;
            eprintln!(
                "   ... {name}: {}",
                event["text"].as_str().unwrap_or_default()
            );
        }
    }

    /// Runs a process to its end, and passes interrupts on to it.
    fn wait(command: &mut Command) -> std::io::Result<ExitStatus> {
        // A terminal sends Ctrl-C to the whole process group; this process forwards it instead.
        command.process_group(0);
        kill_with_parent(command);
        let mut child = command.spawn()?;
        let mut stop = StopRequest::default();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            stop.forward(&mut child);
            thread::sleep(INTERVAL);
        }
    }
}
