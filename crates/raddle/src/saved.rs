//! Failing schedules on disk, beside the test binary's build: `target/raddle/BINARY/TEST.schedule`.

use std::io;
use std::path::{Path, PathBuf};

use raddle_engine::Schedule;

/// Schedules up to this length are printed instead of the file's name.
const MAX_PRINTED: usize = 200;

/// What to type to see a failure again, and what went wrong with saving its schedule.
pub(crate) struct Saved {
    pub(crate) replay: String,
    pub(crate) problem: Option<String>,
}

/// Saves a failing schedule and says how to replay it.
pub(crate) fn save(schedule: &Schedule, test: Option<&str>) -> Saved {
    let program = Program::running();
    let line = schedule.one_line();
    let is_short = line.len() <= MAX_PRINTED;
    let command = |value: &str| program.command(value, test);
    let Some(folder) = &program.folder else {
        return Saved {
            replay: command(&line),
            problem: None,
        };
    };
    match write(folder, test.unwrap_or("unnamed"), schedule) {
        Ok(_) if is_short => Saved {
            replay: command(&line),
            problem: None,
        },
        Ok(path) => Saved {
            replay: command(&path.display().to_string()),
            problem: None,
        },
        Err((path, error)) => Saved {
            replay: command(&line),
            problem: Some(format!(
                "the schedule could not be saved as {path:?}: {error}"
            )),
        },
    }
}

/// How to replay a schedule that is not saved, because another one of the test is.
pub(crate) fn command(schedule: &Schedule, test: Option<&str>) -> String {
    Program::running().command(&schedule.one_line(), test)
}

fn write(folder: &Path, name: &str, schedule: &Schedule) -> Result<PathBuf, (PathBuf, io::Error)> {
    let path = folder.join(format!("{}.schedule", name.replace("::", ".")));
    let write = || {
        std::fs::create_dir_all(folder)?;
        std::fs::write(&path, schedule.to_string())
    };
    match write() {
        Ok(()) => Ok(path),
        Err(error) => Err((path, error)),
    }
}

/// The program that runs the check.
struct Program {
    name: String,
    is_test: bool,
    /// Where its schedules are kept; `None` if cargo did not build it.
    folder: Option<PathBuf>,
}

impl Program {
    fn running() -> Self {
        let binary = std::env::current_exe().unwrap_or_default();
        let stem = binary
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("program");
        // Cargo builds tests below `deps`, under their name and a hash.
        let is_test = binary
            .parent()
            .is_some_and(|folder| folder.ends_with("deps"));
        let name = match stem.rsplit_once('-') {
            Some((name, _)) if is_test => name,
            _ => stem,
        };
        // It marks its target folder with a tag.
        let target = binary
            .ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").is_file());
        Program {
            folder: target.map(|target| target.join("raddle").join(name)),
            name: name.to_owned(),
            is_test,
        }
    }

    fn command(&self, value: &str, test: Option<&str>) -> String {
        match (self.is_test, test) {
            (true, Some(test)) => format!("RADDLE_REPLAY='{value}' cargo test {test} -- --exact"),
            (true, None) => format!("RADDLE_REPLAY='{value}' cargo test"),
            (false, _) => format!("RADDLE_REPLAY='{value}' {}", self.name),
        }
    }
}
