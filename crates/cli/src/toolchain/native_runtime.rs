//! Runs programs with `libraddle_native.so` preloaded.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use crate::toolchain::error::Error;
use crate::toolchain::library;

/// The dynamic loader's search path.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The part of a program that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedPart {
    /// The selected test of a libtest harness.
    Test,
    /// `main`.
    Program,
}

/// The library that controls native programs.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeRuntime {
    pub library: PathBuf,
    /// Directory with the library under the names of ThreadSanitizer's runtime.
    pub tsan_directory: PathBuf,
}

impl NativeRuntime {
    pub fn find() -> Result<Self, Error> {
        let library = library::find()?;
        let tsan_directory = library::link_as_tsan(&library)?;
        Ok(NativeRuntime {
            library,
            tsan_directory,
        })
    }

    /// Makes a command run under the library's control.
    pub fn attach(&self, command: &mut Command, part: CheckedPart) {
        disable_address_randomisation();
        let part = match part {
            CheckedPart::Test => "test",
            CheckedPart::Program => "program",
        };
        let own = command.get_envs().find(|(name, _)| *name == LIBRARY_PATH);
        let own = own.and_then(|(_, value)| value.map(OsString::from));
        let path = own.or_else(|| env::var_os(LIBRARY_PATH));
        command.env("RADDLE_NATIVE", part);
        command.env("RADDLE_PARENT", process::id().to_string());
        command.env("LD_PRELOAD", &self.library);
        command.env(LIBRARY_PATH, prepended(&self.tsan_directory, path));
    }
}

/// Returns a search path that begins with `directory`.
fn prepended(directory: &Path, path: Option<OsString>) -> OsString {
    let mut all = directory.as_os_str().to_owned();
    if let Some(path) = path.filter(|path| !path.is_empty()) {
        all.push(":");
        all.push(path);
    }
    all
}

/// Gives this process's future children the same addresses in every run. Programs that hash addresses would
/// otherwise behave differently from run to run, and their schedules would not replay. Where the system forbids
/// it, addresses stay random.
#[cfg(target_os = "linux")]
fn disable_address_randomisation() {
    use nix::sys::personality::{self, Persona};
    let _ = personality::get().and_then(|now| personality::set(now | Persona::ADDR_NO_RANDOMIZE));
}

#[cfg(not(target_os = "linux"))]
fn disable_address_randomisation() {}
