//! The end of a check whose runs cover nothing new any more (Sherman, Dwyer and Elbaum, 2009).

/// Minimum number of runs without anything new; a requirement that fewer than one in a thousand runs cover may
/// still be missed.
const PATIENCE: u64 = 1_000;
/// Number of runs between two comparisons, each of which takes as long as some runs.
const EVERY: u64 = 256;

/// The number of things found so far, and since when it is the same.
#[derive(Default)]
pub(crate) struct Saturation {
    found: u64,
    /// Runs when something new was last noticed.
    since: u64,
    /// Runs without anything new that ended the phase.
    ended_after: Option<u64>,
}

impl Saturation {
    /// True when numbers are compared after this many runs.
    pub(super) fn is_due(&self, runs: u64) -> bool {
        runs.is_multiple_of(EVERY)
    }

    /// Compares the number of things that this many runs have found; returns true if the last half of them, and at
    /// least [`PATIENCE`], found nothing new.
    pub(super) fn see(&mut self, runs: u64, found: u64) -> bool {
        if found != self.found {
            (self.found, self.since) = (found, runs);
            return false;
        }
        let vain = runs - self.since;
        let ends = vain >= PATIENCE && vain >= self.since;
        self.ended_after = ends.then_some(vain);
        ends
    }

    /// Returns the number of runs without anything new, if they have ended the check.
    pub(super) fn ended_after(&self) -> Option<u64> {
        self.ended_after
    }
}

#[cfg(test)]
mod tests {
    use super::Saturation;

    #[test]
    fn the_last_half_and_a_thousand_runs_find_nothing() {
        let mut saturation = Saturation::default();
        assert!(!saturation.see(256, 7));
        assert!(!saturation.see(1_024, 7), "768 are too few");
        assert!(saturation.see(1_280, 7));
        assert_eq!(saturation.ended_after(), Some(1_024));
    }

    #[test]
    fn a_late_find_needs_as_many_runs_again() {
        let mut saturation = Saturation::default();
        assert!(!saturation.see(256, 7));
        assert!(!saturation.see(1_024, 8));
        assert!(!saturation.see(1_792, 8), "768 of 1,792 are no half");
        assert!(!saturation.see(2_000, 8), "976 are too few");
        assert!(saturation.see(2_048, 8));
        assert_eq!(saturation.ended_after(), Some(1_024));
    }
}
