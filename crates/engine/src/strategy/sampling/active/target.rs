//! Targets: places at which threads should be at the same time.

use super::super::holdback::HoldPoint;
use crate::base::ids::{SiteId, ThreadId};
use crate::model::choice::Planned;
use crate::model::operation::Operation;
use crate::object::effect::Effect;
use crate::world::State;

/// A predicted failure.
#[derive(Clone, Debug)]
pub struct Target {
    pub(super) meeting: Meeting,
    /// An order of events after which the threads are at their places; taken when it was followed.
    pub(super) plan: Option<Vec<Planned>>,
}

/// The places of a target.
#[derive(Clone, Debug)]
pub(super) enum Meeting {
    /// Accesses of one location, in any order.
    Accesses([SiteId; 2]),
    /// Two uses of a location or lock by a thread, and one by another thread that should come between them: first,
    /// between, second.
    Block([SiteId; 3]),
    /// Points that threads should leave as late as possible.
    Points(Vec<HoldPoint>),
}

/// The part of a thread in a target, from its pending operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// None.
    None,
    /// At the access of this index, or at both if they have one place.
    Access { is_first: bool, is_second: bool },
    /// Between the two uses of a block.
    Inside,
    /// Before the use that should come between.
    Between,
    /// At a point.
    Point,
}

impl Target {
    /// Returns the part of a thread.
    pub(super) fn role(&self, state: &State, thread: ThreadId) -> Role {
        let at = state.pending_site(thread);
        match &self.meeting {
            Meeting::Accesses([first, second]) => {
                let (is_first, is_second) = (at == *first, at == *second);
                match (is_first || is_second) && is_access(state.pending(thread)) {
                    true => Role::Access {
                        is_first,
                        is_second,
                    },
                    false => Role::None,
                }
            }
            Meeting::Block([first, between, second]) => {
                if !is_use(state.pending(thread)) {
                    return Role::None;
                }
                match at == *second && last_use(state, thread) == Some(*first) {
                    true => Role::Inside,
                    false if at == *between => Role::Between,
                    false => Role::None,
                }
            }
            Meeting::Points(points) => {
                match points.iter().any(|point| point.holds(state, thread)) {
                    true => Role::Point,
                    false => Role::None,
                }
            }
        }
    }
}

impl Role {
    /// Returns the thread that runs first if these two have met, or `None` inside if either may.
    pub(super) fn meet(
        state: &State,
        (one, role): (ThreadId, Role),
        (other, other_role): (ThreadId, Role),
    ) -> Option<Option<ThreadId>> {
        let (first, second) = (state.pending(one), state.pending(other));
        let is_same = match first.location() {
            None => first.object().is_some() && first.object() == second.object(),
            location => location == second.location(),
        };
        if !is_same {
            return None;
        }
        match (role, other_role) {
            (
                Role::Access {
                    is_first,
                    is_second,
                },
                Role::Access {
                    is_first: also_first,
                    is_second: also_second,
                },
            ) => {
                let fit = is_first && also_second || is_second && also_first;
                (fit && (may_write(first) || may_write(second))).then_some(None)
            }
            (Role::Inside, Role::Between) => Some(Some(other)),
            (Role::Between, Role::Inside) => Some(Some(one)),
            _ => None,
        }
    }
}

fn is_access(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. }
    )
}

fn may_write(operation: &Operation) -> bool {
    is_access(operation) && !matches!(operation, Operation::Load { .. })
}

/// True for an access, or a call that takes a lock.
fn is_use(operation: &Operation) -> bool {
    is_access(operation) || matches!(operation.lock_effect(), Some((_, Effect::Take { .. })))
}

/// Returns the site at which a thread last used the location or lock of its pending operation.
fn last_use(state: &State, thread: ThreadId) -> Option<SiteId> {
    let pending = state.pending(thread);
    let is_it = |operation: &Operation| match pending.location() {
        None => operation.object() == pending.object(),
        location => operation.location() == location,
    };
    let mut earlier = state.execution().events.iter().rev();
    let event = earlier.find(|event| {
        event.id.thread == thread && is_use(&event.operation) && is_it(&event.operation)
    });
    event.map(|event| event.site)
}
