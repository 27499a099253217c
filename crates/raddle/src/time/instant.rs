//! A point in time, real or virtual.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use raddle_check::runtime::current;

/// A point in time, as [`std::time::Instant`].
///
/// Inside a check, time is virtual and every thread has its own. It passes when the thread
/// [sleeps](crate::thread::sleep) and when one of its waits times out, and it is never earlier than
/// the time of an event that happens before. A new thread starts with its creator's time. Time does
/// not pass by itself, except for a thread that only reads the time: after a hundred reads some has
/// passed.
///
/// The time of another thread implies nothing about its progress: a thread that sleeps longer may
/// still be first. Points in time may be passed between threads and in and out of a check, and be
/// compared; a difference that would be negative is zero, as in std.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// Returns the present time.
    #[must_use]
    pub fn now() -> Self {
        Instant(match current() {
            None => std::time::Instant::now(),
            Some(context) => context.now(),
        })
    }

    /// Returns the time since the earlier point; zero if that is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.duration_since(earlier.0)
    }

    /// Returns the time since the earlier point; `None` if that is later.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time since the earlier point; zero if that is later.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time since this point.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// Returns the point later by a duration, if it exists.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Instant)
    }

    /// Returns the point earlier by a duration, if it exists.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// # Panics
    ///
    /// If there is no such point; see [`checked_add`](Self::checked_add).
    #[track_caller]
    fn add(self, other: Duration) -> Self {
        Instant(self.0 + other)
    }
}

impl AddAssign<Duration> for Instant {
    #[track_caller]
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// # Panics
    ///
    /// If there is no such point; see [`checked_sub`](Self::checked_sub).
    #[track_caller]
    fn sub(self, other: Duration) -> Self {
        Instant(self.0 - other)
    }
}

impl SubAssign<Duration> for Instant {
    #[track_caller]
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, other: Instant) -> Duration {
        self.duration_since(other)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
