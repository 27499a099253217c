//! Who is watched, and the watchdog's place to sleep.
//!
//! Nobody comes or goes while it looks: who has left is not looked at any more.

use std::time::Duration;

use crate::own_sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Checks that are watched, each with its number.
pub(crate) struct Kennel<W> {
    state: Mutex<State<W>>,
    /// Somebody came when there was nobody.
    came: Condvar,
    up: Condvar,
}

struct State<W> {
    watched: Vec<(u64, W)>,
    next_number: u64,
    has_thread: bool,
    /// Whether the thread is past its own beginning.
    is_up: bool,
}

impl<W> Kennel<W> {
    pub(crate) const fn new() -> Self {
        Kennel {
            state: Mutex::new(State {
                watched: Vec::new(),
                next_number: 0,
                has_thread: false,
                is_up: false,
            }),
            came: Condvar::new(),
            up: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A check comes. If there is no watchdog yet, `start` starts one, and says whether it could.
    pub(crate) fn add(&self, watched: W, start: impl FnOnce() -> bool) -> u64 {
        let mut state = self.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.watched.push((number, watched));
        if !state.has_thread {
            state.has_thread = start();
        } else if state.watched.len() == 1 {
            self.came.notify_one();
        }
        // A thread that begins has locks of the loader's, which a native program must not find taken in what
        // is remembered of its memory.
        while state.has_thread && !state.is_up {
            state = self.up.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        number
    }

    /// A check goes.
    pub(crate) fn remove(&self, number: u64) {
        self.lock().watched.retain(|(other, _)| *other != number);
    }

    /// Does something that the watchdog must not be in the middle of anything for.
    pub(crate) fn hold_while<R>(&self, work: impl FnOnce() -> R) -> R {
        let _state = self.lock();
        work()
    }

    /// Nobody is watched, and there is no watchdog.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.watched.clear();
        state.has_thread = false;
        state.is_up = false;
    }

    /// The watchdog is up.
    pub(crate) fn rise(&self) {
        self.lock().is_up = true;
        self.up.notify_all();
    }

    /// The watchdog sleeps until there is somebody; the shortest of all limits.
    pub(crate) fn sleep(&self, limit: impl Fn(&W) -> Duration) -> Duration {
        let mut state = self.lock();
        loop {
            let limits = state.watched.iter().map(|(_, watched)| limit(watched));
            if let Some(shortest) = limits.min() {
                return shortest;
            }
            state = self
                .came
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The watchdog looks at everybody.
    pub(crate) fn look(&self, mut at: impl FnMut(&mut W)) {
        for (_, watched) in &mut self.lock().watched {
            at(watched);
        }
    }
}
