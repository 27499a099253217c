//! Work budget, so that the analysis of a long execution ends.

use std::cell::Cell;

/// A budget in small steps.
#[derive(Debug)]
pub(super) struct Work(Cell<u64>);

impl Work {
    pub(super) fn new(steps: u64) -> Self {
        Work(Cell::new(steps))
    }

    /// Spends steps; returns `false` if none are left.
    #[must_use]
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().saturating_sub(steps as u64);
        self.0.set(left);
        left > 0
    }

    /// True when no steps are left.
    pub(super) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}
