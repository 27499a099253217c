//! Suspending a task inside a check: for its waker, or until one of its timers fires.
//!
//! A timer may fire whenever its task is suspended: durations have no influence on the order of
//! threads. The timers of one task fire in the order of their deadlines.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use raddle_check::runtime::current;

use super::Signal;

crate::thread_local! {
    /// The place at which a future of the task is pending.
    static PENDING: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    static TIMERS: RefCell<Vec<Arc<Deadline>>> = const { RefCell::new(Vec::new()) };
}

struct Deadline {
    time: Instant,
    place: &'static Location<'static>,
    /// True if the timer limits another wait, so that it never fires when time-outs are off.
    is_limit: bool,
    has_fired: AtomicBool,
}

/// For `raddle-tokio`: sets the place that stands for the wait of the calling task.
#[doc(hidden)]
pub fn __pending_at(place: &'static Location<'static>) {
    PENDING.set(Some(place));
}

/// For `raddle-tokio`: a timer of a future.
#[doc(hidden)]
pub struct Timer(Arc<Deadline>);

impl Timer {
    /// Creates a timer. One that limits another wait does not fire when time-outs are off.
    pub fn new(time: Instant, is_limit: bool, place: &'static Location<'static>) -> Self {
        Timer(Arc::new(Deadline {
            time,
            place,
            is_limit,
            has_fired: AtomicBool::new(false),
        }))
    }

    /// Returns the time at which the timer fires.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.0.time
    }

    /// True when the timer has fired. One that has not may fire when the calling task is suspended.
    #[must_use]
    pub fn has_fired(&self) -> bool {
        if self.0.has_fired.load(Relaxed)
            || current().is_some_and(|check| check.now() >= self.0.time)
        {
            self.0.has_fired.store(true, Relaxed);
            self.remove();
            return true;
        }
        TIMERS.with_borrow_mut(|timers| {
            if !timers.iter().any(|one| Arc::ptr_eq(one, &self.0)) {
                timers.push(Arc::clone(&self.0));
            }
        });
        __pending_at(self.0.place);
        false
    }

    fn remove(&self) {
        // The list is gone when the thread is ending.
        let _ = TIMERS.try_with(|timers| {
            if let Ok(mut timers) = timers.try_borrow_mut() {
                timers.retain(|one| !Arc::ptr_eq(one, &self.0));
            }
        });
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Returns the timer of the calling task that fires first.
fn first_timer() -> Option<Arc<Deadline>> {
    let may_time_out = current().is_some_and(|context| context.may_time_out());
    TIMERS.with_borrow(|timers| {
        let armed = timers.iter().filter(|one| may_time_out || !one.is_limit);
        armed.min_by_key(|one| one.time).cloned()
    })
}

/// Suspends the calling task until its waker was called or a timer fires. `place` stands for the wait if
/// no future has given a place.
pub(super) fn suspend(woken: &Signal, place: &'static Location<'static>) {
    let Some(context) = current() else {
        return woken.wait_or_wake_spuriously(place);
    };
    let place = PENDING.take().unwrap_or(place);
    let Some(timer) = first_timer() else {
        return woken.wait_or_wake_spuriously(place);
    };
    if woken.wait_or_time_out(timer.place) {
        timer.has_fired.store(true, Relaxed);
        let time = timer.time.saturating_duration_since(context.now());
        context.apart(|| context.pass_time(time));
    }
}
