//! Shared values whose handles are part of the search.
//!
//! [`TrackedArc`] and [`TrackedWeak`] behave as std's `Arc` and `Weak`. Inside a check, creating,
//! dropping, upgrading and counting handles are operations that the engine schedules. So the thread
//! that drops the last one, and runs the destructor, is one of the choices that it explores.
//! Without feature `check` they are newtypes around std's.

#[cfg(feature = "check")]
mod controlled;
#[cfg(feature = "check")]
mod exposed;
#[cfg(feature = "check")]
mod life;
mod traits;

#[cfg(not(feature = "check"))]
pub use crate::plain::tracked::{TrackedArc, TrackedWeak};
#[cfg(feature = "check")]
pub use controlled::{TrackedArc, TrackedWeak};
