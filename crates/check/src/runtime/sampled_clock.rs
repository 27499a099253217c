//! Deadlines with cheap checks.

use std::time::{Duration, Instant};

/// Reads the time seldom enough to cost nothing, and often enough to be right within a few
/// milliseconds, as long as the intervals between two calls do not grow suddenly. What must hold whatever
/// the program does is the watchdog's [`Deadline`](super::deadline::Deadline).
pub(crate) struct Clock {
    every: u32,
    left: u32,
    last: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock {
            every: 1,
            left: 1,
            last: Instant::now(),
        }
    }

    #[inline]
    pub(crate) fn is_past(&mut self, until: Option<Instant>) -> bool {
        let Some(until) = until else { return false };
        self.left -= 1;
        self.left == 0 && self.reads_past(until)
    }

    /// Reads the clock, and adapts the number of calls to the next time.
    #[cold]
    fn reads_past(&mut self, until: Instant) -> bool {
        let now = Instant::now();
        let took = now - self.last;
        self.last = now;
        if took < Duration::from_millis(1) {
            self.every = (self.every * 2).min(1 << 16);
        } else if took > Duration::from_millis(4) {
            let halves = (took.as_micros() / 2_000).ilog2();
            self.every = (self.every >> halves.min(16)).max(1);
        }
        self.left = self.every;
        now >= until
    }
}
