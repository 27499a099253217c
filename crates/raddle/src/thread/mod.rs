//! Mirrors `std::thread`.
//!
//! Without feature `check` all items here are std's own. With it, threads started inside a check
//! are modelled threads that the engine schedules; threads started outside one are std's.

#[cfg(not(feature = "check"))]
pub use std::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Result, Scope, ScopedJoinHandle, Thread, ThreadId,
    available_parallelism, current, panicking, park, park_timeout, scope, sleep, spawn, yield_now,
};

#[cfg(not(feature = "check"))]
#[allow(deprecated, reason = "std has it too")]
pub use std::thread::{park_timeout_ms, sleep_ms};

#[cfg(feature = "check")]
mod handle;
#[cfg(feature = "check")]
pub(crate) mod local;
#[cfg(feature = "check")]
mod park;
#[cfg(feature = "check")]
mod result;
#[cfg(feature = "check")]
mod scoped;
#[cfg(feature = "check")]
mod sleep;
#[cfg(feature = "check")]
mod spawn;

#[cfg(feature = "check")]
pub use handle::{Thread, ThreadId, current, panicking, yield_now};
#[cfg(feature = "check")]
pub use local::{AccessError, LocalKey};
#[cfg(feature = "check")]
#[allow(deprecated, reason = "std has it too")]
pub use park::park_timeout_ms;
#[cfg(feature = "check")]
pub use park::{park, park_timeout};
#[cfg(feature = "check")]
pub(crate) use scoped::scope_at;
#[cfg(feature = "check")]
pub use scoped::{Scope, ScopedJoinHandle, scope};
#[cfg(feature = "check")]
pub use sleep::sleep;
#[cfg(feature = "check")]
#[allow(deprecated, reason = "std has it too")]
pub use sleep::sleep_ms;
#[cfg(feature = "check")]
#[doc(hidden)]
pub use spawn::__spawn_unsendable;
#[cfg(feature = "check")]
pub use spawn::{Builder, JoinHandle, spawn};
#[cfg(feature = "check")]
pub use std::thread::{Result, available_parallelism};
