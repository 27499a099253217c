//! The commands as they are typed, against a cargo that writes down how it is called.

#![cfg(unix)]

mod coverage;
mod general;
mod native;
mod replay;
mod report;
mod support;
mod test;
