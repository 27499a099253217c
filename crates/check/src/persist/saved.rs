//! Failing schedules on disk, beside the test binary's build: `target/raddle/BINARY/TEST.schedule`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use raddle_engine::{CheckName, Schedule};

use crate::runtime::native;
use crate::settings::running_binary::RunningBinary;

/// Tokens up to this length are printed instead of the file's name.
const MAX_PRINTED: usize = 200;
/// How names of files with schedules end.
const SCHEDULE: &str = "schedule";

/// What to type to see a failure again, and what went wrong with saving its schedule.
pub(crate) struct Saved {
    pub(crate) replay: String,
    pub(crate) problem: Option<String>,
}

/// Saves a failing schedule and says how to replay it.
pub(crate) fn save(schedule: &Schedule) -> Saved {
    let program = RunningBinary::find();
    let check = schedule.check.as_ref();
    let token = schedule.to_token();
    let Some(path) = program.file(check, SCHEDULE) else {
        return Saved {
            replay: program.command(&token, check),
            problem: None,
        };
    };
    match write(&path, schedule) {
        Ok(()) => {
            let path = path.display().to_string();
            let is_short = token.len() <= MAX_PRINTED;
            Saved {
                replay: program.command(if is_short { &token } else { &path }, check),
                problem: None,
            }
        }
        Err(error) => Saved {
            replay: program.command(&token, check),
            problem: Some(format!(
                "the schedule could not be saved as {path:?}: {error}"
            )),
        },
    }
}

/// How to replay a schedule that is not saved, because another one of the test is.
pub(crate) fn command(schedule: &Schedule) -> String {
    RunningBinary::find().command(&schedule.to_token(), schedule.check.as_ref())
}

/// How to run a future of this check.
pub(crate) fn future_command(future: &str, check: Option<&CheckName>) -> String {
    let program = RunningBinary::find();
    let strategy = shell_word(&format!("directed: {future}"));
    format!("RADDLE_STRATEGY={strategy} {}", program.run(check))
}

/// Where the schedule of a failure of this check is, if there is one.
pub(crate) fn file(check: &CheckName) -> Option<PathBuf> {
    let file = RunningBinary::find().file(Some(check), SCHEDULE);
    file.filter(|file| file.is_file())
}

/// The running program and this check, as names of folders.
pub(crate) fn folder_names(check: &CheckName) -> (String, String) {
    let test = match check {
        CheckName { test, number: 1 } => file_name(test),
        CheckName { test, number } => format!("{}.{number}", file_name(test)),
    };
    (file_name(&RunningBinary::find().name), test)
}

/// Where the page of a failure is kept, beside its schedule.
pub(crate) fn page_folder(check: &CheckName) -> Option<PathBuf> {
    let (_, test) = folder_names(check);
    Some(RunningBinary::find().folder?.join(test))
}

/// Where an exhaustive search is kept that was interrupted.
pub(crate) fn frontier(check: &CheckName) -> Option<PathBuf> {
    RunningBinary::find().file(Some(check), "frontier")
}

/// Where checks remember earlier runs.
pub(crate) fn runs_file() -> Option<PathBuf> {
    let folder = RunningBinary::find().folder?;
    Some(folder.parent()?.join("runs.redb"))
}

/// What they call a check there.
pub(crate) fn check_key(check: &CheckName) -> String {
    let program = RunningBinary::find().name;
    match check {
        CheckName { test, number: 1 } => format!("{program} {test}"),
        CheckName { test, number } => format!("{program} {test} #{number}"),
    }
}

/// How to go on with a search that was interrupted.
pub(crate) fn resume_command(check: Option<&CheckName>) -> String {
    format!("RADDLE_RESUME=1 {}", RunningBinary::find().run(check))
}

/// Tells one build of the running program from another.
pub(crate) fn program_fingerprint() -> &'static str {
    static FINGERPRINT: OnceLock<String> = OnceLock::new();
    FINGERPRINT.get_or_init(|| {
        let binary = std::env::current_exe().and_then(std::fs::read);
        let hash = |bytes: Vec<u8>| {
            let mut hash = bytes.len() as u64;
            for word in bytes.chunks(8) {
                let mut padded = [0; 8];
                padded[..word.len()].copy_from_slice(word);
                hash = (hash ^ u64::from_le_bytes(padded))
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                    .rotate_left(29);
            }
            format!("{hash:016x}")
        };
        binary.map_or_else(|_| "unknown".to_owned(), hash)
    })
}

/// A test's name as the name of a file or folder.
pub(crate) fn file_name(test: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '#');
    let name = test.replace("::", ".");
    name.chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect()
}

/// Others may read the file at the same time, or write it, so it is there as a whole or not at all.
fn write(path: &Path, schedule: &Schedule) -> io::Result<()> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("{}-{number}.new", std::process::id()));
    let written = std::fs::write(&new, schedule.to_string());
    let renamed = written.and_then(|()| std::fs::rename(&new, path));
    if renamed.is_err() {
        // What there is of it helps nobody.
        let _ = std::fs::remove_file(&new);
    }
    renamed
}

impl RunningBinary {
    /// The file for a check; the first of a test has the test's name.
    fn file(&self, check: Option<&CheckName>, extension: &str) -> Option<PathBuf> {
        let name = match check {
            None => format!("unnamed.{extension}"),
            Some(CheckName { test, number: 1 }) => format!("{}.{extension}", file_name(test)),
            Some(CheckName { test, number }) => format!("{}.{number}.{extension}", file_name(test)),
        };
        Some(self.folder.as_ref()?.join(name))
    }

    fn command(&self, value: &str, check: Option<&CheckName>) -> String {
        format!("RADDLE_REPLAY={} {}", shell_word(value), self.run(check))
    }

    /// How to run the check again.
    fn run(&self, check: Option<&CheckName>) -> String {
        match (self.is_test, check) {
            (_, Some(check)) if native::is_test() => native_test(&check.test),
            (true, Some(check)) => {
                let test = shell_word(&check.test);
                format!("cargo test {test} -- --exact")
            }
            (true, None) => "cargo test".to_owned(),
            (false, _) if native::is_installed() => native_command(),
            (false, _) => self.name.clone(),
        }
    }
}

/// How to run a test again that does not know of raddle.
fn native_test(test: &str) -> String {
    let run = format!("cargo raddle test --native {}", shell_word(test));
    let words: Vec<_> = native_settings().chain([run]).collect();
    words.join(" ")
}

/// What says which operations there are.
fn native_settings() -> impl Iterator<Item = String> {
    let settings = ["RADDLE_MEMORY", "RADDLE_PLAIN"].into_iter();
    let settings = settings.filter_map(|name| Some((name, std::env::var(name).ok()?)));
    settings.map(|(name, value)| format!("{name}={}", shell_word(&value)))
}

/// How to run a program in C or C++ again: with the same arguments, and as a whole if it was.
fn native_command() -> String {
    let settings = native_settings();
    let run = native::is_whole().then(|| "cargo raddle run --".to_owned());
    let program = std::env::args().map(|it| shell_word(&it));
    let words: Vec<_> = settings.chain(run).chain(program).collect();
    words.join(" ")
}

/// The text as a shell reads it: in quotes if it has to be.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_if_a_shell_would_read_them_otherwise() {
        assert_eq!(shell_word("r1.Ab-_9"), "r1.Ab-_9");
        assert_eq!(shell_word("/a/b c"), "'/a/b c'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn names_of_tests_become_names_of_files() {
        assert_eq!(file_name("tests::counter"), "tests.counter");
        assert_eq!(file_name("a/b: c"), "a_b_ c");
    }
}
