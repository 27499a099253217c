//! Performed operations.

use super::operation::Operation;
use crate::base::ids::{EventId, ObjectId, SiteId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::object::effect::Effect;

/// An operation that was performed.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Identity of the event.
    pub id: EventId,
    /// Performed operation.
    pub operation: Operation,
    /// Source of the value or of the position in an order: the write that a read takes, the write
    /// before a write, the completed call before a call, the end that a join waits for. `None`
    /// stands for the initial state.
    pub source: Option<EventId>,
    /// Outcome of the operation; for an access of a location see [`Event::back`].
    pub outcome: Outcome,
    /// Reply to the thread.
    pub reply: Reply,
    /// Place in the user's source.
    pub site: SiteId,
}

impl Event {
    /// Returns the effect on a lock, with the lock.
    #[inline]
    pub fn lock_effect(&self) -> Option<(ObjectId, Effect)> {
        let Operation::Call { object, call } = self.operation else {
            return None;
        };
        Some((object, call.lock_effect(self.reply)?))
    }

    /// True for an update that fails spuriously.
    pub fn fails_spuriously(&self) -> bool {
        matches!(self.operation, Operation::Update { .. }) && self.outcome.fails_spuriously()
    }

    /// True for an event that writes a location without reading it.
    pub(crate) fn is_store(&self) -> bool {
        matches!(
            self.operation,
            Operation::Store { .. } | Operation::HangUp { .. }
        )
    }

    /// True for an event that writes a location.
    pub fn writes(&self) -> bool {
        match self.operation {
            Operation::Update { update, .. } => {
                let fails = self.outcome.fails_spuriously();
                update.apply(self.reply.to_value(), fails).is_some()
            }
            _ => self.is_store(),
        }
    }

    /// Returns the number of writes between the event's source, or its own place, and the
    /// coherence-last write, for an access of a location.
    pub fn back(&self) -> u32 {
        match self.operation {
            Operation::Update { .. } => self.outcome.back_of_update(),
            Operation::Load { .. } | Operation::Store { .. } => self.outcome.back(),
            _ => 0,
        }
    }
}
