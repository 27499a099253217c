//! Mirrors `std::sync`.

pub mod atomic;
mod signature;

pub use raddle::sync::mpsc;
pub use raddle::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock,
    OnceState, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult, Weak,
};
pub use signature::{ResourceSignature, ResourceType};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
