//! `cargo raddle run`, `cc`, `c++` and `setup`, and `test --native`: programs that do not know of raddle,
//! checked by `libraddle_native.so`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::Args;

use crate::arguments::Search;
use crate::commands::error::Error;
use crate::toolchain::binaries::Binary;
use crate::toolchain::cargo::{Cargo, Verdict};

use crate::toolchain::error::Problem;
use crate::toolchain::rust::{self, Choice, Control};
use crate::toolchain::{elf, library};

pub const RUN_HELP: &str = "\
Examples:
  cargo raddle run                                the program of the Rust crate here
  cargo raddle run --bin queue -- 3 items         one of its programs, with arguments
  cargo raddle run -- ./queue                     any program, such as one in C
  cargo raddle run --strategy exhaustive -- ./queue 3 items
  cargo raddle run --replay r1.OAECaXQDAQ -- ./queue

A program that is not built here must have been built with `cargo raddle cc`, `cargo raddle c++` or
`-fsanitize=thread`.

Environment (a flag wins over the variable that it sets):
  RADDLE_LIBRARY         the libraddle_native.so to use, if not the one beside cargo-raddle
  RADDLE_MEMORY          set by --memory
  RADDLE_MAX_TIME        set by --budget
  RADDLE_STRATEGY        set by --strategy
  RADDLE_MAX_EXECUTIONS  set by --max-executions
  RADDLE_MAX_EVENTS      set by --max-events
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
  cargo raddle setup        once, after `cargo install`; it takes a few minutes
  cargo raddle setup --std  a standard library for `cargo raddle test --native` that is seen into; once for
                            each version of the compiler, needs `rustup component add rust-src`

Environment:
  CARGO  the cargo to run; cargo sets it
  RUSTC  the compiler to build a standard library for, if not rustc
";

#[derive(Args, Debug, Default, PartialEq)]
pub struct SetupArguments {
    /// Build a standard library of Rust in which raddle sees everything.
    #[arg(long)]
    pub std: bool,
}

/// How programs that do not know of raddle are run.
#[derive(Args, Debug, Default, PartialEq)]
pub struct Manner {
    /// What atomics may show: `sc`, all in one order; `rc11`, what the memory model of Rust and C allows.
    #[arg(long, value_name = "MODEL", value_parser = ["sc", "rc11"])]
    pub memory: Option<String>,

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
}

impl Manner {
    /// What the flags are to the library.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let settings = [
            ("RADDLE_MEMORY", &self.memory),
            ("RADDLE_PLAIN", &self.plain),
            ("RADDLE_SUBSTRATE", &self.substrate),
            ("RADDLE_RESTART", &self.restart),
        ];
        let given = settings.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value.as_ref()?.into())))
            .collect()
    }
}

#[derive(Args, Debug, PartialEq)]
pub struct RunArguments {
    #[command(flatten)]
    pub search: Search,

    /// Run one schedule: a token that a failure printed, or a file that has it.
    #[arg(long, value_name = "SCHEDULE")]
    pub replay: Option<OsString>,

    #[command(flatten)]
    pub manner: Manner,

    #[command(flatten)]
    pub choice: Choice,

    /// A program and its arguments; or the arguments of the crate's program, if that is chosen by a flag.
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Checks `main` of a program.
pub fn run(cargo: &Cargo, options: RunArguments) -> Result<Verdict, Error> {
    let control = Control::find()?;
    let (path, arguments) = match options.program.as_slice() {
        [program, arguments @ ..] if !options.choice.is_made() => (find(program)?, arguments),
        arguments => (
            rust::build_program(cargo, &control, &options.choice)?,
            arguments,
        ),
    };
    elf::inspect(&path)?;
    let mut command = Command::new(&path);
    command.args(arguments);
    control.put_on(&mut command, false);
    command.envs(options.search.environment()?);
    command.envs(options.replay.map(|schedule| ("RADDLE_REPLAY", schedule)));
    command.envs(options.manner.environment());
    finish(&mut command)
}

/// Runs one of the tests of a binary, with these settings.
pub fn replay(
    binary: &Binary,
    test: &str,
    environment: &[(&str, OsString)],
) -> Result<Verdict, Error> {
    let mut command = binary.run_test(test);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    finish(&mut command)
}

/// The same place for schedules as for tests that know of raddle, unless the user has named another.
pub fn folder(target: &Path) -> Option<(&'static str, OsString)> {
    const NAME: &str = "RADDLE_DIR";
    let is_given = env::var_os(NAME).is_some_and(|folder| !folder.is_empty());
    (!is_given).then(|| (NAME, target.join("raddle").into_os_string()))
}

/// Runs a command under control to its end.
fn finish(command: &mut Command) -> Result<Verdict, Error> {
    let status = command.status().map_err(|cause| Problem::NotStarted {
        program: command.get_program().to_owned(),
        cause,
    })?;
    match status.code() {
        Some(0) => Ok(Verdict::Passed),
        Some(1) => Ok(Verdict::Findings),
        Some(3) => Err(Problem::TooLong.into()),
        // Its story was told before.
        None if ended_by(status, Signal::SIGSEGV) => Ok(Verdict::Findings),
        None if ended_by(status, Signal::SIGINT) => Ok(Verdict::Interrupted),
        _ => Err(Problem::Ended { status }.into()),
    }
}

/// Builds what programs need that do not know of raddle.
pub fn set_up(options: &SetupArguments) -> Result<Verdict, Error> {
    match options.std {
        true => rust::sysroot::set_up(),
        false => library::set_up(),
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

/// Folders, after this one.
pub fn with_first(others: Option<OsString>, folder: &Path) -> OsString {
    let mut folders = folder.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
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
