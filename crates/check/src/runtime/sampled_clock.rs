//! Deadlines with cheap checks.

use std::time::{Duration, Instant};

/// Reads the time seldom enough to cost nothing, and often enough to be right within a few
/// milliseconds.
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

    pub(crate) fn is_past(&mut self, until: Option<Instant>) -> bool {
        let Some(until) = until else { return false };
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        let now = Instant::now();
        let took = now - self.last;
        self.last = now;
        if took < Duration::from_millis(1) {
            self.every = (self.every * 2).min(1 << 16);
        } else if took > Duration::from_millis(4) {
            self.every = (self.every / 2).max(1);
        }
        self.left = self.every;
        now >= until
    }
}
