//! The order that synchronization makes between two uses of data, by the parameter of the model.

use super::model::SyncOrder;
use super::uses::{self, Use};
use crate::base::ids::ObjectId;
use crate::check::held::{self, Held};
use crate::manners::predict;
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use crate::model::execution::Execution;
use crate::object::effect::Mode;

/// The order of the uses of one execution.
pub(super) struct Order {
    by: SyncOrder,
    /// Clocks, if the order has any.
    clocks: Option<HappensBefore<EveryEvent>>,
    holds: Vec<Held>,
}

impl Order {
    pub(super) fn of(execution: &Execution, by: SyncOrder) -> Self {
        Order {
            by,
            clocks: match by {
                SyncOrder::Lockset => Some(predict::order_without_locks(execution)),
                SyncOrder::HappensBefore => Some(HappensBefore::of(execution)),
                SyncOrder::Timestamp => None,
            },
            holds: held::all(execution),
        }
    }

    /// Returns the intervals during which threads hold locks, in the order of acquisition.
    pub(super) fn holds(&self) -> &[Held] {
        &self.holds
    }

    /// True when the first use precedes the second, of another thread, wherever synchronization is as in this order.
    fn precedes(&self, first: &Use, second: &Use) -> bool {
        let Some(clocks) = &self.clocks else {
            return first.was_before(second);
        };
        let event = second.first_event();
        event.is_some_and(|event| clocks.clock_of_others(event)[first.thread.index()] > first.last)
    }

    /// True when synchronization orders two uses of different threads, or excludes that both happen at once.
    pub(super) fn are_ordered(&self, one: &Use, other: &Use) -> bool {
        let is_excluded = || {
            let both = [one, other].map(|it| uses::locks(&self.holds, it));
            self.by == SyncOrder::Lockset && excludes(&both[0], &both[1])
        };
        self.precedes(one, other) || self.precedes(other, one) || is_excluded()
    }

    /// True when synchronization keeps a use of another thread from coming between two uses of one.
    pub(super) fn keeps_out(&self, first: &Use, between: &Use, second: &Use) -> bool {
        let is_excluded = || {
            let held = uses::during(&self.holds, first, second);
            let other = uses::locks(&self.holds, between);
            self.by == SyncOrder::Lockset && excludes(&held, &other)
        };
        self.precedes(between, first) || self.precedes(second, between) || is_excluded()
    }
}

/// True when a lock excludes one of the holders while the other holds it.
fn excludes(one: &[(ObjectId, Mode)], other: &[(ObjectId, Mode)]) -> bool {
    one.iter().any(|(lock, mode)| {
        let same = other.iter().filter(|(other, _)| other == lock);
        same.into_iter()
            .any(|(_, other)| *mode == Mode::Write || *other == Mode::Write)
    })
}
