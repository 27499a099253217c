//! Performed operations.

use super::operation::Operation;
use crate::base::ids::{EventId, ObjectId, SiteId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::object::effect::Effect;

/// An operation that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its name.
    pub id: EventId,
    /// What was done.
    pub operation: Operation,
    /// Where its value or its turn came from: the write a read took, the write before a write,
    /// the completed call before a call, the end a join saw. `None` stands for the initial state.
    pub source: Option<EventId>,
    /// Which of several possible outcomes it had; for an access of a location see [`Event::back`].
    pub outcome: Outcome,
    /// What the thread was told.
    pub reply: Reply,
    /// Where in the user's source.
    pub site: SiteId,
}

impl Event {
    /// What it did to a lock, and to which.
    #[inline]
    pub fn lock_effect(&self) -> Option<(ObjectId, Effect)> {
        let Operation::Call { object, call } = self.operation else {
            return None;
        };
        Some((object, call.lock_effect(self.reply)?))
    }

    /// For an atomic update, whether it failed for no reason.
    pub fn fails_spuriously(&self) -> bool {
        matches!(self.operation, Operation::Update { .. }) && self.outcome.fails_spuriously()
    }

    /// Whether it writes a location without reading it.
    pub(crate) fn is_store(&self) -> bool {
        matches!(
            self.operation,
            Operation::Store { .. } | Operation::HangUp { .. }
        )
    }

    /// Whether it writes a location.
    pub fn writes(&self) -> bool {
        match self.operation {
            Operation::Update { update, .. } => {
                let fails = self.outcome.fails_spuriously();
                update.apply(self.reply.to_value(), fails).is_some()
            }
            _ => self.is_store(),
        }
    }

    /// For an access of a location, how far back from the last write, in coherence order, it took its
    /// value or its place.
    pub fn back(&self) -> u32 {
        match self.operation {
            Operation::Update { .. } => self.outcome.back_of_update(),
            Operation::Load { .. } | Operation::Store { .. } => self.outcome.back(),
            _ => 0,
        }
    }
}
