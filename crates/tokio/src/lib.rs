#![doc = include_str!("../README.md")]

#[cfg(not(feature = "check"))]
pub use real::*;

#[cfg(feature = "check")]
#[macro_use]
mod macros;
#[cfg(feature = "check")]
mod object;
#[cfg(feature = "check")]
pub mod runtime;
#[cfg(feature = "check")]
pub mod sync;
#[cfg(feature = "check")]
pub mod task;
#[cfg(feature = "check")]
pub mod time;

#[cfg(feature = "check")]
pub use raddle_macros::tokio_test as test;
#[cfg(feature = "check")]
pub use real::{join, main, pin, try_join};
#[cfg(feature = "check")]
pub use task::spawn;

/// Functions that the macros call. Not for direct use.
#[cfg(feature = "check")]
#[doc(hidden)]
pub mod __private {
    pub use crate::macros::support::*;
    pub use raddle;
    pub use real::test as uncontrolled_test;
}
