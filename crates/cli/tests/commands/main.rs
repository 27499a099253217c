//! Runs the commands with a fake cargo that records its calls.

#![cfg(unix)]

mod coverage;
mod events;
mod formats;
mod general;
mod interrupts;
mod native;
mod reached;
mod replay;
mod report;
mod since;
mod support;
mod test;
