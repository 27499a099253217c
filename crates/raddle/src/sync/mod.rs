//! Mirrors `std::sync`.
//!
//! Without feature `check` all items here are std's own. With it, the locks, `Condvar`, `Barrier`,
//! `Once` and its relatives, the channels and the atomics are controlled inside a check and behave
//! like std's outside one. The semaphores, which std does not have, are real ones where they are
//! not controlled.

pub mod atomic;
#[cfg(feature = "check")]
mod barrier;
#[cfg(feature = "check")]
mod condvar;
pub mod mpsc;
#[cfg(feature = "check")]
mod mutex;
#[cfg(feature = "check")]
mod once;
#[cfg(feature = "check")]
mod rwlock;
#[cfg(feature = "check")]
mod semaphore;
mod tracked;

pub use tracked::{TrackedArc, TrackedWeak};

pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

#[cfg(not(feature = "check"))]
pub use crate::plain::semaphore::{BinarySemaphore, Semaphore};
#[cfg(feature = "check")]
pub use barrier::{Barrier, BarrierWaitResult};
#[cfg(feature = "check")]
pub use condvar::{Condvar, WaitTimeoutResult};
#[cfg(feature = "check")]
pub use mutex::{Mutex, MutexGuard};
#[cfg(feature = "check")]
#[allow(deprecated, reason = "std has it too")]
pub use once::ONCE_INIT;
#[cfg(feature = "check")]
pub use once::{LazyLock, Once, OnceLock, OnceState};
#[cfg(feature = "check")]
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(feature = "check")]
pub use semaphore::{BinarySemaphore, Semaphore};
#[cfg(not(feature = "check"))]
#[allow(deprecated, reason = "std has it too")]
pub use std::sync::ONCE_INIT;
#[cfg(not(feature = "check"))]
pub use std::sync::{
    Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, OnceState,
    RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
};
