//! Virtual time: every thread has a clock of its own, which advances along happens-before.
//!
//! A clock advances when its thread sleeps or a wait of its thread times out. It is never earlier
//! than a clock was at an event that happens before the reading: time does not go back from a
//! message to its receiver. So a clock depends only on events that happen before the reading, in
//! every execution of the same class, and a replay reads the same time. Clocks of events that
//! nothing orders are unrelated.

use std::time::{Duration, Instant};

use raddle_engine::ThreadId;

use super::{Context, World, alloc};
use crate::program::Dialect;

/// Number of readings without other progress before time passes by itself.
const PATIENCE: u32 = 100;
/// Maximum time that passes at a reading, if the thread has only read shared values since the last
/// one.
const WAITING: Duration = Duration::from_millis(10);
/// Maximum time that passes at a reading, if the thread has performed other operations since the
/// last one, such as taking a lock to read.
const WORKING: Duration = Duration::from_micros(100);
/// Time of all clocks of native programs when an execution begins, so that they are the same in every run.
pub const NATIVE_START: Duration = Duration::from_secs(1_000_000_000);
/// The latest time: at least half of the range of std's clocks, and some hundred billion years.
const END_OF_TIME: Duration = Duration::from_secs(1 << 62);

/// The clock of one thread: the time since the execution began.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    passed: Duration,
    /// Number of readings since the clock last advanced.
    looks: u32,
    /// Index of the event after which the thread had only read shared values, at the last reading.
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

    /// Advances the clock to a time of another thread, unless it is later already.
    fn catch_up(&mut self, other: Duration) {
        if self.passed < other {
            (self.passed, self.looks) = (other, 0);
        }
    }

    /// Reads the clock. After many readings in a row it advances by growing amounts, so that a loop
    /// that waits for a time without sleeping ends. The amounts are bounded, so that a program that
    /// reads the time often does not measure years.
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

/// Time after each advance of each thread's clock, with the thread's number of events then. Empty
/// in executions without time.
#[derive(Default)]
pub(super) struct Advances(Vec<Vec<(u32, Duration)>>);

impl Advances {
    /// Records the time for events that happen after the thread's event with this index.
    fn note(&mut self, thread: ThreadId, events: u32, passed: Duration) {
        let Advances(all) = self;
        if all.len() <= thread.index() {
            all.resize_with(thread.index() + 1, Vec::new);
        }
        match all[thread.index()].last_mut() {
            Some((last, time)) if *last == events => *time = passed,
            _ => all[thread.index()].push((events, passed)),
        }
    }

    /// Returns the latest time of the events in the vector clock `hb`.
    fn latest(&self, hb: &[u32]) -> Duration {
        let times = self.0.iter().zip(hb).filter_map(|(advances, &events)| {
            let count = advances.partition_point(|&(index, _)| index < events);
            Some(advances[count.checked_sub(1)?].1)
        });
        times.max().unwrap_or_default()
    }

    /// Begins another execution.
    #[inline]
    pub(super) fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0.clear();
        }
    }
}

impl Context {
    /// Returns the time that has passed since the execution began, by the calling thread's clock.
    pub fn since_start(&self) -> Duration {
        self.now().duration_since(self.epoch)
    }

    /// Returns the time of the calling thread's clock.
    pub fn now(&self) -> Instant {
        let _aside = alloc::aside();
        let thread = self.thread.get();
        let order = self.exploration.try_borrow_mut().map(|mut exploration| {
            let world = exploration.world();
            world.watch();
            self.catch_up(world);
            (world.quiet(thread).1, world.events_of(thread))
        });
        let clock = &mut self.slots.borrow_mut()[thread.index()].clock;
        let before = clock.passed;
        let passed = match order {
            Ok((quiet_since, _)) => clock.look(quiet_since),
            Err(_) => clock.look(clock.quiet_since),
        };
        if let Ok((_, events)) = order
            && passed != before
        {
            self.advances.borrow_mut().note(thread, events, passed);
        }
        // A clock that is read often enough advances.
        match order {
            Ok((_, events)) if self.program.dialect() != Dialect::Library => {
                self.note_reading(passed, events);
            }
            _ => self.forget_looks(),
        }
        (self.epoch.checked_add(passed)).expect("std's clocks go further than ours")
    }

    /// Returns the time of the calling thread's clock for raddle's own use, which the thread does not learn.
    pub(super) fn passed(&self) -> Duration {
        if let Ok(mut exploration) = self.exploration.try_borrow_mut() {
            self.catch_up(exploration.world());
        }
        self.slots.borrow()[self.thread.get().index()].clock.passed
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
        let _aside = alloc::aside();
        let thread = self.thread.get();
        let order = self.exploration.try_borrow_mut().map(|mut exploration| {
            let world = exploration.world();
            self.catch_up(world);
            (world.events_of(thread), world.quiet(thread).1)
        });
        let order = order.ok();
        let longer = order.map(|(events, quiet_since)| self.prolongs(events, quiet_since));
        let clock = &mut self.slots.borrow_mut()[thread.index()].clock;
        clock.pass(time.saturating_add(longer.unwrap_or_default()));
        if let Some((events, _)) = order {
            let mut advances = self.advances.borrow_mut();
            advances.note(thread, events, clock.passed);
        }
    }

    /// Advances the calling thread's clock to the end of `other`, which it has joined.
    pub fn wait_as_long_as(&self, other: ThreadId) {
        let mut slots = self.slots.borrow_mut();
        let passed = slots[other.index()].clock.passed;
        slots[self.thread.get().index()].clock.catch_up(passed);
    }

    /// Advances the calling thread's clock to the latest time of an event that happens before. `hb`
    /// is computed only if another clock is later.
    fn catch_up(&self, world: &mut World) {
        let thread = self.thread.get();
        let mut slots = self.slots.borrow_mut();
        let own = slots[thread.index()].clock.passed;
        if slots.iter().all(|slot| slot.clock.passed <= own) {
            return;
        }
        let mut hb = Vec::new();
        world.hb(thread, &mut hb);
        let latest = self.advances.borrow().latest(&hb);
        slots[thread.index()].clock.catch_up(latest);
    }
}
