//! Running futures: an executor that the engine schedules.
//!
//! [`block_on`] polls a future on the calling thread, which waits while the future is pending; [`spawn`] starts a
//! task that does the same on a thread of its own. Inside
//! a check, the wait and the calls of its wakers are operations that the engine schedules. A task that
//! waits for ever is reported with what it waits for: another task, or, for a future of the program whose
//! waker is never called, a lost wake-up with the type of the future. Without feature `check`, and outside checks, these are
//! small implementations on std.

mod atomic_waker;
mod block_on;
#[cfg(feature = "check")]
mod control;
mod runtime;
#[cfg(feature = "check")]
mod signal;
#[cfg(feature = "check")]
mod suspend;
mod task;
mod yields;

pub use atomic_waker::AtomicWaker;
#[doc(hidden)]
pub use block_on::__block_on_thread;
pub use block_on::block_on;
#[cfg(feature = "check")]
use suspend::suspend;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use suspend::{__pending_at, Timer};
#[cfg(feature = "check")]
pub use task::spawn_local;
pub use task::{AbortHandle, JoinError, JoinHandle, spawn};
pub use yields::{YieldNow, yield_now};

/// Returns the type of a future, without parameters: for the future of a function, its path.
fn name_of<F: ?Sized>() -> &'static str {
    let name = std::any::type_name::<F>();
    let name = name.split_once('<').map_or(name, |(name, _)| name);
    let end = name.find("::{{closure}}").unwrap_or(name.len());
    &name[..end]
}

/// Suspends the calling task until its waker was called.
#[cfg(not(feature = "check"))]
fn suspend(woken: &Signal, _place: &'static std::panic::Location<'static>) {
    woken.wait();
}

#[cfg(not(feature = "check"))]
pub(crate) use crate::plain::signal::Signal;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use signal::Signal;
