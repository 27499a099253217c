//! Mirrors `std::time`.
//!
//! Inside a check, [`Instant`] shows virtual time. Everything else here is std's own: [`Duration`]
//! is only a number, and [`SystemTime`] is the real time of day, which no check controls, so a
//! program that depends on it is not deterministic.

#[cfg(feature = "check")]
mod instant;

#[cfg(feature = "check")]
pub use instant::Instant;
#[cfg(not(feature = "check"))]
pub use std::time::Instant;
pub use std::time::{Duration, SystemTime, SystemTimeError, TryFromFloatSecsError, UNIX_EPOCH};
