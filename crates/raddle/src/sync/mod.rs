//! Mirrors `std::sync`.
//!
//! Without feature `check` everything here is std's own. With it, `Mutex` and the atomics are
//! controlled inside a check and behave like std's outside one.

pub mod atomic;
#[cfg(feature = "check")]
mod mutex;

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

#[cfg(feature = "check")]
pub use mutex::{Mutex, MutexGuard};
#[cfg(not(feature = "check"))]
pub use std::sync::{Mutex, MutexGuard};
