//! The program under test.
//!
//! A front end describes the program by an implementation of [`Program`]. It has the names of code
//! and data, the unwinding of threads, the kind of workers, and the command that starts the program
//! again. A check has a reference to it. No module above depends on the front end.

mod library;
mod running_binary;
mod shell;
pub mod variable;

use std::ffi::c_void;
use std::fmt::Debug;
use std::io::IsTerminal;
use std::panic::RefUnwindSafe;

use raddle_engine::CheckName;
use raddle_report::Place;

pub use library::Library;
pub(crate) use raddle_report::build::fingerprint as build_fingerprint;
pub use raddle_report::build::fingerprint_of as build_fingerprint_of;
pub use running_binary::RunningBinary;
pub use shell::shell_word;

/// Reads from the registers of an interrupted thread, as the kernel passes them to a signal
/// handler, the return address of a call at that point; 0 if unknown.
pub type InterruptReader = fn(*mut c_void) -> usize;

/// A program under test.
///
/// Places in the source are either `Location`s, which need no lookup, or addresses of code, which
/// only the program can name. The methods about addresses are called only for programs that use the
/// latter.
pub trait Program: Debug + RefUnwindSafe + Send + Sync {
    /// Returns the wording of advice.
    fn dialect(&self) -> Dialect;

    /// True when threads left over at the end of an execution are unwound. Otherwise their stacks
    /// hold nothing that needs a destructor, and are reused.
    fn unwinds_threads(&self) -> bool;

    /// True when a thread must have the same stack in every execution, because the program keeps
    /// addresses of it where other threads read them.
    fn fixes_stacks(&self) -> bool;

    /// Returns the kind of workers that run executions at the same time.
    fn workers(&self) -> WorkerKind;

    /// Returns the command that runs a check again.
    fn command(&self, binary: &RunningBinary, check: Option<&CheckName>) -> String;

    /// Called at the end of an execution, before it is checked.
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

    /// Describes the memory at an address beyond the name of the variable, if possible.
    fn memory(&self, _address: usize) -> Option<String> {
        None
    }

    /// True when plain accesses of some memory are operations of the execution.
    fn has_plain_operations(&self) -> bool {
        false
    }

    /// Returns the libraries of the program whose code does not run, because a model takes its place.
    fn modelled(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns why executions may leave out behaviours of the program, if they may.
    fn left_out(&self) -> Option<String> {
        None
    }

    /// Called at the end of an execution of a search with `Reduction::Paths`, before the next one. True if the program
    /// has changed which accesses decide something, so that the search must begin anew.
    fn begins_anew(&self) -> bool {
        false
    }

    /// Returns settings with their values that determine the executions, beside the build of the executable and the
    /// settings of the check. They must be the same in all processes that share a search.
    fn identity(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Returns why processes that do not know of each other cannot share the search, if they cannot.
    fn unshareable(&self) -> Option<&'static str> {
        None
    }

    /// Returns a note for a data race: how to see failures that the race leads to, if the program's front end can show
    /// them.
    fn race_note(&self) -> Option<String> {
        None
    }

    /// True when messages of the check go to a terminal.
    fn is_on_terminal(&self) -> bool {
        std::io::stderr().is_terminal()
    }

    /// Returns the function that finds the place of an interrupted thread. It runs in a signal handler.
    fn interrupt_reader(&self) -> Option<InterruptReader> {
        None
    }
}

/// The wording of advice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Rust with raddle's types.
    Library,
    /// Rust with std's types.
    NativeRust,
    /// C and C++.
    NativeC,
}

/// The way several workers of one check run in parallel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkerKind {
    /// As threads of one process.
    Threads,
    /// As processes: the program has one memory, which holds one execution at a time.
    Processes,
}
