//! Native programs and tests, run in the foreground.

use std::process::{Command, ExitStatus};

use crate::commands::error::Error;
use crate::commands::verdict::Verdict;
use crate::toolchain;

/// Exit code of the native library if an execution exceeded the event limit.
const TOO_LONG: i32 = 3;

/// Runs a command to which the native library is attached.
pub fn run(command: &mut Command) -> Result<Verdict, Error> {
    let status = command.status();
    let status = status.map_err(|cause| toolchain::error::Error::NotStarted {
        program: command.get_program().to_owned(),
        cause,
    })?;
    verdict(status)
}

/// Returns the verdict of a process that has ended.
pub fn verdict(status: ExitStatus) -> Result<Verdict, Error> {
    match status.code() {
        Some(0) => Ok(Verdict::Passed),
        Some(1) => Ok(Verdict::Failed),
        Some(TOO_LONG) => Err(Error::ProgramTooLong),
        // The library has reported the fault.
        None if ended_by(status, Signal::SIGSEGV) => Ok(Verdict::Failed),
        None if ended_by(status, Signal::SIGINT) => Ok(Verdict::Interrupted),
        _ => Err(Error::ProgramBroke { status }),
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
