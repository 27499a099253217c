//! Test processes: starting, following and stopping them.

pub mod interrupts;
pub mod leftovers;
pub mod outcome;
pub mod runner;
pub mod turns;
