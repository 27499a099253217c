//! An allocator for tests that makes use of freed memory a failure.
//!
//! See [`Quarantine`].

#[cfg(feature = "check")]
mod lanes;
#[cfg(feature = "check")]
mod quarantine;

#[cfg(not(feature = "check"))]
pub use crate::plain::alloc::Quarantine;
#[cfg(feature = "check")]
pub use quarantine::Quarantine;
#[cfg(feature = "check")]
pub(crate) use quarantine::{aside, freed_by, made_by, release};
