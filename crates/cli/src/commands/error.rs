//! What ends a command without a verdict. Each message says what to do next.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::commands::replay::SCHEDULE_HEADER;

/// Why there is no verdict.
#[derive(Debug)]
pub enum Error {
    /// Cargo itself could not be started.
    CargoNotStarted { program: OsString, cause: io::Error },
    /// The tests do not compile; cargo has said why.
    BuildFailed,
    /// Neither a pass nor a failure of a test: a crash, a signal, the watchdog.
    TestsBroke { status: ExitStatus },
    /// The same, of tests that we have run ourselves.
    TestsDidNotFinish,
    /// Some tests have executions that are too long.
    TestsAreTooLong,
    /// A test binary could not be started.
    BinaryNotStarted { path: PathBuf, cause: io::Error },
    /// A test binary does not say which tests it has.
    BinaryDoesNotList { name: String, output: String },
    /// No test binary has raddle in it.
    NothingUsesRaddle,
    /// Flags for programs that do not know of raddle, without the word that tests do not.
    NeedsNative,
    /// Doc tests are programs that only `rustdoc` builds.
    DocTestsAreNotNative,
    /// No test has this in its name.
    NoTestMatches { filter: String },
    /// A file could not be written.
    CannotWrite { path: PathBuf, cause: io::Error },
    /// A folder has no pages.
    NoPages { folder: PathBuf },
    /// A replay told nothing that could be exported.
    NothingToExport,
    /// The names of the tests could not be had.
    ListFailed { output: String },
    /// The target directory could not be had.
    MetadataFailed { output: String },
    /// Cargo's metadata are not what its manual says.
    MetadataUnreadable,
    /// No target has a test of that name.
    NoSuchTest { name: String, near: Vec<String> },
    /// What was given is neither a schedule nor a file.
    NotASchedule { given: OsString },
    /// Nothing was given and nothing was saved.
    NoSavedSchedule { test: String, path: PathBuf },
    /// Tests of that name in several binaries have saved one each.
    SeveralSavedSchedules { test: String, found: Vec<PathBuf> },
    /// No check has remembered anything.
    NothingRemembered { path: PathBuf },
    /// The file of what is remembered cannot be used.
    Runs { problem: raddle_runs::Problem },
    /// A program in C or C++ cannot be checked.
    Native {
        problem: crate::toolchain::error::Problem,
    },
    /// A relative path has no meaning without a current directory.
    NoCurrentDirectory { cause: io::Error },
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CargoNotStarted { program, cause } => write!(
                formatter,
                "cannot run `{}`: {cause}\n  \
                 help: set the environment variable CARGO to the cargo to use",
                program.display(),
            ),
            Self::BuildFailed => {
                formatter.write_str("the tests do not build\n  help: cargo's messages are above")
            }
            Self::TestsBroke { status } => write!(
                formatter,
                "the tests did not finish: cargo test ended with {status}\n  \
                 help: what they printed last is above",
            ),
            Self::TestsDidNotFinish => formatter.write_str(
                "some tests neither passed nor failed\n  help: they are marked with !! above",
            ),
            Self::TestsAreTooLong => formatter.write_str(
                "some tests are too long to be checked, and neither passed nor failed\n  help: let \
                 them do less, or raise the limit with `--max-events`",
            ),
            Self::BinaryNotStarted { path, cause } => {
                write!(formatter, "cannot run {}: {cause}", path.display())
            }
            Self::BinaryDoesNotList { name, output } => {
                write!(
                    formatter,
                    "the tests of `{name}` are left out: it does not say which it has, as tests with \
                     a harness of their own may not\n  help: `cargo test` runs them"
                )?;
                match output.lines().next() {
                    None => Ok(()),
                    Some(line) => write!(formatter, "\n  note: it said: {line}"),
                }
            }
            Self::NothingUsesRaddle => formatter.write_str(
                "no test here uses raddle\n  \
                 help: add raddle with the feature `check` to `[dev-dependencies]`, write \
                 `#[raddle::test]` above a test, and use `raddle::sync` and `raddle::thread` in the \
                 code; `cargo raddle test --native` checks tests as they are, on x86-64 Linux",
            ),
            Self::NeedsNative => formatter.write_str(
                "--memory, --plain, --substrate and --restart are for programs that do not know of raddle\n  \
                 help: `cargo raddle test --native` checks tests so",
            ),
            Self::DocTestsAreNotNative => formatter.write_str(
                "doc tests cannot be checked with --native\n  \
                 help: move the code to a test; `cargo test --doc` runs them as they are",
            ),
            Self::NoTestMatches { filter } => write!(
                formatter,
                "no test has `{filter}` in its name\n  \
                 help: `cargo raddle test` without it runs all; `cargo test -- --list` shows the names",
            ),
            Self::CannotWrite { path, cause } => write!(
                formatter,
                "cannot write {}: {cause}\n  help: name another file or folder",
                path.display(),
            ),
            Self::NoPages { folder } => write!(
                formatter,
                "there are no pages in {}\n  \
                 help: `cargo raddle test --report {0}` writes some",
                folder.display(),
            ),
            Self::NothingToExport => formatter.write_str(
                "nothing was exported: the test ran no check on the schedule\n  \
                 help: what it printed is above",
            ),
            Self::ListFailed { output } => write!(
                formatter,
                "cannot list the tests\n  note: cargo said:\n{output}",
            ),
            Self::MetadataFailed { output } => write!(
                formatter,
                "cannot find the target directory\n  note: cargo said:\n{output}",
            ),
            Self::MetadataUnreadable => formatter.write_str(
                "cannot find the target directory: `cargo metadata` does not name it\n  \
                 help: name the schedule's file",
            ),
            Self::NoSuchTest { name, near } => {
                write!(formatter, "no test is named `{name}`\n  help: ")?;
                match near.as_slice() {
                    [] => formatter.write_str("`cargo test -- --list` shows the names"),
                    near => write!(formatter, "did you mean `{}`?", near.join("`, `")),
                }
            }
            Self::NotASchedule { given } => write!(
                formatter,
                "`{}` is neither a file nor a schedule nor a token\n  \
                 help: the text of a schedule starts with `{SCHEDULE_HEADER}`, a token with `r1.`",
                given.display(),
            ),
            Self::NoSavedSchedule { test, path } => write!(
                formatter,
                "no schedule is saved for `{test}`: there is no file {}\n  \
                 help: a failing run of the test saves one; or give the schedule, or its file, \
                 after the test's name",
                path.display(),
            ),
            Self::SeveralSavedSchedules { test, found } => {
                write!(
                    formatter,
                    "several binaries have saved a schedule for `{test}`"
                )?;
                for path in found {
                    write!(formatter, "\n  note: {}", path.display())?;
                }
                formatter.write_str("\n  help: give the one you mean after the test's name")
            }
            Self::NothingRemembered { path } => write!(
                formatter,
                "nothing is remembered in {}\n  \
                 help: run tests with `remember = true`, or all of them with RADDLE_REMEMBER=1",
                path.display(),
            ),
            Self::Runs { problem } => write!(formatter, "{problem}"),
            Self::Native { problem } => write!(formatter, "{problem}"),
            Self::NoCurrentDirectory { cause } => {
                write!(
                    formatter,
                    "cannot make the schedule's path absolute: {cause}"
                )
            }
        }
    }
}

impl From<raddle_runs::Problem> for Error {
    fn from(problem: raddle_runs::Problem) -> Self {
        Self::Runs { problem }
    }
}

impl std::error::Error for Error {}
