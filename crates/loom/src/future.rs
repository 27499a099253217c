//! Running futures on a thread of the test.

pub use raddle::future::{AtomicWaker, block_on};
