//! Running futures: an executor that the engine schedules.
//!
//! [`block_on`] polls a future on the calling thread, which waits while the future is pending; [`spawn`] starts a
//! task that does the same on a thread of its own. Inside
//! a check, the wait and the calls of its wakers are operations that the engine schedules: a missing
//! wake-up is a deadlock, or a lost wake-up. Without feature `check`, and outside checks, these are
//! small implementations on std.

mod atomic_waker;
mod block_on;
mod runtime;
#[cfg(feature = "check")]
mod signal;
mod task;
mod yields;

pub use atomic_waker::AtomicWaker;
#[doc(hidden)]
pub use block_on::__block_on_thread;
pub use block_on::block_on;
#[cfg(feature = "check")]
pub use task::spawn_local;
pub use task::{AbortHandle, JoinError, JoinHandle, spawn};
pub use yields::{YieldNow, yield_now};

#[cfg(not(feature = "check"))]
pub(crate) use crate::plain::signal::Signal;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use signal::Signal;
