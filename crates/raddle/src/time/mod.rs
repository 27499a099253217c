//! Mirrors `std::time`.
//!
//! Inside a check, [`Instant`] and [`SystemTime`] show virtual time, so that a program that reads a clock does the same
//! under the same schedule. Everything else here is std's own: [`Duration`] is only a number.

#[cfg(feature = "check")]
mod instant;
#[cfg(feature = "check")]
mod system_time;

#[cfg(feature = "check")]
pub use instant::Instant;
pub use std::time::{Duration, SystemTimeError, TryFromFloatSecsError};
#[cfg(not(feature = "check"))]
pub use std::time::{Instant, SystemTime, UNIX_EPOCH};
#[cfg(feature = "check")]
pub use system_time::{SystemTime, UNIX_EPOCH};
