//! Failing schedules on disk, beside the test binary's build: `target/raddle/BINARY/TEST.schedule`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use raddle_engine::{CheckName, Schedule};

use crate::program::{Program, RunningBinary, shell_word};

/// Maximum length of a token that is printed in place of the file's name.
const MAX_PRINTED: usize = 200;
/// Maximum length of a token in a command. Linux does not pass on a variable of 128 KiB and more.
const MAX_IN_COMMAND: usize = 100_000;
/// Extension of files with schedules.
const SCHEDULE: &str = "schedule";

/// The command that replays a failure, and the error if its schedule could not be saved.
pub(crate) struct Saved {
    pub(crate) replay: String,
    pub(crate) problem: Option<String>,
}

/// Saves a failing schedule, with this text, and returns the command that replays it.
pub(crate) fn save(program: &dyn Program, schedule: &Schedule, text: &str) -> Saved {
    let binary = RunningBinary::find();
    let check = schedule.check.as_ref();
    let command = |value: &str| replay_command(program, &binary, value, check);
    let Some(path) = file_of(&binary, check, SCHEDULE) else {
        return Saved {
            replay: command(&token_or_file(schedule, || text.to_owned())),
            problem: None,
        };
    };
    match write(&path, text) {
        Ok(()) => {
            // A step takes a character at least, and the token of a million steps would take a second.
            let may_print = schedule.steps.len() <= MAX_PRINTED;
            let token = may_print.then(|| schedule.to_token());
            let token = token.filter(|token| token.len() <= MAX_PRINTED);
            Saved {
                replay: command(&token.unwrap_or_else(|| path.display().to_string())),
                problem: None,
            }
        }
        Err(error) => Saved {
            replay: command(&token_or_file(schedule, || text.to_owned())),
            problem: Some(format!(
                "the schedule could not be saved as {path:?}: {error}"
            )),
        },
    }
}

/// Returns the command that replays a schedule which is not saved, because another one of the test
/// is.
pub(crate) fn command(program: &dyn Program, schedule: &Schedule) -> String {
    let (binary, check) = (RunningBinary::find(), schedule.check.as_ref());
    let value = token_or_file(schedule, || schedule.to_string());
    replay_command(program, &binary, &value, check)
}

/// Returns the token of a schedule, or a new file for temporary use if the token is too long for a command.
fn token_or_file(schedule: &Schedule, text: impl FnOnce() -> String) -> String {
    static FILES: AtomicU32 = AtomicU32::new(0);
    if schedule.steps.len() <= MAX_IN_COMMAND {
        let token = schedule.to_token();
        if token.len() <= MAX_IN_COMMAND {
            return token;
        }
    }
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("raddle-{}-{number}.{SCHEDULE}", std::process::id());
    let path = std::env::temp_dir().join(name);
    match write(&path, &text()) {
        Ok(()) => path.display().to_string(),
        Err(_) => schedule.to_token(),
    }
}

/// Returns the command that runs an alternative of this check.
pub(crate) fn alternative_command(
    program: &dyn Program,
    alternative: &str,
    check: Option<&CheckName>,
) -> String {
    let run = program.command(&RunningBinary::find(), check);
    let strategy = shell_word(&format!("directed: {alternative}"));
    format!("RADDLE_STRATEGY={strategy} {run}")
}

/// Returns the file for the schedule of this check, if there is a target folder.
pub(crate) fn file(check: &CheckName) -> Option<PathBuf> {
    let file = file_of(&RunningBinary::find(), Some(check), SCHEDULE);
    file.filter(|file| file.is_file())
}

/// Returns the running program and this check as names of folders.
pub(crate) fn folder_names(check: &CheckName) -> (String, String) {
    let test = match check {
        CheckName { test, number: 1 } => file_name(test),
        CheckName { test, number } => format!("{}.{number}", file_name(test)),
    };
    (file_name(&RunningBinary::find().name), test)
}

/// Returns the folder for the page of a failure, beside its schedule.
pub(crate) fn page_folder(check: &CheckName) -> Option<PathBuf> {
    let (_, test) = folder_names(check);
    Some(RunningBinary::find().folder?.join(test))
}

/// Returns the file for the checkpoint of this check.
pub(crate) fn frontier(check: &CheckName) -> Option<PathBuf> {
    file_of(&RunningBinary::find(), Some(check), "frontier")
}

/// Returns the file with the history of checks.
pub(crate) fn runs_file() -> Option<PathBuf> {
    let folder = RunningBinary::find().folder?;
    Some(folder.parent()?.join("runs.redb"))
}

/// Returns the key of a check in that file.
pub(crate) fn check_key(check: &CheckName) -> String {
    let program = RunningBinary::find().name;
    match check {
        CheckName { test, number: 1 } => format!("{program} {test}"),
        CheckName { test, number } => format!("{program} {test} #{number}"),
    }
}

/// Returns the command that resumes an interrupted search.
pub(crate) fn resume_command(program: &dyn Program, check: Option<&CheckName>) -> String {
    let run = program.command(&RunningBinary::find(), check);
    format!("RADDLE_RESUME=1 {run}")
}

/// Converts a test's name to the name of a file or folder.
pub(crate) fn file_name(test: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '#');
    let name = test.replace("::", ".");
    name.chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect()
}

/// Writes the file atomically, because other processes may read or write it at the same time.
fn write(path: &Path, text: &str) -> io::Result<()> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("{}-{number}.new", std::process::id()));
    let written = std::fs::write(&new, text);
    let renamed = written.and_then(|()| std::fs::rename(&new, path));
    if renamed.is_err() {
        // An incomplete file is of no use.
        let _ = std::fs::remove_file(&new);
    }
    renamed
}

/// Returns the file for a check; the first check of a test has the test's name.
fn file_of(binary: &RunningBinary, check: Option<&CheckName>, extension: &str) -> Option<PathBuf> {
    let name = match check {
        None => format!("unnamed.{extension}"),
        Some(CheckName { test, number: 1 }) => format!("{}.{extension}", file_name(test)),
        Some(CheckName { test, number }) => format!("{}.{number}.{extension}", file_name(test)),
    };
    Some(binary.folder.as_ref()?.join(name))
}

/// Returns the command that replays a schedule by its token or its file.
fn replay_command(
    program: &dyn Program,
    binary: &RunningBinary,
    value: &str,
    check: Option<&CheckName>,
) -> String {
    let run = program.command(binary, check);
    format!("RADDLE_REPLAY={} {run}", shell_word(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_become_names_of_files() {
        assert_eq!(file_name("tests::counter"), "tests.counter");
        assert_eq!(file_name("a/b: c"), "a_b_ c");
    }
}
