//! Errors that end a command without a verdict. Each message has a headline and a remedy.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::arguments::settings::BadVariable;
use crate::output;
#[cfg(unix)]
use crate::run::queue::Problem;
use crate::toolchain;
use crate::toolchain::git::GitProblem;

/// The first words of the text of a schedule.
pub const SCHEDULE_HEADER: &str = "raddle schedule";

/// Maximum number of names in a list of candidates.
const MAX_CANDIDATES: usize = 20;

#[derive(Debug)]
pub enum Error {
    /// `cargo test` ended with neither a pass nor a failure of a test.
    CargoTestBroke {
        status: ExitStatus,
    },
    /// A native program ended with neither a pass nor a failure.
    ProgramBroke {
        status: ExitStatus,
    },
    /// A native program exceeded the event limit.
    ProgramTooLong,
    /// Some tests ended by a signal or the watchdog.
    TestsBroke,
    /// Some tests exceeded the event limit.
    TestsTooLong,
    /// A test does not pass without a change.
    FailsUnchanged {
        test: String,
        why: String,
    },
    /// The tests reach nothing that could be changed.
    NothingToChange {
        in_tests: usize,
    },
    /// The copy of the workspace for changes of the source.
    CopyDoesNotBuild {
        why: String,
    },
    /// A queue was given for changes of the source.
    QueueTier,
    /// Changes that are possible one after the other are not possible together.
    NotTogether {
        why: String,
    },
    /// git could not list the changed lines.
    NoDiff {
        revision: String,
        problem: String,
    },
    /// git does not tell what `--since` needs.
    Since(GitProblem),
    /// Doc tests are not compared with other versions.
    SinceDocTests,
    /// No test binary is linked with raddle.
    NothingUsesRaddle,
    /// Settings of native programs were given without `--native`.
    NeedsNative,
    /// Only rustdoc can build doc tests.
    NativeDocTests,
    NoTestMatches {
        filter: String,
    },
    NoSuchTest {
        name: String,
        near: Vec<String>,
    },
    /// Several names of tests contain the given part.
    SeveralTests {
        part: String,
        candidates: Vec<String>,
    },
    /// A variable that checks read has a value that they do not take.
    BadVariable(BadVariable),
    NoPages {
        directory: PathBuf,
    },
    /// The argument is neither a schedule nor a file.
    NotASchedule {
        given: OsString,
    },
    /// A schedule or token that cannot be read.
    BadSchedule {
        problem: String,
    },
    NoSavedSchedule {
        test: String,
        path: PathBuf,
    },
    /// The test has written no alternatives: it runs no check.
    NoAlternatives {
        test: String,
    },
    NotAListOfAlternatives {
        path: PathBuf,
        problem: String,
    },
    /// Tests of the same name in several binaries have a saved schedule.
    SeveralSavedSchedules {
        test: String,
        found: Vec<PathBuf>,
    },
    /// No check has recorded a run.
    NothingRemembered {
        path: PathBuf,
    },
    /// The path of a schedule cannot be made absolute.
    NoCurrentDirectory {
        cause: io::Error,
    },
    /// No address of a queue was given.
    NoQueue,
    /// An address with a password was given where other users can see it.
    PasswordInArguments,
    /// Doc tests are not shared.
    QueueDocTests,
    /// Queues need Unix sockets.
    #[cfg(not(unix))]
    QueueNeedsUnix,
    #[cfg(unix)]
    Queue(Problem),
    Toolchain(toolchain::error::Error),
    Output(output::error::Error),
    Runs(raddle_runs::Problem),
}

impl From<toolchain::error::Error> for Error {
    fn from(error: toolchain::error::Error) -> Self {
        Self::Toolchain(error)
    }
}

#[cfg(unix)]
impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Queue(problem)
    }
}

impl From<BadVariable> for Error {
    fn from(error: BadVariable) -> Self {
        Self::BadVariable(error)
    }
}

impl From<output::error::Error> for Error {
    fn from(error: output::error::Error) -> Self {
        Self::Output(error)
    }
}

impl From<GitProblem> for Error {
    fn from(problem: GitProblem) -> Self {
        Self::Since(problem)
    }
}

