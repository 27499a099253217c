//! The tests of `raddle-tokio` with the feature `check`.
//!
//! One binary for all of them: to link one for each file would take longer than to run them.

mod accounts;
mod attribute;
mod bugs;
mod counts;
mod page;
mod random;
mod refused;
mod stories;
mod truth;
