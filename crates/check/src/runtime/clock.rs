//! Virtual time: every thread has a clock of its own, which only the thread's own events advance.
//!
//! A clock advances when its thread sleeps or a wait of its thread times out. A new thread starts
//! with its creator's clock, and a join waits at least as long as the joined thread took. So a
//! clock depends only on events that happen before the reading, in every execution of the same
//! class, and a replay reads the same time. The clocks of two threads do not order their events.

use std::time::{Duration, Instant};

use raddle_engine::ThreadId;

use super::Context;

/// Number of readings without other progress before time passes by itself.
const PATIENCE: u32 = 100;
/// Maximum time that passes at a reading, if the thread has done nothing but look since the last one.
const WAITING: Duration = Duration::from_millis(10);
/// The same if the thread has done something, which may also be to take a lock for a look.
const WORKING: Duration = Duration::from_micros(100);
/// The latest time: at least half of the range of std's clocks, and some hundred billion years.
const END_OF_TIME: Duration = Duration::from_secs(1 << 62);

/// The clock of one thread: the time since the execution began.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    passed: Duration,
    /// Number of readings since the clock last advanced.
    looks: u32,
    /// The event of the thread from which on it had done nothing but look, at the last reading.
    quiet_since: u32,
}

impl Clock {
    /// Advances the clock by the given time and a nanosecond: no real clock shows exactly the
    /// awaited time, and a wait until it is *past* must end.
    fn pass(&mut self, time: Duration) {
        self.set(time.saturating_add(Duration::from_nanos(1)));
    }

    fn set(&mut self, further: Duration) {
        self.passed = self.passed.saturating_add(further).min(END_OF_TIME);
        self.looks = 0;
    }

    /// Reads the clock. After many readings in a row it advances by growing amounts, so that a loop
    /// that waits for a time without sleeping ends. The amounts are bounded, so that a program that
    /// measures its time often does not see years pass.
    fn look(&mut self, quiet_since: u32) -> Duration {
        let waits = std::mem::replace(&mut self.quiet_since, quiet_since) == quiet_since;
        self.looks = self.looks.saturating_add(1);
        if let Some(impatience) = self.looks.checked_sub(PATIENCE) {
            let looks = self.looks;
            let most = if waits { WAITING } else { WORKING };
            self.set(Duration::from_nanos(1 << impatience.min(62)).min(most));
            self.looks = looks;
        }
        self.passed
    }
}

impl Context {
    /// Returns the time of the calling thread's clock.
    pub fn now(&self) -> Instant {
        // A clock that is read often enough advances.
        self.forget_looks();
        let thread = self.thread.get();
        let quiet_since = self.exploration.try_borrow_mut().map(|mut exploration| {
            let world = exploration.world();
            world.watch();
            world.quiet(thread).1
        });
        let clock = &mut self.slots.borrow_mut()[thread.index()].clock;
        let passed = clock.look(quiet_since.unwrap_or(clock.quiet_since));
        (self.epoch.checked_add(passed)).expect("std's clocks go further than ours")
    }

    /// Returns the initial clock of a new thread.
    pub(super) fn clock_of_creator(&self) -> Clock {
        let slots = self.slots.borrow();
        // The first thread of an execution has no creator.
        let creator = slots.get(self.thread.get().index());
        creator.map_or_else(Clock::default, |creator| creator.clock)
    }

    /// Advances the calling thread's clock by a wait of this duration.
    pub fn pass_time(&self, time: Duration) {
        self.slots.borrow_mut()[self.thread.get().index()]
            .clock
            .pass(time);
    }

    /// Advances the calling thread's clock to the end of `other`, which it has joined.
    pub fn wait_as_long_as(&self, other: ThreadId) {
        let mut slots = self.slots.borrow_mut();
        let passed = slots[other.index()].clock.passed;
        let clock = &mut slots[self.thread.get().index()].clock;
        if clock.passed < passed {
            (clock.passed, clock.looks) = (passed, 0);
        }
    }
}
