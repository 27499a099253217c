//! An allocator for tests that makes use of freed memory a failure.
//!
//! See [`Quarantine`].

#[cfg(not(feature = "check"))]
pub use crate::plain::alloc::Quarantine;
#[cfg(feature = "check")]
#[doc(inline)]
pub use raddle_check::runtime::alloc::Quarantine;
