//! `cargo raddle run`, `cc`, `c++` and `setup`: programs in C and C++, checked by `libraddle_native.so`.

mod compiler;
mod inspect;
mod library;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::Args;

use crate::arguments::Search;
use crate::cargo::Verdict;
use crate::error::Error;

pub use compiler::{CompilerArguments, cc, cxx};
pub use library::set_up;

pub const RUN_HELP: &str = "\
Examples:
  cargo raddle run -- ./queue                     main() under many schedules
  cargo raddle run --strategy exhaustive -- ./queue 3 items
  cargo raddle run --replay r1.OAECaXQDAQ -- ./queue

The program must be built with `cargo raddle cc`, `cargo raddle c++` or `-fsanitize=thread`.

Environment (a flag wins over the variable that it sets):
  RADDLE_LIBRARY         the libraddle_native.so to use, if not the one beside cargo-raddle
  RADDLE_MEMORY          rc11 for weak memory; sc, if not set
  RADDLE_MAX_TIME        set by --budget
  RADDLE_STRATEGY        set by --strategy
  RADDLE_MAX_EXECUTIONS  set by --max-executions
  RADDLE_SEED            set by --seed
  RADDLE_WORKERS         set by --workers
  RADDLE_RESUME          set by --resume
  RADDLE_REMEMBER        set by --remember
  RADDLE_REPORT          set by --report
  RADDLE_REPLAY          set by --replay
  RADDLE_PLAIN           set by --plain
  RADDLE_SUBSTRATE       set by --substrate
  RADDLE_RESTART         set by --restart
  RADDLE_TRACE           a file that gets every event of every execution, a line each
  OMP_NUM_THREADS        how many threads a team of OpenMP has; 2, if not set
";

pub const COMPILER_HELP: &str = "\
Examples:
  cargo raddle cc -o queue queue.c                as gcc, with what raddle needs
  cargo raddle c++ -O2 -c queue.cpp               as g++
  make CC='cargo raddle cc' CXX='cargo raddle c++'
  RADDLE_CC=clang cargo raddle cc -o queue queue.c

Environment:
  RADDLE_CC       the compiler for C, if not gcc
  RADDLE_CXX      the compiler for C++, if not g++
  RADDLE_LIBRARY  the libraddle_native.so to use, if not the one beside cargo-raddle
";

pub const SETUP_HELP: &str = "\
Examples:
  cargo raddle setup    once, after `cargo install`; it takes a few minutes

Environment:
  CARGO  the cargo to run; cargo sets it
";

#[derive(Args, Debug, PartialEq)]
pub struct RunArguments {
    #[command(flatten)]
    pub search: Search,

    /// Run one schedule: a token that a failure printed, or a file that has it.
    #[arg(long, value_name = "SCHEDULE")]
    pub replay: Option<OsString>,

    /// What plain accesses that race are: `race` for failures; choices with `promote`, once they were
    /// found, or `explore`, from the start.
    #[arg(long, value_name = "WHAT", value_parser = ["race", "promote", "explore"])]
    pub plain: Option<String>,

    /// Where threads run: `coroutine`, or `os` for OS threads, which are slower.
    #[arg(long, value_parser = ["coroutine", "os"])]
    pub substrate: Option<String>,

