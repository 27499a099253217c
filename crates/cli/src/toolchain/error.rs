//! Errors of cargo, the compilers, test binaries and the native library.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Reasons why a file could not be built, found or started.
#[derive(Debug)]
pub enum Error {
    /// Cargo could not be started.
    CargoNotStarted { program: OsString, cause: io::Error },
    /// The tests or the program do not compile; cargo has printed the errors.
    BuildFailed,
    /// `cargo test -- --list` failed.
    ListFailed { output: String },
    /// `cargo metadata` failed.
    MetadataFailed { output: String },
    /// The output of `cargo metadata` lacks the target directory.
    MetadataUnreadable,
    /// A test binary could not be started.
    BinaryNotStarted { path: PathBuf, cause: io::Error },
    /// A test binary does not support `--list`.
    BinaryDoesNotList { name: String, output: String },
    /// The host is not supported by the native library.
    UnsupportedHost,
    /// The native library is not installed.
    NoLibrary { looked: PathBuf },
    /// The native library or the instrumented std does not compile.
    NotBuilt { status: ExitStatus },
    /// A program or compiler could not be started.
    NotStarted { program: OsString, cause: io::Error },
    /// The program is of a kind that cannot be checked.
    UnsupportedProgram { program: PathBuf, why: Unsupported },
    /// A file could not be written.
    CannotWrite { path: PathBuf, cause: io::Error },
    /// The Rust compiler does not instrument code.
    UnsupportedCompiler { compiler: String, output: String },
    /// The user gave `--target`, which raddle sets itself.
    TargetGiven { target: String, is_host: bool },
    /// The sources of std are not installed.
    NoStdSources { looked: PathBuf },
    /// The crate has no program, or several.
    NoSingleProgram { found: Vec<PathBuf> },
}

/// Kinds of programs that cannot be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    Script,
    /// Not an ELF file.
    NotElf,
    /// A program for 32-bit processors.
    ThirtyTwoBit,
    /// A program for a processor other than x86-64.
    OtherProcessor,
    /// The dynamic loader does not load it, so nothing can be preloaded.
    Static,
    /// Set-user-ID or set-group-ID: the dynamic loader ignores `LD_PRELOAD`.
    Privileged,
    /// The program has no calls of ThreadSanitizer's functions.
    NotInstrumented,
    /// ThreadSanitizer's own runtime is linked into the program.
    HasRuntime,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CargoNotStarted { program, cause } => write!(
                f,
                "cannot run `{}`: {cause}\n  \
                 help: set the environment variable CARGO to the cargo to use",
                program.display(),
            ),
            Self::BuildFailed => f.write_str("the build failed\n  help: see cargo's messages above"),
            Self::ListFailed { output } => {
                write!(f, "cannot list the tests\n  note: cargo printed:\n{output}")
            }
            Self::MetadataFailed { output } => write!(
                f,
                "cannot find the target directory\n  note: cargo printed:\n{output}",
            ),
            Self::MetadataUnreadable => f.write_str(
                "cannot find the target directory: `cargo metadata` does not name it\n  \
                 help: set the environment variable CARGO to the cargo to use",
            ),
            Self::BinaryNotStarted { path, cause } => {
                write!(f, "cannot run {}: {cause}", path.display())
            }
            Self::BinaryDoesNotList { name, output } => {
                write!(
                    f,
                    "the tests of `{name}` are skipped: its test harness does not support `--list`\n  \
                     help: run them with `cargo test`"
                )?;
                match output.lines().next() {
                    None => Ok(()),
                    Some(line) => write!(f, "\n  note: it printed: {line}"),
                }
            }
            Self::UnsupportedHost => f.write_str(
                "native programs can be checked on x86-64 Linux with glibc only\n  \
                 help: tests that use raddle's types can be checked here, with `cargo raddle test`",
            ),
            Self::NoLibrary { looked } => write!(
                f,
                "{} does not exist\n  \
                 help: run `cargo raddle setup` once to build it, or set RADDLE_LIBRARY to its path",
                looked.display(),
            ),
            Self::NotBuilt { status } => write!(
                f,
                "the native library does not compile: {status}\n  \
                 help: see cargo's messages above; if raddle-native is not found, build it in a checkout \
                 and set RADDLE_LIBRARY to its path",
            ),
            Self::NotStarted { program, cause } => {
                write!(f, "cannot run `{}`: {cause}", program.display())
            }
            Self::UnsupportedProgram { program, why } => {
                write!(f, "{} {why}", program.display())
            }
            Self::CannotWrite { path, cause } => {
                write!(f, "cannot write {}: {cause}", path.display())
            }
            Self::UnsupportedCompiler { compiler, output } => write!(
                f,
                "{compiler} does not instrument programs, neither with stable nor with unstable flags\n  \
                 note: it printed: {output}\n  \
                 help: try the current stable compiler: `cargo +stable raddle test --native`",
            ),
            Self::TargetGiven { target, is_host } => match is_host {
                true => write!(
                    f,
                    "`--target {target}` is already set by raddle\n  help: remove `--target`"
                ),
                false => write!(
                    f,
                    "programs built for {target} cannot be checked here\n  \
                     help: remove `--target`; static programs (musl) cannot be checked at all",
                ),
            },
            Self::NoStdSources { looked } => write!(
                f,
                "the sources of the standard library are not installed: {}\n  \
                 help: `rustup component add rust-src`",
                looked.display(),
            ),
            Self::NoSingleProgram { found } => match found.as_slice() {
                [] => f.write_str(
                    "there is no program to check here\n  \
                     help: select one with `--bin` or `--example`, or give an existing program after `--`",
                ),
                found => {
                    f.write_str("there are several programs here\n  help: select one with `--bin`:")?;
                    let names = found.iter().filter_map(|path| path.file_name());
                    names
                        .map(|name| name.to_string_lossy())
                        .try_for_each(|name| write!(f, " {name}"))
                }
            },
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Script => "is a script\n  help: give the program that it runs, not the script",
            Self::NotElf => {
                "is not a program for Linux\n  help: give the executable that the linker has written"
            }
            Self::ThirtyTwoBit => {
                "is a 32-bit program; raddle checks 64-bit programs\n  help: build it without `-m32`"
            }
            Self::OtherProcessor => {
                "is a program for another processor\n  help: raddle checks programs for x86-64"
            }
            Self::Static => {
                "is linked statically or is a library, so raddle's library cannot be preloaded\n  \
                 help: link it without `-static` and `-static-pie`; Go programs are always static"
            }
            Self::Privileged => {
                "runs as another user or group, so raddle's library cannot be preloaded\n  \
                 help: check a copy of it without the set-user-ID and set-group-ID bits"
            }
            Self::NotInstrumented => {
                "is not instrumented, so raddle would not see its memory accesses\n  \
                 help: compile it with `cargo raddle cc` or `c++`, or with `-fsanitize=thread`"
            }
            Self::HasRuntime => {
                "contains ThreadSanitizer's own runtime, as clang links it\n  \
                 help: build it with `RADDLE_CC=clang cargo raddle cc`, or add `-shared-libsan`"
            }
        })
    }
}
