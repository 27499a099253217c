//! Memory locations.

use crate::base::ids::{EventId, SiteId};

/// One atomic variable during an execution.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// Its value before the execution touched it.
    pub initial: u64,
    /// Its value now: the last in coherence order.
    pub value: u64,
    /// The write that put it there; `None` for the initial value.
    pub last_write: Option<EventId>,
    /// Where in the user's source it was made, if that is known.
    pub made: Option<SiteId>,
}

impl Location {
    pub(crate) fn new(initial: u64) -> Self {
        Location {
            initial,
            value: initial,
            last_write: None,
            made: None,
        }
    }

    /// Makes `value` the latest value and says which write it follows in coherence order.
    pub(crate) fn write(&mut self, by: EventId, value: u64) -> Option<EventId> {
        self.value = value;
        self.last_write.replace(by)
    }
}
