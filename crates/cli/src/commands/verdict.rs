//! The result of a command, and its exit code.

use std::process::{ExitCode, ExitStatus};

use crate::commands::error::Error;
use crate::run::interrupts;

/// Exit code of `cargo test` if a test failed.
const TEST_FAILURE: i32 = 101;

#[derive(Debug, PartialEq)]
pub enum Verdict {
    Passed,
    /// A failure was found.
    Failed,
    /// Interrupted before a failure was found.
    Interrupted,
}

impl Verdict {
    /// Returns the verdict of `cargo test`.
    pub fn of_cargo_test(status: ExitStatus) -> Result<Self, Error> {
        match status.code() {
            Some(0) => Ok(Self::Passed),
            Some(TEST_FAILURE) => Ok(Self::Failed),
            _ => Err(Error::CargoTestBroke { status }),
        }
    }

    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Passed => ExitCode::SUCCESS,
            Self::Failed => ExitCode::FAILURE,
            Self::Interrupted => ExitCode::from(interrupts::EXIT_CODE),
        }
    }
}
