//! Mirrors `std::sync`.
//!
//! Guards must be used, as std's:
//!
//! ```
//! #![deny(unused_must_use)]
//! loom::model(|| {
//!     let lock = loom::sync::Mutex::new(1);
//!     let _guard = lock.lock().unwrap();
//! });
//! ```
//!
//! ```compile_fail
//! #![deny(unused_must_use)]
//! loom::model(|| {
//!     let lock = loom::sync::Mutex::new(1);
//!     lock.lock().unwrap();
//! });
//! ```

pub mod atomic;
pub mod mpsc;
mod notify;

pub use notify::Notify;
pub use raddle::sync::{
    Barrier, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    TrackedArc as Arc, WaitTimeoutResult,
};
pub use std::sync::{LockResult, TryLockResult};
