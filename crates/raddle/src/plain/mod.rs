//! Small real implementations of primitives that std does not have, on std alone: used without feature
//! `check`, and with it outside a check.

#[cfg(not(feature = "check"))]
pub(crate) mod alloc;
#[cfg(not(feature = "check"))]
pub(crate) mod cell;
pub(crate) mod monitor;
pub(crate) mod port;
pub(crate) mod semaphore;
#[cfg(not(feature = "check"))]
pub(crate) mod tracked;
