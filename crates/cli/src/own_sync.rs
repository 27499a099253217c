//! What OS threads share here: std's types. Tests build the files that take them from here with raddle's
//! instead, and explore them (`tests/tests/ourselves/`).

pub use std::sync::{atomic, mpsc};
pub use std::thread;
