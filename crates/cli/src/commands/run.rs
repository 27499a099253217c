//! `cargo raddle run`: checks `main` of an unmodified program.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::arguments::settings;
use crate::arguments::subcommands::RunArguments;
use crate::commands::error::Error;
use crate::commands::native_process;
use crate::commands::replay::given_schedule;
use crate::commands::verdict::Verdict;
use crate::output;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::native_runtime::{CheckedPart, NativeRuntime};
use crate::toolchain::{self, elf, rust};

pub fn run(cargo: &Cargo, options: RunArguments) -> Result<Verdict, Error> {
    settings::check_variables(true, &options.settings, |name| env::var_os(name))?;
    let replay = options.replay.map(given_schedule).transpose()?;
    let runtime = NativeRuntime::find()?;
    let selection = &options.selection;
    output::set_colours(selection.build.colours());
    let (path, arguments) = match options.program.as_slice() {
        [program, arguments @ ..] if !selection.is_given() => (find(program)?, arguments),
        arguments => (
            rust::build_program(cargo, &runtime, &selection.cargo_arguments())?,
            arguments,
        ),
    };
    elf::inspect(&path)?;
    let mut command = Command::new(&path);
    command.args(arguments);
    runtime.attach(&mut command, CheckedPart::Program);
    command.envs(options.settings.environment());
    command.envs(output::terminal_variables(selection.build.colours()));
    command.envs(replay.map(|schedule| ("RADDLE_REPLAY", schedule)));
    native_process::run(&mut command)
}

/// Returns the file of a program, found as a shell finds it.
fn find(program: &OsStr) -> Result<PathBuf, toolchain::error::Error> {
    let path = PathBuf::from(program);
    if path.components().count() > 1 {
        return Ok(path);
    }
    let directories = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&directories).map(|directory| directory.join(&path));
    files
        .find(|file| file.is_file())
        .ok_or_else(|| toolchain::error::Error::NotStarted {
            program: program.to_owned(),
            cause: io::ErrorKind::NotFound.into(),
        })
}
