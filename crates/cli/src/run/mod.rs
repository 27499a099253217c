//! Runs tests in processes of their own: starts them, reads their events, stops them.

pub mod interrupts;
pub mod leftovers;
pub mod mutant;
pub mod outcome;
pub mod parallel;
#[cfg(unix)]
pub mod queue;
pub mod reached;
pub mod runner;
pub mod since;
pub mod source_copy;
