//! An order of events that grows, and notices when it would contradict itself.

use crate::base::ids::EventId;
use crate::memory::clock::{covers, join};

/// Which events come before which, as a clock for each.
#[derive(Clone, Debug)]
pub(super) struct Order {
    width: usize,
    /// By thread, one clock behind the other.
    clocks: Vec<Vec<u32>>,
}

impl Order {
    /// Nothing, for so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Order {
            width: threads,
            clocks: vec![Vec::new(); threads],
        }
    }

    /// Adds the next event of a thread, and what comes before it.
    pub(super) fn push(&mut self, event: EventId, clock: &[u32]) {
        debug_assert_eq!(
            self.clocks[event.thread.index()].len(),
            event.index as usize * self.width
        );
        self.clocks[event.thread.index()].extend_from_slice(clock);
    }

    /// How much there is to go through when something is added.
    pub(super) fn size(&self) -> usize {
        self.clocks.iter().map(Vec::len).sum()
    }

    fn clock(&self, event: EventId) -> &[u32] {
        &self.clocks[event.thread.index()][event.index as usize * self.width..][..self.width]
    }

    /// Whether the one comes before the other.
    pub(super) fn has(&self, first: EventId, second: EventId) -> bool {
        first != second && covers(self.clock(second), first)
    }

    /// From now on the one comes before the other, and so for all that comes before the one or after
    /// the other; `false` if it is the other way round.
    #[must_use]
    pub(super) fn add(&mut self, first: EventId, second: EventId) -> bool {
        if first == second || self.has(second, first) {
            return false;
        }
        if self.has(first, second) {
            return true;
        }
        let news = self.clock(first).to_vec();
        for thread in &mut self.clocks {
            for clock in thread.chunks_exact_mut(self.width) {
                if covers(clock, second) {
                    join(clock, &news);
                }
            }
        }
        true
    }
}
