//! Environment variables of this process.

use std::env;
use std::ffi::OsString;

/// The variable with the address of a queue. It may contain a password, so no other program gets it.
pub const QUEUE: &str = "RADDLE_QUEUE";

/// Returns the value of a variable, unless it is empty.
pub fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the cargo that runs this command, or else the one in the path.
pub fn cargo() -> OsString {
    variable("CARGO").unwrap_or_else(|| "cargo".into())
}