    /// How executions begin anew: `snapshot` copies memory back, `fork` runs each in a process of its own.
    #[arg(long, value_parser = ["snapshot", "fork", "loop"])]
    pub restart: Option<String>,

    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Why a program cannot be checked.
#[derive(Debug)]
pub enum Problem {
    /// Not on this system.
    WrongSystem,
    /// The library is not there.
    NoLibrary { looked: PathBuf },
    /// Nor is what it is built from.
    NoSources { looked: PathBuf },
    /// It does not build.
    NotBuilt { status: ExitStatus },
    /// A program or compiler could not be started.
    NotStarted { program: OsString, cause: io::Error },
    /// The program is of a kind that cannot be checked.
    Unfit { program: PathBuf, why: Unfit },
    /// A file could not be written.
    CannotWrite { path: PathBuf, cause: io::Error },
    /// Neither passed nor failed.
    Ended { status: ExitStatus },
}

/// Kinds of programs that cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Text that another program reads.
    Script,
    /// No program at all, or for another system.
    NoProgram,
    /// For processors of 32 bits.
    Narrow,
    /// For another processor.
    Foreign,
    /// The loader has no part in it.
    Static,
    /// The loader does not let others come in.
    Privileged,
    /// It was not compiled for this.
    NotInstrumented,
    /// It brings ThreadSanitizer's own runtime.
    HasRuntime,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Script => {
                "is a script\n  help: name the program that it runs, not the script"
            }
            Self::NoProgram => {
                "is not a program for Linux\n  help: name the file that the linker has made"
            }
            Self::Narrow => {
                "is a program of 32 bits, and raddle checks those of 64\n  help: build it without `-m32`"
            }
            Self::Foreign => {
                "is a program for another processor\n  help: raddle checks programs for x86-64"
            }
            Self::Static => {
                "is linked statically, or is a library, so that nothing can be put in its way\n  \
                 help: link it without `-static` and `-static-pie`; programs in Go are always so"
            }
            Self::Privileged => {
                "runs with the rights of another user, so the loader lets nothing be put in its way\n  \
                 help: check a copy of it, which has no such rights"
            }
            Self::NotInstrumented => {
                "was not compiled for this: raddle would not see what its threads do\n  \
                 help: compile it with `cargo raddle cc` or `c++`, or with `-fsanitize=thread`"
            }
            Self::HasRuntime => {
                "has ThreadSanitizer's own runtime inside, as clang links it\n  \
                 help: build it with `RADDLE_CC=clang cargo raddle cc`, or add `-shared-libsan`"
            }
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongSystem => f.write_str(
                "programs in C and C++ can be checked on x86-64 Linux with glibc only\n  \
                 help: tests in Rust can be checked here, with `cargo raddle test`",
            ),
            Self::NoLibrary { looked } => write!(
                f,
                "there is no {}\n  help: `cargo raddle setup` builds it, once; or say where it is with \
                 RADDLE_LIBRARY",
                looked.display(),
            ),
            Self::NoSources { looked } => write!(
                f,
                "there is no {}: cargo-raddle was built from sources that are gone\n  \
                 help: install it again, or build raddle-native elsewhere and say where the library is \
                 with RADDLE_LIBRARY",
                looked.display(),
            ),
            Self::NotBuilt { status } => write!(
                f,
                "the library does not build: {status}\n  help: cargo's messages are above",
            ),
            Self::NotStarted { program, cause } => {
                write!(f, "cannot run `{}`: {cause}", program.display())
            }
            Self::Unfit { program, why } => write!(f, "{} {why}", program.display()),
            Self::CannotWrite { path, cause } => {
                write!(f, "cannot write {}: {cause}", path.display())
            }
            Self::Ended { status } => write!(
                f,
                "the program did not finish: {status}\n  help: what was printed last is above",
            ),
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Error::Native { problem }
    }
}

/// Checks `main` of a program.
pub fn run(options: RunArguments) -> Result<Verdict, Error> {
    let library = library::find()?;
    let [program, arguments @ ..] = options.program.as_slice() else {
        unreachable!("clap asks for a program");
    };
    let path = find(program)?;
    inspect::inspect(&path)?;
    let mut command = Command::new(&path);
    command.args(arguments);
    command.env("RADDLE_NATIVE", "program");
    command.env("RADDLE_PARENT", std::process::id().to_string());
    command.env("LD_PRELOAD", &library);
    command.env(
        "LD_LIBRARY_PATH",
        with_first("LD_LIBRARY_PATH", &library::swap(&library)?),
    );
    command.envs(options.search.environment()?);
    command.envs(options.replay.map(|schedule| ("RADDLE_REPLAY", schedule)));
    command.envs(options.plain.map(|it| ("RADDLE_PLAIN", it)));
    command.envs(options.substrate.map(|it| ("RADDLE_SUBSTRATE", it)));
    command.envs(options.restart.map(|it| ("RADDLE_RESTART", it)));
    let status = command.status().map_err(|cause| Problem::NotStarted {
        program: program.clone(),
        cause,
    })?;
    match status.code() {
        Some(0) => Ok(Verdict::Passed),
        Some(1) => Ok(Verdict::Findings),
        // Its story was told before.
        None if ended_by(status, Signal::SIGSEGV) => Ok(Verdict::Findings),
        None if ended_by(status, Signal::SIGINT) => Ok(Verdict::Interrupted),
        _ => Err(Problem::Ended { status }.into()),
    }
}

#[cfg(unix)]
use nix::sys::signal::Signal;

#[cfg(unix)]
fn ended_by(status: ExitStatus, signal: Signal) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(signal as i32)
}

#[cfg(not(unix))]
enum Signal {
    SIGSEGV,
    SIGINT,
}

#[cfg(not(unix))]
fn ended_by(_status: ExitStatus, _signal: Signal) -> bool {
    false
}

/// The folders of a variable, after this one.
fn with_first(variable: &str, folder: &Path) -> OsString {
    let mut folders = folder.as_os_str().to_owned();
    if let Some(others) = env::var_os(variable).filter(|others| !others.is_empty()) {
        folders.push(":");
        folders.push(others);
    }
    folders
}

/// The program's file, looked for as a shell does.
fn find(program: &OsStr) -> Result<PathBuf, Problem> {
    let path = PathBuf::from(program);
    if path.components().count() > 1 {
        return Ok(path);
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&folders).map(|folder| folder.join(&path));
    files
        .find(|file| file.is_file())
        .ok_or_else(|| Problem::NotStarted {
            program: program.to_owned(),
            cause: io::ErrorKind::NotFound.into(),
        })
}
