//! Runs the commands with a fake cargo that records its calls.

#![cfg(unix)]

mod coverage;
mod general;
mod native;
mod replay;
mod report;
mod support;
mod test;
