//! Why programs cannot be checked.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::commands::error::Error;

/// Why a program cannot be checked.
#[derive(Debug)]
pub enum Problem {
    /// Not on this system.
    WrongSystem,
    /// The library is not there.
    NoLibrary { looked: PathBuf },
    /// It does not build.
    NotBuilt { status: ExitStatus },
    /// A program or compiler could not be started.
    NotStarted { program: OsString, cause: io::Error },
    /// The program is of a kind that cannot be checked.
    Unfit { program: PathBuf, why: Unfit },
    /// A file could not be written.
    CannotWrite { path: PathBuf, cause: io::Error },
    /// The Rust compiler does not do what is asked of it.
    CompilerUnfit { compiler: String, output: String },
    /// The program is to be built for another system, or cargo would be told twice.
    OtherTarget { target: String, is_host: bool },
    /// The sources of std are not there.
    NoStdSources { looked: PathBuf },
    /// The crate has no program, or several.
    NoSingleProgram { found: Vec<PathBuf> },
    /// Neither passed nor failed.
    Ended { status: ExitStatus },
    /// Nothing is wrong, but that an execution is too long.
    TooLong,
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
                "programs that do not know of raddle can be checked on x86-64 Linux with glibc only\n  \
                 help: tests that use raddle's types can be checked here, with `cargo raddle test`",
            ),
            Self::NoLibrary { looked } => write!(
                f,
                "there is no {}\n  help: `cargo raddle setup` builds it, once; or say where it is with \
                 RADDLE_LIBRARY",
                looked.display(),
            ),
            Self::NotBuilt { status } => write!(
                f,
                "the library does not build: {status}\n  help: cargo's messages are above; if they say that \
                 raddle-native is not found, build it in a checkout and say where the library is with \
                 RADDLE_LIBRARY",
            ),
            Self::NotStarted { program, cause } => {
                write!(f, "cannot run `{}`: {cause}", program.display())
            }
            Self::Unfit { program, why } => write!(f, "{} {why}", program.display()),
            Self::CannotWrite { path, cause } => {
                write!(f, "cannot write {}: {cause}", path.display())
            }
            Self::CompilerUnfit { compiler, output } => write!(
                f,
                "{compiler} does not instrument programs, neither by its stable flags nor by its own\n  \
                 note: it said: {output}\n  \
                 help: try the current stable compiler: `cargo +stable raddle test --native`",
            ),
            Self::OtherTarget { target, is_host } => match is_host {
                true => write!(
                    f,
                    "cargo is told to build for {target} anyway\n  help: leave `--target` out"
                ),
                false => write!(
                    f,
                    "what is built for {target} cannot be checked here\n  \
                     help: leave `--target` out; static programs (musl) cannot be checked at all",
                ),
            },
            Self::NoStdSources { looked } => write!(
                f,
                "the sources of the standard library are not there: {}\n  \
                 help: `rustup component add rust-src`",
                looked.display(),
            ),
            Self::NoSingleProgram { found } => match found.as_slice() {
                [] => f.write_str(
                    "there is no program to check here\n  \
                     help: name one with `--bin` or `--example`, or any program after `--`",
                ),
                found => {
                    f.write_str("there are several programs here\n  help: choose one with `--bin`:")?;
                    let names = found.iter().filter_map(|path| path.file_name());
                    names.map(|name| name.to_string_lossy()).try_for_each(|name| write!(f, " {name}"))
                }
            },
            Self::TooLong => f.write_str(
                "the program is too long to be checked\n  help: let it do less, or raise the limit with \
                 `--max-events`",
            ),
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