impl From<raddle_runs::Problem> for Error {
    fn from(problem: raddle_runs::Problem) -> Self {
        Self::Runs(problem)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CargoTestBroke { status } => write!(
                f,
                "`cargo test` did not finish: {status}\n  help: see the last output above",
            ),
            Self::ProgramBroke { status } => write!(
                f,
                "the program did not finish: {status}\n  help: see the last output above",
            ),
            Self::ProgramTooLong => f.write_str(
                "the program exceeds the event limit\n  \
                 help: reduce its work, or raise the limit with `--max-events`",
            ),
            Self::TestsBroke => f.write_str(
                "some tests neither passed nor failed\n  help: they are marked with !! above",
            ),
            Self::TestsTooLong => f.write_str(
                "some tests exceed the event limit, and neither passed nor failed\n  \
                 help: reduce their work, or raise the limit with `--max-events`",
            ),
            Self::FailsUnchanged { test, why } => write!(
                f,
                "`{test}` does not pass as it is, under the memory model rc11: {why}\n  \
                 help: run `cargo raddle test {test}` first, without `memory = \"sc\"`",
            ),
            Self::NothingToChange { in_tests: 0 } => f.write_str(
                "the tests reach no operation that could be changed\n  \
                 help: only operations of raddle's types inside a check are changed",
            ),
            Self::NothingToChange { in_tests } => write!(
                f,
                "the tests reach no operation that could be changed outside their own code, and {in_tests} in it\n  \
                 help: --in-tests changes these too",
            ),
            Self::CopyDoesNotBuild { why } => write!(
                f,
                "a copy of the workspace does not build: {why}\n  \
                 help: changes of the source need a workspace whose files are all in it; `--tier runtime` makes no copy",
            ),
            Self::QueueTier => f.write_str(
                "the queue hands out changes of operations only\n  \
                 help: share changes of the source by `--shard`, and leave --queue out",
            ),
            Self::NotTogether { why } => write!(
                f,
                "the weaker orderings do not pass all tests together: {why}\n  \
                 help: weaken the orderings that `cargo raddle mutants` finds one by one",
            ),
            Self::NoDiff { revision, problem } => write!(
                f,
                "git does not tell what differs from `{revision}`: {problem}\n  \
                 help: give a revision that `git diff` knows, inside a repository",
            ),
            Self::Since(problem) => problem.fmt(f),
            Self::SinceDocTests => f.write_str(
                "doc tests are not compared with other versions\n  help: leave --doc or --since out",
            ),
            Self::NothingUsesRaddle => f.write_str(
                "no test here uses raddle\n  \
                 help: add raddle with the feature `check` to `[dev-dependencies]`, write \
                 `#[raddle::test]` above a test, and use `raddle::sync` and `raddle::thread` in the \
                 code; on x86-64 Linux, `cargo raddle test --native` checks unmodified tests",
            ),
            Self::NeedsNative => f.write_str(
                "--memory, --plain, --substrate, --restart and --model need --native\n  \
                 help: use `cargo raddle test --native` to check unmodified tests",
            ),
            Self::NativeDocTests => f.write_str(
                "doc tests cannot be checked with --native\n  \
                 help: move the code to a test, or run it unchecked with `cargo test --doc`",
            ),
            Self::NoTestMatches { filter } => write!(
                f,
                "no test has `{filter}` in its name\n  \
                 help: list the names with `cargo test -- --list`, or leave the filter out",
            ),
            Self::NoSuchTest { name, near } => {
                write!(f, "no test is named `{name}`\n  help: ")?;
                match near.as_slice() {
                    [] => f.write_str("list the names with `cargo test -- --list`"),
                    near => write!(f, "did you mean `{}`?", near.join("`, `")),
                }
            }
            Self::SeveralTests { part, candidates } => {
                write!(f, "several tests have `{part}` in their name")?;
                let (shown, more) = candidates.split_at(candidates.len().min(MAX_CANDIDATES));
                for name in shown {
                    write!(f, "\n  note: {name}")?;
                }
                if !more.is_empty() {
                    write!(f, "\n  note: and {} more", more.len())?;
                }
                f.write_str("\n  help: give a longer part, or the whole name")
            }
            Self::BadVariable(BadVariable { variable, problem }) => write!(
                f,
                "{variable}: {problem}\n  \
                 help: change the environment variable, or unset it",
            ),
            Self::NoPages { directory } => write!(
                f,
                "{0} contains no pages\n  \
                 help: `cargo raddle test --report {0}` writes them",
                directory.display(),
            ),
            Self::NotASchedule { given } => write!(
                f,
                "`{}` is neither a file nor a schedule nor a token\n  \
                 help: the text of a schedule starts with `{SCHEDULE_HEADER}`, a token with `r1.`",
                given.display(),
            ),
            Self::BadSchedule { problem } => write!(
                f,
                "{problem}\n  help: the line `replay:` of a failure has a whole token",
            ),
            Self::NoAlternatives { test } => write!(
                f,
                "`{test}` has run no check whose alternatives could be listed\n  \
                 help: with `--native` for a test that does not use raddle",
            ),
            Self::NotAListOfAlternatives { path, problem } => write!(
                f,
                "{}: {problem}\n  \
                 help: `cargo raddle alternatives TEST --save FILE` writes such a list",
                path.display(),
            ),
            Self::NoSavedSchedule { test, path } => write!(
                f,
                "no schedule is saved for `{test}`: {} does not exist\n  \
                 help: a failing run of the test saves one; or give a schedule or its file after the name \
                 of the test",
                path.display(),
            ),
            Self::SeveralSavedSchedules { test, found } => {
                write!(f, "several binaries have saved a schedule for `{test}`")?;
                for path in found {
                    write!(f, "\n  note: {}", path.display())?;
                }
                f.write_str("\n  help: give one of these files after the name of the test")
            }
            Self::NothingRemembered { path } => write!(
                f,
                "{} contains no runs\n  \
                 help: run tests with `remember = true`, or all tests with RADDLE_REMEMBER=1",
                path.display(),
            ),
            Self::NoCurrentDirectory { cause } => {
                write!(f, "cannot make the path of the schedule absolute: {cause}")
            }
            Self::NoQueue => f.write_str(
                "no address of a queue is given\n  \
                 help: add --queue redis://HOST or postgres://HOST/DATABASE, or set RADDLE_QUEUE",
            ),
            Self::PasswordInArguments => f.write_str(
                "the address of the queue has a password, and other users of this machine can see arguments\n  \
                 help: put the address into the variable RADDLE_QUEUE, and leave it out after --queue",
            ),
            Self::QueueDocTests => f.write_str(
                "doc tests are not shared\n  help: leave --doc or --queue out",
            ),
            #[cfg(not(unix))]
            Self::QueueNeedsUnix => f.write_str("queues need a Unix system"),
            #[cfg(unix)]
            Self::Queue(problem) => problem.fmt(f),
            Self::Toolchain(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
            Self::Runs(problem) => problem.fmt(f),
        }
    }
}
