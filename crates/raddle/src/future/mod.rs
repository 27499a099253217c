//! Running futures in tests of code that is generic over its executor.
//!
//! [`block_on`] polls a future on the calling thread, which waits while the future is pending. Inside
//! a check, the wait and the calls of its wakers are operations that the engine schedules: a missing
//! wake-up is a deadlock, or a lost wake-up. Without feature `check`, and outside checks, these are
//! small implementations on std.

mod atomic_waker;
mod block_on;
#[cfg(feature = "check")]
mod signal;
mod yields;

pub use atomic_waker::AtomicWaker;
pub use block_on::block_on;
pub use yields::{YieldNow, yield_now};

#[cfg(not(feature = "check"))]
pub(crate) use crate::plain::signal::Signal;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use signal::Signal;
