//! Synchronization types that raddle itself shares between OS threads: those of std.
//!
//! Files that import from here use nothing else of the crate. Tests build the same files with
//! controlled types in this place and explore them like any other program
//! (`tests/tests/ourselves/`).

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, atomic};
