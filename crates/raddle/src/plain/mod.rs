//! Small real implementations of what std does not have, on std alone: used without feature
//! `check`, and with it outside a check.

pub(crate) mod monitor;
pub(crate) mod port;
pub(crate) mod semaphore;
