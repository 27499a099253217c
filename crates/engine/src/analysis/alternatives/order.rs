//! A growing partial order of events that detects cycles.

use crate::base::ids::EventId;
use crate::memory::clock::{covers, join};

/// The predecessors of each event, as a clock.
#[derive(Clone, Debug)]
pub(super) struct Order {
    width: usize,
    /// By thread, one clock after the other.
    clocks: Vec<Vec<u32>>,
}

impl Order {
    /// Creates an empty order for this many threads.
    pub(super) fn new(threads: usize) -> Self {
        Order {
            width: threads,
            clocks: vec![Vec::new(); threads],
        }
    }

    /// Appends the next event of a thread with its predecessors.
    pub(super) fn push(&mut self, event: EventId, clock: &[u32]) {
        debug_assert_eq!(
            self.clocks[event.thread.index()].len(),
            event.index as usize * self.width
        );
        self.clocks[event.thread.index()].extend_from_slice(&clock[..self.width]);
    }

    /// Returns the number of clock entries, which bounds the work of adding an edge.
    pub(super) fn size(&self) -> usize {
        self.clocks.iter().map(Vec::len).sum()
    }

    fn clock(&self, event: EventId) -> &[u32] {
        &self.clocks[event.thread.index()][event.index as usize * self.width..][..self.width]
    }

    /// True when the first precedes the second.
    pub(super) fn has(&self, first: EventId, second: EventId) -> bool {
        first != second && covers(self.clock(second), first)
    }

    /// Adds an edge and its transitive closure; returns `false` if that makes a cycle.
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
