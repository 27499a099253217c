//! Programs that run under the control of the native library.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use crate::toolchain::elf;
use crate::toolchain::environment;
use crate::toolchain::error::Error;
use crate::toolchain::native_runtime::{CheckedPart, NativeRuntime};

/// A program in C, C++ or Rust whose `main` is checked.
#[derive(Clone, Debug)]
pub struct NativeProgram {
    path: PathBuf,
    runtime: NativeRuntime,
}

impl NativeProgram {
    /// Examines a file.
    pub fn new(path: PathBuf, runtime: NativeRuntime) -> Result<Self, Error> {
        elf::inspect(&path)?;
        Ok(NativeProgram { path, runtime })
    }

    /// The name of its file, which is that of its check.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns the command that checks it with these arguments.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.path);
        command.args(arguments).env_remove(environment::QUEUE);
        self.runtime.attach(&mut command, CheckedPart::Program);
        command
    }
}
