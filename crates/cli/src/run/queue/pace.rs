//! The length of slices: long enough that the queue costs little, short enough that idle workers get work soon.

use std::time::Duration;

/// Shortest and longest slice.
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(1);
/// Longest slice while workers are idle.
const HUNGRY: Duration = Duration::from_millis(100);
/// The length of a slice in units of the time that is spent on it outside the search, so that this is at most 2 %.
const FACTOR: u32 = 49;
/// Number of parts that a rest is split into if workers are idle.
const PIECES: usize = 4;

/// The pace of one worker.
#[derive(Debug)]
pub struct Pace {
    /// Mean time per slice that is not spent on the search.
    overhead: Duration,
    /// The time of all slices, if it does not adapt.
    fixed: Option<Duration>,
}

/// A slice of work.
#[derive(Debug, PartialEq, Eq)]
pub struct Slice {
    pub time: Duration,
    pub pieces: usize,
}

impl Pace {
    pub fn new(fixed: Option<Duration>) -> Self {
        Pace {
            overhead: Duration::ZERO,
            fixed,
        }
    }

    /// Returns the next slice, with `ready` items for `workers` workers. No size of a part is estimated: a part is
    /// split only after it has outlived a slice.
    pub fn slice(&self, ready: u64, workers: u64) -> Slice {
        let time = (self.overhead * FACTOR).clamp(SHORTEST, LONGEST);
        let (time, pieces) = match ready < 2 * workers {
            true => (time.min(HUNGRY), PIECES),
            false => (time, 1),
        };
        Slice {
            time: self.fixed.unwrap_or(time),
            pieces,
        }
    }

    /// Records that a slice of this length took a worker this long, from lease to commit. A part that ended before
    /// its time says nothing about the overhead.
    pub fn record(&mut self, slice: Duration, whole: Duration, was_used_up: bool) {
        if was_used_up {
            self.overhead = (self.overhead * 7 + whole.saturating_sub(slice)) / 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_costs_two_percent_at_most() {
        let mut pace = Pace::new(None);
        assert_eq!(pace.slice(10, 2).time, SHORTEST);
        for _ in 0..100 {
            let slice = pace.slice(10, 2).time;
            pace.record(slice, slice + Duration::from_millis(4), true);
        }
        let slice = pace.slice(10, 2);
        assert_eq!(slice.pieces, 1);
        assert!(slice.time > Duration::from_millis(190), "{slice:?}");
        assert!(slice.time <= Duration::from_millis(196), "{slice:?}");
        // A slow server makes slices longer, up to a limit.
        for _ in 0..100 {
            pace.record(slice.time, slice.time + Duration::from_secs(1), true);
        }
        assert_eq!(pace.slice(10, 2).time, LONGEST);
        // A part that ended early does not count.
        let before = pace.overhead;
        pace.record(LONGEST, Duration::from_millis(3), false);
        assert_eq!(pace.overhead, before);
    }

    #[test]
    fn a_rest_is_split_while_workers_are_idle() {
        let mut pace = Pace::new(None);
        pace.record(SHORTEST, Duration::from_secs(10), true);
        let hungry = Slice {
            time: HUNGRY,
            pieces: PIECES,
        };
        assert_eq!(pace.slice(3, 2), hungry);
        assert_eq!(pace.slice(4, 2).pieces, 1);
    }
}
