//! Mirrors `std::sync`.

pub mod atomic;
pub mod mpsc;
mod notify;

pub use notify::Notify;
pub use raddle::sync::{
    Barrier, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TrackedArc as Arc, WaitTimeoutResult,
};
pub use std::sync::{LockResult, TryLockResult};
