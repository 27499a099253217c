//! Mirrors `tokio::time`.
//!
//! Inside a check time is virtual, and each task has its own: it passes while the task sleeps. A timer may fire
//! whenever its task is suspended, before or after any operation of another task, whatever the durations
//! are; those of one task fire in the order of their deadlines. `pause`, `advance` and `resume` are missing.

use std::fmt;
use std::future::IntoFuture;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use raddle::future::Timer;
use raddle_check::runtime::current;

use crate::object::{Place, is_controlled};

pub use real::time::MissedTickBehavior;
pub use std::time::Duration;

/// Errors of time.
pub mod error {
    pub use super::Elapsed;
}

/// The time of a [`timeout`] has passed.
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(_: Elapsed) -> Self {
        std::io::ErrorKind::TimedOut.into()
    }
}

/// A point in time, as `tokio::time::Instant`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// Returns the present time.
    #[must_use]
    pub fn now() -> Self {
        Instant(match current() {
            Some(context) => context.now(),
            None => real::time::Instant::now().into_std(),
        })
    }

    /// Converts a point in time of std's.
    #[must_use]
    pub fn from_std(std: std::time::Instant) -> Self {
        Instant(std)
    }

    /// Converts to a point in time of std's.
    #[must_use]
    pub fn into_std(self) -> std::time::Instant {
        self.0
    }

    /// Returns the time since the earlier point; zero if that is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time since the earlier point; `None` if that is later.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time since the earlier point; zero if that is later.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time since this point.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// Returns the point later by a duration, if it exists.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// Returns the point earlier by a duration, if it exists.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }

    /// Returns the point later by a duration, or one that is never reached.
    fn after(self, duration: Duration) -> Self {
        let far = Duration::from_secs(86_400 * 365 * 30);
        Instant(self.0.checked_add(duration).unwrap_or(self.0 + far))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(std: std::time::Instant) -> Self {
        Instant(std)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

/// Waits for a duration.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::new(Instant::now().after(duration), false, Location::caller())
}

/// Waits until a point in time.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline, false, Location::caller())
}

/// The future of [`sleep`].
#[must_use = "futures do nothing unless they are awaited or polled"]
pub struct Sleep {
    clock: Clock,
    place: Place,
}

enum Clock {
    Real(Pin<Box<real::time::Sleep>>),
    Virtual(Timer),
}

impl Sleep {
    fn new(deadline: Instant, is_limit: bool, place: Place) -> Self {
        let clock = match is_controlled() {
            true => Clock::Virtual(Timer::new(deadline.0, is_limit, place)),
            false => Clock::Real(Box::pin(real::time::sleep_until(deadline.0.into()))),
        };
        Sleep { clock, place }
    }

    /// Returns the time at which the future is ready.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        Instant(match &self.clock {
            Clock::Real(sleep) => sleep.deadline().into_std(),
            Clock::Virtual(timer) => timer.deadline(),
        })
    }

    /// True when the time has passed.
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        match &self.clock {
            Clock::Real(sleep) => sleep.is_elapsed(),
            Clock::Virtual(timer) => Instant::now().0 >= timer.deadline(),
        }
    }

    /// Changes the time at which the future is ready.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.get_mut();
        match &mut this.clock {
            Clock::Real(sleep) => sleep.as_mut().reset(deadline.0.into()),
            Clock::Virtual(timer) => *timer = Timer::new(deadline.0, false, this.place),
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.get_mut().clock {
            Clock::Real(sleep) => sleep.as_mut().poll(context),
            Clock::Virtual(timer) if timer.has_fired() => Poll::Ready(()),
            Clock::Virtual(_) => Poll::Pending,
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").finish_non_exhaustive()
    }
}

/// Waits for a future no longer than a duration.
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        limit: Sleep::new(Instant::now().after(duration), true, Location::caller()),
    }
}

/// Waits for a future no longer than until a point in time.
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        future: future.into_future(),
        limit: Sleep::new(deadline, true, Location::caller()),
    }
}

/// The future of [`timeout`].
#[must_use = "futures do nothing unless they are awaited or polled"]
#[derive(Debug)]
pub struct Timeout<F> {
    future: F,
    limit: Sleep,
}

impl<F> Timeout<F> {
    /// Returns the future whose time is limited.
    pub fn get_ref(&self) -> &F {
        &self.future
    }

    /// Returns the future whose time is limited.
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `future` is pinned with the value, from which it is never moved; `limit` is `Unpin`.
        let (future, limit) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.limit)
        };
        if let Poll::Ready(output) = future.poll(context) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(limit).poll(context).map(|()| Err(Elapsed(())))
    }
}

/// Returns ticks with this time between them, the first at once.
///
/// # Panics
///
/// If the time is zero.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Returns ticks with this time between them, the first at a point in time.
///
/// # Panics
///
/// If the time is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    let place = Location::caller();
    Interval {
        sleep: Sleep::new(start, false, place),
        period,
        missed: MissedTickBehavior::default(),
        place,
    }
}

/// Ticks at regular times.
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    period: Duration,
    missed: MissedTickBehavior,
    place: Place,
}

impl Interval {
    /// Waits for the next tick; returns the time for which it was due.
    pub async fn tick(&mut self) -> Instant {
        std::future::poll_fn(|context| self.poll_tick(context)).await
    }

    /// Polls for the next tick.
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        let due = self.sleep.deadline();
        if Pin::new(&mut self.sleep).poll(context).is_pending() {
            return Poll::Pending;
        }
        let now = Instant::now();
        // As tokio: a tick is late when it is more than five milliseconds late.
        let next = match now > due.after(Duration::from_millis(5)) {
            true => self.next_after_late(due, now),
            false => due.after(self.period),
        };
        self.sleep = Sleep::new(next, false, self.place);
        Poll::Ready(due)
    }

    fn next_after_late(&self, due: Instant, now: Instant) -> Instant {
        match self.missed {
            MissedTickBehavior::Burst => due.after(self.period),
            MissedTickBehavior::Delay => now.after(self.period),
            MissedTickBehavior::Skip => {
                let late = (now - due).as_nanos() % self.period.as_nanos();
                let late = u64::try_from(late).expect("it is less than the period");
                now.after(self.period - Duration::from_nanos(late))
            }
        }
    }

    /// Restarts: the next tick comes after one period.
    pub fn reset(&mut self) {
        self.reset_at(Instant::now().after(self.period));
    }

    /// Restarts: the next tick comes at once.
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// Restarts: the next tick comes after a duration.
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now().after(after));
    }

    /// Restarts: the next tick comes at a point in time.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.sleep = Sleep::new(deadline, false, self.place);
    }

    /// Returns the time between ticks.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns the behaviour after a late tick.
    #[must_use]
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets the behaviour after a late tick.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }
}
