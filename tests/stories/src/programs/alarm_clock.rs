//! An alarm clock checks whether the list has an alarm, lets go of the list, and then takes the
//! first alarm off it. Between the two a sleeper may have cancelled its alarm. Retells *Alarm
//! Clock* of the cooperative-testing suite, where the clock follows a null pointer.
//!
//! The sleeper must be interrupted between setting and cancelling its alarm, and the clock between
//! looking and taking: two preemptions. The clock winds up first, so that it is rarely at that
//! point.

use super::prelude::*;

pub(super) const STORIES: &[Story] = &[Story {
    name: "alarm_clock",
    pattern: "looks under a lock, acts under the lock taken again",
    buggy: || run(ring_what_was_there),
    correct: || run(ring_what_is_there),
    facts: Facts::new(FailureKind::Panic, 3, 2),
}];

#[derive(Default)]
struct Clock {
    alarms: Mutex<Vec<usize>>,
    ticks: AtomicUsize,
    rung: AtomicUsize,
}

impl Clock {
    fn tick(&self) {
        self.ticks.fetch_add(1, SeqCst);
    }

    fn is_set(&self) -> bool {
        !self.alarms.lock().unwrap().is_empty()
    }

    fn take_first(&self) -> Option<usize> {
        self.alarms.lock().unwrap().pop()
    }
}

fn ring_what_was_there(clock: &Clock) {
    for _ in 0..2 {
        clock.tick();
        if clock.is_set() {
            let sleeper = clock.take_first().expect("an alarm was set");
            clock.rung.fetch_add(sleeper, SeqCst);
        }
    }
}

fn ring_what_is_there(clock: &Clock) {
    for _ in 0..2 {
        clock.tick();
        if let Some(sleeper) = clock.take_first() {
            clock.rung.fetch_add(sleeper, SeqCst);
        }
    }
}

/// Sets an alarm, and cancels it unless it has rung.
fn sleep_lightly(clock: &Clock, sleeper: usize) {
    clock.alarms.lock().unwrap().push(sleeper);
    let mut alarms = clock.alarms.lock().unwrap();
    alarms.retain(|&other| other != sleeper);
}

fn run(ring: fn(&Clock)) {
    let clock = Arc::new(Clock::default());
    let owner = Arc::clone(&clock);
    let ringing = thread::spawn(move || ring(&owner));
    crowd(2, &clock, |clock, number| sleep_lightly(clock, number + 1));
    join([ringing]);
}
