//! The list of watched checks, on which the watchdog sleeps.
//!
//! No check is added or removed while the watchdog looks, so a check that has left is not looked
//! at.

use std::time::Duration;

use crate::own_sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The watched checks, each with its number.
pub(crate) struct WatchList<W> {
    state: Mutex<WatchListState<W>>,
    /// Notified when a check is added while the watchdog is idle.
    added: Condvar,
    start_up: Condvar,
}

struct WatchListState<W> {
    watched: Vec<(u64, W)>,
    next_number: u64,
    has_thread: bool,
    /// True when the thread has started up.
    has_started: bool,
    /// True while the thread sleeps until a check is added.
    is_idle: bool,
}

impl<W> WatchList<W> {
    pub(crate) const fn new() -> Self {
        WatchList {
            state: Mutex::new(WatchListState {
                watched: Vec::new(),
                next_number: 0,
                has_thread: false,
                has_started: false,
                is_idle: false,
            }),
            added: Condvar::new(),
            start_up: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, WatchListState<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a check. If there is no watchdog yet, `start` starts one and returns true if it could.
    pub(crate) fn add(&self, watched: W, start: impl FnOnce() -> bool) -> u64 {
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.watched.push((number, watched));
        if !state.has_thread {
            state.has_thread = start();
        } else if std::mem::take(&mut state.is_idle) {
            self.added.notify_one();
        }
        // A thread that starts up holds locks of the loader, and the saved memory of a native
        // program must not have them locked.
        while state.has_thread && !state.has_started {
            state = self
                .start_up
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        number
    }

    /// Removes a check.
    pub(crate) fn remove(&self, number: u64) {
        self.lock().watched.retain(|(other, _)| *other != number);
    }

    /// Calls `work` while the watchdog is not in the middle of a look.
    pub(crate) fn hold_while<R>(&self, work: impl FnOnce() -> R) -> R {
        let _state = self.lock();
        work()
    }

    /// Empties the list and forgets the watchdog.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.watched.clear();
        state.has_thread = false;
        state.has_started = false;
        state.is_idle = false;
    }

    /// Records that the watchdog has started up.
    pub(crate) fn started(&self) {
        self.lock().has_started = true;
        self.start_up.notify_all();
    }

    /// Sleeps until a check is on the list; returns the shortest of all ticks.
    pub(crate) fn sleep(&self, tick: impl Fn(&W) -> Duration) -> Duration {
        let mut state = self.lock();
        loop {
            let ticks = state.watched.iter().map(|(_, watched)| tick(watched));
            if let Some(shortest) = ticks.min() {
                state.is_idle = false;
                return shortest;
            }
            state.is_idle = true;
            state = self
                .added
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Calls `at` for every check.
    pub(crate) fn look(&self, mut at: impl FnMut(&mut W)) {
        for (_, watched) in &mut self.lock().watched {
            at(watched);
        }
    }
}
