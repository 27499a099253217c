//! `cargo raddle run`, `cc` and `c++`: programs in C and C++, checked by `libraddle_native.so`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::budget::Budget;
use crate::cargo::Verdict;
use crate::error::Error;

pub const RUN_HELP: &str = "\
Examples:
  cargo raddle run -- ./queue                     main() under many schedules
  cargo raddle run --strategy exhaustive -- ./queue 3 items

The program must be built with `cargo raddle cc`, `cargo raddle c++` or `-fsanitize=thread`.

Environment:
  RADDLE_LIBRARY         the libraddle_native.so to use, if not the one beside cargo-raddle
  RADDLE_MEMORY          rc11 for weak memory; sc, if not set
  RADDLE_MAX_TIME        set by --budget
  RADDLE_STRATEGY        set by --strategy
  RADDLE_MAX_EXECUTIONS  set by --max-executions
  RADDLE_SEED            set by --seed
  RADDLE_SUBSTRATE       set by --substrate
  RADDLE_RESTART         set by --restart
  RADDLE_TRACE           a file that gets every event of every execution, a line each
";

pub const COMPILER_HELP: &str = "\
Examples:
  cargo raddle cc -o queue queue.c                as gcc, with what raddle needs
  cargo raddle c++ -O2 -c queue.cpp               as g++
  make CC='cargo raddle cc' CXX='cargo raddle c++'

Environment:
  RADDLE_CC       the compiler for C, if not gcc
  RADDLE_CXX      the compiler for C++, if not g++
  RADDLE_LIBRARY  the libraddle_native.so to use, if not the one beside cargo-raddle
";

const HEADER: &[u8] = include_bytes!("../include/raddle.h");
const LIBRARY: &str = "libraddle_native.so";
/// What the loader and the linker look for in programs that were built for ThreadSanitizer.
const NAMES: [&str; 3] = ["libtsan.so", "libtsan.so.2", "libtsan.so.0"];
/// Every access is seen by the library, and every line is known.
const COMPILE: [&str; 7] = [
    "-g",
    "-O1",
    "-fsanitize=thread",
    "-fno-builtin-memcpy",
    "-fno-builtin-memmove",
    "-fno-builtin-memset",
    "-Wno-tsan",
];
const COPIES: &str = "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset";
/// With these a compiler does not link.
const NO_LINKING: [&str; 5] = ["-c", "-S", "-E", "-M", "-MM"];

#[derive(Args, Debug, PartialEq)]
pub struct RunArguments {
    /// Stop after this long: 500ms, 30s, 2m, 1h.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Budget>,

    /// How schedules are picked, such as `exhaustive` or `random`.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub strategy: Option<String>,

    /// Stop after this many executions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_executions: Option<u64>,

    /// Where strategies that draw at random start.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

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

#[derive(Args, Debug, PartialEq)]
#[command(disable_help_flag = true)]
pub struct CompilerArguments {
    /// Arguments for the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub for_compiler: Vec<OsString>,
}

/// Why a program cannot be checked.
#[derive(Debug)]
pub enum Problem {
    /// Not on this system.
    WrongSystem,
    /// The library is not there.
    NoLibrary { looked: PathBuf },
    /// A program or compiler could not be started.
    NotStarted { program: OsString, cause: io::Error },
    /// It is no program for this system.
    NotAProgram { program: PathBuf },
    /// The loader has no part in it.
    IsStatic { program: PathBuf },
    /// It was not compiled for this.
    NotInstrumented { program: PathBuf },
    /// A file could not be written.
    CannotWrite { path: PathBuf, cause: io::Error },
    /// Neither passed nor failed.
    Ended { status: ExitStatus },
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
                "there is no {}\n  help: `cargo build --release -p raddle-native` in raddle's sources \
                 builds it; put it beside cargo-raddle, or say where it is with RADDLE_LIBRARY",
                looked.display(),
            ),
            Self::NotStarted { program, cause } => {
                write!(f, "cannot run `{}`: {cause}", program.display())
            }
            Self::NotAProgram { program } => write!(
                f,
                "{} is not a program for x86-64 Linux\n  help: name the program itself, not a script \
                 that runs it",
                program.display(),
            ),
            Self::IsStatic { program } => write!(
                f,
                "{} is linked statically, so that nothing can be put in its way\n  \
                 help: link it without `-static`",
                program.display(),
            ),
            Self::NotInstrumented { program } => write!(
                f,
                "{} was not compiled for this: raddle would not see what its threads do\n  \
                 help: compile it with `cargo raddle cc` or `c++`, or with `-fsanitize=thread`",
                program.display(),
            ),
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
    let library = library()?;
    let [program, arguments @ ..] = options.program.as_slice() else {
        unreachable!("clap asks for a program");
    };
    let path = find(program)?;
    inspect(&path)?;
    let mut command = Command::new(&path);
    command.args(arguments);
    command.env("RADDLE_NATIVE", "program");
    command.env("LD_PRELOAD", &library);
    command.env(
        "LD_LIBRARY_PATH",
        with_first("LD_LIBRARY_PATH", &swap(&library)?),
    );
    let settings = [
        ("RADDLE_MAX_TIME", options.budget.map(|it| it.to_string())),
        ("RADDLE_STRATEGY", options.strategy),
        (
            "RADDLE_MAX_EXECUTIONS",
            options.max_executions.map(|it| it.to_string()),
        ),
        ("RADDLE_SEED", options.seed.map(|it| it.to_string())),
        ("RADDLE_SUBSTRATE", options.substrate),
        ("RADDLE_RESTART", options.restart),
    ];
    for (name, value) in settings {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let status = command.status().map_err(|cause| Problem::NotStarted {
        program: program.clone(),
        cause,
    })?;
    match status.code() {
        Some(0) => Ok(Verdict::Passed),
        Some(1) => Ok(Verdict::Findings),
        // Its story was told before.
        None if is_fault(status) => Ok(Verdict::Findings),
        _ => Err(Problem::Ended { status }.into()),
    }
}

/// Whether the program used an address that is not there.
#[cfg(unix)]
fn is_fault(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(nix::sys::signal::Signal::SIGSEGV as i32)
}

#[cfg(not(unix))]
fn is_fault(_status: ExitStatus) -> bool {
    false
}

/// Runs the compiler for C.
pub fn cc(options: CompilerArguments) -> Result<Verdict, Error> {
    compile(compiler("RADDLE_CC", "gcc"), &options.for_compiler)
}

/// Runs the compiler for C++.
pub fn cxx(options: CompilerArguments) -> Result<Verdict, Error> {
    compile(compiler("RADDLE_CXX", "g++"), &options.for_compiler)
}

fn compiler(variable: &str, usual: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| usual.into())
}

