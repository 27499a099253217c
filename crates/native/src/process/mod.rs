//! The program as a process: its beginning and end, its faults, children and output.

pub(crate) mod children;
pub(crate) mod cpp_exceptions;
mod destructors;
mod exit;
pub(crate) mod exit_handlers;
pub(crate) mod faults;
pub(crate) mod harness;
pub(crate) mod output;
pub(crate) mod program;
pub(crate) mod random;
pub(crate) mod restart;
pub(crate) mod rust_panics;
pub(crate) mod uncontrolled;
pub(crate) mod variables;
