//! Shared memory: which writes a read may take.
//!
//! The boundary where memory models differ. A model answers two questions: for a *running*
//! execution, which writes the next read of a thread may take (under sequential consistency only
//! the latest); and for a *graph* built by the exhaustive search, whether some run of the program
//! has exactly these sources and this coherence order, and in which order to run it.

pub(crate) mod sc;

use crate::event::EventId;

/// One atomic variable during an execution.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Its value before the execution touched it.
    pub initial: u64,
    /// Its value now.
    pub value: u64,
    /// The write that put it there; `None` for the initial value.
    pub last_write: Option<EventId>,
}

impl Location {
    pub(crate) fn new(initial: u64) -> Self {
        Location {
            initial,
            value: initial,
            last_write: None,
        }
    }

    /// Makes `value` the latest value and says which write it follows in coherence order.
    pub(crate) fn write(&mut self, by: EventId, value: u64) -> Option<EventId> {
        self.value = value;
        self.last_write.replace(by)
    }
}
