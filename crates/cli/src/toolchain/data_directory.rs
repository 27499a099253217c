//! The directory of raddle's own files: schedules, pages, records of runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::toolchain::cargo::Cargo;
use crate::toolchain::environment;
use crate::toolchain::error::Error;

/// Variable with the directory, if it is not `raddle` in the target directory.
const VARIABLE: &str = "RADDLE_DIR";

/// Returns the directory that the user has named.
pub fn from_environment() -> Option<PathBuf> {
    environment::variable(VARIABLE).map(PathBuf::from)
}

/// Returns the directory in the target directory.
pub fn within(target: &Path) -> PathBuf {
    target.join("raddle")
}

/// Returns the directory that the user has named, or else the one in the target directory.
pub fn find(cargo: &Cargo) -> Result<PathBuf, Error> {
    match from_environment() {
        Some(directory) => Ok(directory),
        None => Ok(within(&cargo.target_directory()?)),
    }
}

/// Returns the variable for native tests, which are built in another target directory and would
/// choose the one there.
pub fn for_native_tests(target: &Path) -> Option<(&'static str, OsString)> {
    match from_environment() {
        Some(_) => None,
        None => Some((VARIABLE, within(target).into_os_string())),
    }
}
