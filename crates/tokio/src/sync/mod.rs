//! Mirrors `tokio::sync`.
//!
//! Inside a check each call is one operation of the engine, or one for each of the parts that tokio's
//! documentation names. Outside a check the same types work with every executor.

mod barrier;
pub mod broadcast;
mod errors;
mod fair;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod queue;
mod rwlock;
mod semaphore;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use errors::AcquireError;
pub use mutex::{Mutex, MutexGuard, OwnedMutexGuard, TryLockError};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};

/// Futures of this module.
pub mod futures {
    pub use super::notify::Notified;
}
