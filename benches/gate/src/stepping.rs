//! Counts the instructions of a program's executions by single steps.
//!
//! valgrind cannot follow a program in native mode, whose threads are switched by their thread pointers. A
//! debugger can. The program makes one known system call in each execution, `getppid`, so executions are
//! separated without knowing its code. Up to the first counted execution it is stopped at system calls only.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::io::Error;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;

use crate::symbols::{Profile, Symbols};

/// Maximum steps; an execution has less than a tenth.
const MAX_STEPS: u64 = 4_000_000;

/// A traced process, which ends when this is dropped.
struct Traced(libc::pid_t);

impl Drop for Traced {
    fn drop(&mut self) {
        // SAFETY: neither call takes pointers to memory of this process.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, null_mut(), libc::__WALL);
        }
    }
}

/// Runs a program that makes more than `before + executions` calls of `getppid`; counts the instructions from the
/// call with the number `before` on, to the last. A repeated string instruction is one. The program is ended then.
///
/// # Errors
///
/// The reason why it could not be traced, that it has ended, or that no call of `getppid` was seen.
pub fn count(command: Command, before: u64, executions: u64) -> Result<u64, String> {
    let mut instructions = 0;
    visit(command, before, executions, |_, _| instructions += 1)?;
    Ok(instructions)
}

/// As [`count`], but by functions.
///
/// # Errors
///
/// As for [`count`], or that the maps of the program could not be read.
pub fn profile(command: Command, before: u64, executions: u64) -> Result<Profile, String> {
    let mut addresses = Vec::new();
    let mut symbols = None;
    visit(command, before, executions, |process, address| {
        symbols.get_or_insert_with(|| Symbols::of(process));
        addresses.push(address);
    })?;
    Ok(symbols.ok_or("no instruction")??.profile(&addresses))
}

/// Runs the program and calls the function for each instruction, with the process and the address.
fn visit(
    mut command: Command,
    before: u64,
    executions: u64,
    mut see: impl FnMut(libc::pid_t, u64),
) -> Result<(), String> {
    // A step of a repeated instruction is one repetition, and copies of memory have thousands.
    const TUNABLES: &str =
        "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000";
    command.env("GLIBC_TUNABLES", TUNABLES);
    // SAFETY: the two calls may be made between `fork` and `exec`; they take no memory.
    unsafe {
        command.pre_exec(|| {
            // Addresses are the same each time, and with them the lengths of searches in tables.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            request(libc::PTRACE_TRACEME, 0, null_mut()).map(|_| ())
        });
    }
    let child = command
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let process = Traced(child.id() as libc::pid_t);
    process.stopped()?;
    for _ in 0..=before {
        process.run_to_mark()?;
    }
    let mut left = executions;
    let mut last = 0;
    for _ in 0..MAX_STEPS {
        if left == 0 {
            return Ok(());
        }
        process.go_on(libc::PTRACE_SINGLESTEP)?;
        let registers = process.registers()?;
        let is_repeated = registers.rip == last;
        last = registers.rip;
        if !is_repeated {
            see(process.0, registers.rip);
        }
        // The instruction for system calls stores the address behind itself in this register.
        let is_call = registers.rcx == registers.rip && !is_repeated;
        if is_call && registers.rax == u64::from(std::process::id()) {
            left -= 1;
        }
    }
    Err(format!("no end of an execution within {MAX_STEPS} steps"))
}

impl Traced {
    fn run_to_mark(&self) -> Result<(), String> {
        loop {
            // Once when the call begins, and once when it has returned.
            self.go_on(libc::PTRACE_SYSCALL)?;
            let call = self.registers()?.orig_rax;
            self.go_on(libc::PTRACE_SYSCALL)?;
            if call == libc::SYS_getppid as u64 {
                return Ok(());
            }
        }
    }

    /// Continues with this request until the next stop; signals are delivered.
    fn go_on(&self, how: c_uint) -> Result<(), String> {
        let mut signal = 0;
        loop {
            let data = signal as usize as *mut c_void;
            request(how, self.0, data).map_err(|error| format!("ptrace: {error}"))?;
            signal = self.stopped()?;
            if signal == libc::SIGTRAP {
                return Ok(());
            }
        }
    }

    /// Waits for the next stop; returns its signal.
    fn stopped(&self) -> Result<c_int, String> {
        let mut status = 0;
        // SAFETY: `waitpid` needs a place for the status.
        let found = unsafe { libc::waitpid(self.0, &raw mut status, libc::__WALL) };
        match found == self.0 && libc::WIFSTOPPED(status) {
            true => Ok(libc::WSTOPSIG(status)),
            false => Err(format!("the program has ended with status {status:#x}")),
        }
    }

    fn registers(&self) -> Result<libc::user_regs_struct, String> {
        // SAFETY: the registers are numbers, for which all-zero is valid, and the request writes one such value.
        unsafe {
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            let to = (&raw mut registers).cast();
            request(libc::PTRACE_GETREGS, self.0, to)
                .map_err(|error| format!("ptrace: {error}"))?;
            Ok(registers)
        }
    }
}

fn request(what: c_uint, process: libc::pid_t, data: *mut c_void) -> Result<c_long, Error> {
    // SAFETY: callers pass data of the kind that the request needs: none, a signal or room for registers.
    let result = unsafe { libc::ptrace(what, process, null_mut::<c_void>(), data) };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_too_soon_is_an_error() {
        let error = count(Command::new("true"), 0, 1).unwrap_err();
        assert!(error.contains("has ended with status"), "{error}");
    }
}
