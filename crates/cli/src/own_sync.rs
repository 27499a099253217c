//! Synchronization types of std. Files that import them from here are also compiled by
//! `tests/tests/ourselves/`, with raddle's types in their place, and explored there.

pub use std::sync::{atomic, mpsc};
pub use std::thread;
