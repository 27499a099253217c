//! How much may still be done, so that a long execution does not take for ever.

use std::cell::Cell;

/// A budget, in small steps.
#[derive(Debug)]
pub(super) struct Work(Cell<u64>);

impl Work {
    pub(super) fn new(steps: u64) -> Self {
        Work(Cell::new(steps))
    }

    /// So many steps are done; `false` if there are none left.
    #[must_use]
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().saturating_sub(steps as u64);
        self.0.set(left);
        left > 0
    }

    /// Whether there are none left.
    pub(super) fn is_over(&self) -> bool {
        self.0.get() == 0
    }
}
