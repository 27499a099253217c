//! Types that raddle itself shares between OS threads: those of std.
//!
//! The files that import them from here use nothing else of the crate. So tests build the same
//! files with controlled types in this place, and explore them like any other program
//! (`tests/tests/ourselves/`).

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic};