fn compile(compiler: OsString, arguments: &[OsString]) -> Result<Verdict, Error> {
    let library = library()?;
    let mut command = Command::new(&compiler);
    command.args(COMPILE);
    let swap = swap(&library)?;
    command.arg("-I").arg(&swap).args(arguments);
    if !arguments
        .iter()
        .any(|it| NO_LINKING.iter().any(|no| it == no))
    {
        command.arg("-L").arg(&swap).arg(COPIES);
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(&swap);
        command.arg(path);
    }
    let status = command.status().map_err(|cause| Problem::NotStarted {
        program: compiler,
        cause,
    })?;
    // As build tools expect it of a compiler.
    Ok(match status.success() {
        true => Verdict::Passed,
        false => Verdict::Findings,
    })
}

/// Where the library is.
fn library() -> Result<PathBuf, Problem> {
    if !cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        return Err(Problem::WrongSystem);
    }
    let beside = || {
        let program = env::current_exe().unwrap_or_default();
        program.with_file_name(LIBRARY)
    };
    let looked = env::var_os("RADDLE_LIBRARY").map_or_else(beside, PathBuf::from);
    match fs::canonicalize(&looked) {
        Ok(library) => Ok(library),
        Err(_) => Err(Problem::NoLibrary { looked }),
    }
}

/// A folder, beside the library, in which it has the names of ThreadSanitizer's runtime; with the header.
fn swap(library: &Path) -> Result<PathBuf, Problem> {
    let folder = library.with_file_name("raddle-tsan");
    let problem = |path: &Path| {
        let path = path.to_owned();
        move |cause| Problem::CannotWrite { path, cause }
    };
    fs::create_dir_all(&folder).map_err(problem(&folder))?;
    let header = folder.join("raddle.h");
    if fs::read(&header).ok().as_deref() != Some(HEADER) {
        fs::write(&header, HEADER).map_err(problem(&header))?;
    }
    for name in NAMES {
        let link = folder.join(name);
        if fs::canonicalize(&link).ok().as_deref() == Some(library) {
            continue;
        }
        let _ = fs::remove_file(&link);
        match symlink(library, &link) {
            // Somebody else was quicker.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            result => result.map_err(problem(&link))?,
        }
    }
    Ok(folder)
}

#[cfg(unix)]
fn symlink(to: &Path, from: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, from)
}

#[cfg(not(unix))]
fn symlink(_to: &Path, _from: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
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

/// Says what is wrong with a program before it runs.
fn inspect(program: &Path) -> Result<(), Problem> {
    let bytes = fs::read(program).map_err(|cause| Problem::NotStarted {
        program: program.into(),
        cause,
    })?;
    let program = || program.to_owned();
    if !is_elf(&bytes) {
        return Err(Problem::NotAProgram { program: program() });
    }
    if !has_loader(&bytes) {
        return Err(Problem::IsStatic { program: program() });
    }
    if !bytes.windows(7).any(|part| part == b"__tsan_") {
        return Err(Problem::NotInstrumented { program: program() });
    }
    Ok(())
}

/// An ELF file with 64-bit, little-endian headers for x86-64.
fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF\x02\x01") && number(bytes, 0x12, 2) == Some(0x3e)
}

/// Whether one of the program's headers names a loader.
fn has_loader(bytes: &[u8]) -> bool {
    const NAMES_LOADER: u64 = 3;
    let header = |offset, size| number(bytes, offset, size).unwrap_or(0) as usize;
    let (start, size, count) = (header(0x20, 8), header(0x36, 2), header(0x38, 2));
    (0..count).any(|index| {
        let at = start.saturating_add(index.saturating_mul(size));
        number(bytes, at, 4) == Some(NAMES_LOADER)
    })
}

/// A number of so many bytes, the last first.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, &byte| number << 8 | u64::from(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let mut bytes = vec![0; 0x40 + 2 * 0x38];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert!(!is_elf(&bytes));
        bytes[0x12] = 0x3e;
        assert!(is_elf(&bytes));
        (bytes[0x20], bytes[0x36], bytes[0x38]) = (0x40, 0x38, 2);
        assert!(!has_loader(&bytes));
        bytes[0x40 + 0x38] = 3;
        assert!(has_loader(&bytes));
        bytes[0x38] = 1;
        assert!(!has_loader(&bytes));
        // More headers than there are bytes.
        bytes[0x38] = 200;
        bytes[0x40 + 0x38] = 0;
        assert!(!has_loader(&bytes));
    }
}
