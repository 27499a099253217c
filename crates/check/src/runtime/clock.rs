//! Virtual time: every thread has a clock of its own, and only what the thread does makes it go.
//!
//! A clock goes on when its thread sleeps or a wait of its times out; a new thread starts with its
//! creator's clock, and who joins a thread has waited at least as long as it took. So what a clock
//! shows depends on nothing but what comes before the look in every run of the same class, and a
//! replay finds it the same. The clocks of two threads say nothing about who did what first.

use std::time::{Duration, Instant};

use raddle_engine::ThreadId;

use super::Context;

/// How often a thread may look without doing anything that takes time.
const PATIENCE: u32 = 100;
/// As far as clocks go: half of what std's can show at least, and some hundred billion years.
const END_OF_TIME: Duration = Duration::from_secs(1 << 62);

/// The clock of one thread: what has passed since the execution began.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    passed: Duration,
    /// How often the thread has looked since its time last went on.
    looks: u32,
}

impl Clock {
    /// So much time passes, and a nanosecond more: no real clock shows exactly the time that was
    /// waited for, and who waits until it is *past* must not wait for ever.
    fn pass(&mut self, time: Duration) {
        self.set(time.saturating_add(Duration::from_nanos(1)));
    }

    fn set(&mut self, further: Duration) {
        self.passed = self.passed.saturating_add(further).min(END_OF_TIME);
        self.looks = 0;
    }

    /// Who does nothing but look sees time pass after a while, more and more of it, so that a loop
    /// that waits for a time without sleeping has an end.
    fn look(&mut self) -> Duration {
        self.looks += 1;
        if let Some(impatience) = self.looks.checked_sub(PATIENCE) {
            let looks = self.looks;
            self.set(Duration::from_nanos(1 << impatience.min(62)));
            self.looks = looks;
        }
        self.passed
    }
}

impl Context {
    /// What the calling thread's clock shows.
    pub fn now(&self) -> Instant {
        // Who looks at the clock often enough sees it go on.
        self.forget_looks();
        let mut slots = self.slots.borrow_mut();
        let passed = slots[self.thread.get().index()].clock.look();
        (self.epoch.checked_add(passed)).expect("std's clocks go further than ours")
    }

    /// What the clock of a new thread starts with.
    pub(super) fn clock_of_creator(&self) -> Clock {
        let slots = self.slots.borrow();
        // The first thread of an execution has no creator.
        let creator = slots.get(self.thread.get().index());
        creator.map_or_else(Clock::default, |creator| creator.clock)
    }

    /// The calling thread has waited so long.
    pub fn pass_time(&self, time: Duration) {
        self.slots.borrow_mut()[self.thread.get().index()]
            .clock
            .pass(time);
    }

    /// The calling thread has waited until `other` was at its end.
    pub fn wait_as_long_as(&self, other: ThreadId) {
        let mut slots = self.slots.borrow_mut();
        let passed = slots[other.index()].clock.passed;
        let clock = &mut slots[self.thread.get().index()].clock;
        if clock.passed < passed {
            *clock = Clock { passed, looks: 0 };
        }
    }
}
