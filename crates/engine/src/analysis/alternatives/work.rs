//! Limits of the analysis, so that it ends for long executions and hard cases.

use std::cell::Cell;

/// Answer of an analysis that may give up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Possibility {
    Possible,
    Impossible,
    /// The analysis gave up.
    Undecided,
}

impl Possibility {
    /// Returns the answer for one of two alternatives: possible if either is, impossible if both
    /// are.
    pub(super) fn or(self, other: impl FnOnce() -> Possibility) -> Possibility {
        match self {
            Possibility::Possible => self,
            Possibility::Impossible => other(),
            Possibility::Undecided => match other() {
                Possibility::Possible => Possibility::Possible,
                _ => Possibility::Undecided,
            },
        }
    }
}

impl From<bool> for Possibility {
    fn from(is_possible: bool) -> Self {
        match is_possible {
            true => Possibility::Possible,
            false => Possibility::Impossible,
        }
    }
}

/// Limits of an analysis.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Steps of work for all receives together; a step is about one comparison of events.
    pub work: u64,
    /// Coherence orders tried for one source of one receive.
    pub tries: u32,
}

impl Default for Budget {
    /// Returns a budget with unlimited work. The number of orders is exponential in the number of
    /// unordered writes, hence the limit of tries.
    fn default() -> Self {
        Budget {
            work: u64::MAX,
            tries: 20_000,
        }
    }
}

/// The rest of a budget.
#[derive(Debug)]
pub(super) struct Work {
    steps: Cell<u64>,
    tries: u32,
}

impl Work {
    pub(super) fn new(budget: Budget) -> Self {
        Work {
            steps: Cell::new(budget.work),
            tries: budget.tries,
        }
    }

    /// Spends steps; returns `false` if none are left.
    #[must_use]
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.steps.get().saturating_sub(steps as u64);
        self.steps.set(left);
        left > 0
    }

    /// True when no steps are left.
    pub(super) fn is_over(&self) -> bool {
        self.steps.get() == 0
    }

    /// Returns the maximum number of tries for one source of one receive.
    pub(super) fn tries(&self) -> u32 {
        self.tries
    }
}
