//! The program under test.
//!
//! A front end says by an implementation of [`Program`] what it knows of the program: where the names of
//! code and data come from, whether threads can be unwound, how workers run, how to start it again. A
//! check carries a reference to it. Nothing above asks which front end it has.

mod library;
mod running_binary;
mod shell;
pub mod variable;

use std::ffi::c_void;
use std::fmt::Debug;
use std::panic::RefUnwindSafe;

use raddle_engine::CheckName;
use raddle_report::Place;

pub use library::Library;
pub use running_binary::RunningBinary;
pub use shell::shell_word;

/// Reads from the registers that the kernel gives a signal handler where in the program the interrupted
/// thread is: the address that a call there would return to, or 0.
pub type InterruptReader = fn(*mut c_void) -> usize;

/// A program that is checked.
///
/// Places in the source are either `Location`s, which are known by themselves, or addresses of code, which
/// only the program can name. The methods about addresses are asked only of programs that use the latter.
pub trait Program: Debug + RefUnwindSafe + Send + Sync {
    /// Returns which words advice uses.
    fn dialect(&self) -> Dialect;

    /// True when threads that are left over at the end of an execution are unwound. If not, what they have on
    /// their stacks has no destructors and the stacks are used again.
    fn unwinds_threads(&self) -> bool;

    /// True when a thread must have the same stack in every execution, because the program keeps addresses of
    /// it where other threads see them.
    fn fixes_stacks(&self) -> bool;

    /// Returns how several workers run executions at the same time.
    fn workers(&self) -> WorkerKind;

    /// Returns the command that runs a check again.
    fn command(&self, binary: &RunningBinary, check: Option<&CheckName>) -> String;

    /// Called when an execution is over, before it is looked at.
    fn end_execution(&self) {}

    /// Returns the place in the source of an instruction.
    fn place(&self, _code: usize) -> Option<Place> {
        None
    }

    /// Returns the calls that led to an instruction, as text; `None` if there are none.
    fn call_chain(&self, _code: usize) -> Option<String> {
        None
    }

    /// Returns the name of the variable at an address.
    fn variable(&self, _address: usize) -> Option<String> {
        None
    }

    /// Describes the memory at an address, if there is more to say than the name of the variable.
    fn memory(&self, _address: usize) -> Option<String> {
        None
    }

    /// Returns the function that finds the place of an interrupted thread. It runs in a signal handler.
    fn interrupt_reader(&self) -> Option<InterruptReader> {
        None
    }
}

/// Words that advice uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Rust with raddle's types.
    Library,
    /// Rust with std's types.
    NativeRust,
    /// C and C++.
    NativeC,
}

/// How workers of one check run side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerKind {
    /// As threads of one process.
    Threads,
    /// As processes: the program has one memory, in which one execution can be at a time.
    Processes,
}
