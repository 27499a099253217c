//! The time of day, real or virtual.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::{Duration, SystemTimeError};

use raddle_check::runtime::current;

/// Time of day at which every execution begins, since 1970-01-01: 2001-09-09 01:46:40 UTC.
const START: Duration = Duration::from_secs(1_000_000_000);

/// A time of day, as [`std::time::SystemTime`].
///
/// Inside a check, every execution begins at the same time of day, 2001-09-09 01:46:40 UTC, and time passes as it does
/// for [`Instant`](crate::time::Instant). `From` converts from and to std's type, for times of files for instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime(std::time::SystemTime);

/// 1970-01-01 00:00:00 UTC, as [`std::time::UNIX_EPOCH`].
pub const UNIX_EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

impl SystemTime {
    /// 1970-01-01 00:00:00 UTC.
    pub const UNIX_EPOCH: SystemTime = SystemTime(std::time::UNIX_EPOCH);

    /// Now.
    #[must_use]
    pub fn now() -> Self {
        SystemTime(match current() {
            None => std::time::SystemTime::now(),
            Some(context) => std::time::UNIX_EPOCH + START + context.since_start(),
        })
    }

    /// The time that has passed since the earlier time.
    ///
    /// # Errors
    ///
    /// If that is the later one.
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, SystemTimeError> {
        self.0.duration_since(earlier.0)
    }

    /// The time that has passed since then.
    ///
    /// # Errors
    ///
    /// If that is later than now.
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        Self::now().duration_since(*self)
    }

    /// The time of day after this duration, if it can be represented.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_add(duration).map(SystemTime)
    }

    /// The time of day before this duration, if it can be represented.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_sub(duration).map(SystemTime)
    }
}

impl From<std::time::SystemTime> for SystemTime {
    fn from(time: std::time::SystemTime) -> Self {
        SystemTime(time)
    }
}

impl From<SystemTime> for std::time::SystemTime {
    fn from(time: SystemTime) -> Self {
        time.0
    }
}

impl Add<Duration> for SystemTime {
    type Output = Self;

    /// # Panics
    ///
    /// If the result cannot be represented; see [`checked_add`](Self::checked_add).
    #[track_caller]
    fn add(self, other: Duration) -> Self {
        SystemTime(self.0 + other)
    }
}

impl AddAssign<Duration> for SystemTime {
    #[track_caller]
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub<Duration> for SystemTime {
    type Output = Self;

    /// # Panics
    ///
    /// If the result cannot be represented; see [`checked_sub`](Self::checked_sub).
    #[track_caller]
    fn sub(self, other: Duration) -> Self {
        SystemTime(self.0 - other)
    }
}

impl SubAssign<Duration> for SystemTime {
    #[track_caller]
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}

impl fmt::Debug for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
