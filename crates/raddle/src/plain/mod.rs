//! Small implementations, on std alone, of primitives that std does not have. Used without feature
//! `check`, and with it outside a check.

#[cfg(not(feature = "check"))]
pub(crate) mod alloc;
#[cfg(not(feature = "check"))]
pub(crate) mod cell;
pub(crate) mod monitor;
pub(crate) mod port;
pub(crate) mod semaphore;
pub(crate) mod signal;
#[cfg(not(feature = "check"))]
pub(crate) mod tracked;
