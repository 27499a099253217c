//! Memory locations.

use crate::base::ids::{EventId, SiteId};

/// One atomic variable during an execution.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Value before the execution first used it.
    pub initial: u64,
    /// Current value: the last in coherence order.
    pub value: u64,
    /// Write of the current value; `None` for the initial value.
    pub last_write: Option<EventId>,
    /// Site where the location was created, if it is known.
    pub made: Option<SiteId>,
    /// True when the program declares that its value decides nothing.
    pub is_ignored: bool,
}

impl Location {
    pub(crate) fn new(initial: u64) -> Self {
        Location {
            initial,
            value: initial,
            last_write: None,
            made: None,
            is_ignored: false,
        }
    }

    /// Makes `value` the coherence-last value; returns the write before it in coherence order.
    pub(crate) fn write(&mut self, by: EventId, value: u64) -> Option<EventId> {
        self.value = value;
        self.last_write.replace(by)
    }
}
