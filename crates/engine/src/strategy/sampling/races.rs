//! Races between pending operations: pairs whose order may matter.

use crate::base::ids::ThreadId;
use crate::model::operation::{Operation, Ports};
use crate::world::State;

/// Returns the other threads whose pending operations race with that of this thread, in the order of
/// their numbers.
pub(crate) fn racing(state: &State, one: ThreadId) -> impl Iterator<Item = ThreadId> {
    let first = state.pending(one);
    // Looked up once: with many threads, this comparison is most of the cost of a decision.
    let (location, object) = (first.location(), first.object());
    let (loads, is_ordered) = (is_load(first), !is_silent(first));
    let is_simple = state.execution().port_lists.is_empty()
        && !matches!(first, Operation::End | Operation::IsFinished { .. });
    let others = (0..state.execution().threads.len()).map(ThreadId::new);
    others.filter(move |&other| {
        if other == one {
            return false;
        }
        if !is_simple {
            return races(state, one, other);
        }
        let second = state.pending(other);
        let races_here = match (location, object) {
            (None, None) => false,
            (Some(_), _) if location == second.location() && !(loads && is_load(second)) => true,
            (_, Some(_)) => is_ordered && object == second.object() && !is_silent(second),
            (Some(_), None) => false,
        };
        debug_assert_eq!(races_here, races(state, one, other));
        races_here
    })
}

/// True when both pending operations use the same object, or the same location and one of them
/// writes it.
fn races(state: &State, one: ThreadId, other: ThreadId) -> bool {
    let (first, second) = (state.pending(one), state.pending(other));
    let shares_location = || {
        let location = first.location();
        location.is_some() && location == second.location() && !(is_load(first) && is_load(second))
    };
    shares_location()
        || share_object(state, first, second)
        || asks_about(first, other, second)
        || asks_about(second, one, first)
}

fn is_load(operation: &Operation) -> bool {
    matches!(operation, Operation::Load { .. })
}

/// True for a call that is not ordered with others on its object.
fn is_silent(operation: &Operation) -> bool {
    matches!(operation, Operation::Call { call, .. } if call.is_silent())
}

fn share_object(state: &State, first: &Operation, second: &Operation) -> bool {
    let list = |operation: &Operation| match operation {
        Operation::Receive {
            ports: Ports::Any(list),
            ..
        } => Some(*list),
        _ => None,
    };
    let lists = &state.execution().port_lists;
    match (
        (first.object(), list(first)),
        (second.object(), list(second)),
    ) {
        ((Some(one), _), (Some(other), _)) => {
            one == other && !is_silent(first) && !is_silent(second)
        }
        ((Some(port), _), (_, Some(list))) | ((_, Some(list)), (Some(port), _)) => {
            lists[list.index()].contains(&port)
        }
        ((_, Some(one)), (_, Some(other))) => {
            let other = &lists[other.index()];
            lists[one.index()].iter().any(|port| other.contains(port))
        }
        _ => false,
    }
}

/// True when `question` asks whether the thread has ended and the thread is about to.
fn asks_about(question: &Operation, thread: ThreadId, operation: &Operation) -> bool {
    matches!(operation, Operation::End)
        && matches!(question, Operation::IsFinished { target } if *target == thread)
}
