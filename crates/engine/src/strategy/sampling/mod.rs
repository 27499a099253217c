//! Strategies that draw schedules at random or enumerate them, and what they have in common.

pub(super) mod delay;
pub(super) mod enumerate;
mod family;
pub(super) mod history;
pub(super) mod holdback;
pub(super) mod noise;
pub(super) mod pct;
pub(super) mod pos;
mod priorities;
mod races;
pub(super) mod random;
mod shares;
pub(super) mod surw;
mod target;
pub(super) mod urw;

pub(super) use priorities::Priorities;
pub(super) use races::races;
pub(super) use shares::Shares;
pub(super) use target::Target;

use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::choice::Choice;
use crate::model::ending::Ending;
use crate::model::operation::Operation;
use crate::world::State;

/// A number below `bound`. Where there is no choice, none is drawn.
#[inline]
pub(super) fn below(rng: &mut Rng, bound: u32) -> u32 {
    if bound == 1 {
        0
    } else {
        rng.below(bound as usize) as u32
    }
}

/// The thread goes on; how its operation turns out is drawn from all that is possible.
#[inline]
pub(super) fn run(rng: &mut Rng, state: &State, thread: ThreadId) -> Choice {
    let outcomes = state.outcomes(thread);
    let mut outcome = below(rng, outcomes);
    while outcome != 0 && !state.allows(thread, outcome) {
        outcome = below(rng, outcomes);
    }
    Choice { thread, outcome }
}

/// One of the enabled threads.
#[inline]
pub(super) fn any(rng: &mut Rng, state: &State) -> ThreadId {
    let enabled = state.enabled();
    enabled[below(rng, enabled.len() as u32) as usize]
}

/// Draws a position with a probability in proportion to its weight; `None` if all weights are zero.
#[inline]
pub(super) fn weighted(rng: &mut Rng, weights: impl Iterator<Item = f64> + Clone) -> Option<usize> {
    let all: f64 = weights.clone().sum();
    let mut left = rng.unit() * all;
    let mut last = None;
    for (position, weight) in weights.enumerate() {
        if weight > 0.0 {
            last = Some(position);
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
    }
    last
}

/// Operations that are no choice of a scheduler's: no other thread can tell when they are performed,
/// so they are performed at once. No class is lost that way, and choices are spent on what matters.
#[derive(Clone, Debug, Default)]
pub(super) struct Foregone {
    /// Whether the program asks if threads have ended. Otherwise nobody can tell when they do, because
    /// nobody can wait for it and do something else meanwhile.
    ends_matter: bool,
}

impl Foregone {
    /// Whether the operation is one of these, as far as is known.
    #[inline]
    pub(super) fn includes(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Begin
            | Operation::Spawn
            | Operation::Join { .. }
            | Operation::Delivered { .. }
            | Operation::Choose { .. }
            | Operation::Chance { .. } => true,
            Operation::End => !self.ends_matter,
            _ => false,
        }
    }

    /// Some thread whose next operation is one of these.
    #[inline]
    pub(super) fn next(&mut self, state: &State) -> Option<ThreadId> {
        let asks = |&thread: &ThreadId| {
            let operation = state.pending(thread);
            matches!(operation, Operation::IsFinished { .. })
        };
        self.ends_matter = self.ends_matter || state.enabled().iter().any(asks);
        let includes = |thread: &ThreadId| self.includes(state.pending(*thread));
        state.enabled().iter().copied().find(includes)
    }
}

/// Whether something can be learned about the length of executions from one that ended like this.
pub(super) fn is_whole(ending: &Ending) -> bool {
    matches!(
        ending,
        Ending::Complete | Ending::Deadlock | Ending::Livelock
    )
}

/// How often in a row the same thread has gone on although others could have.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    last: Option<ThreadId>,
    steps: u64,
}

impl Turns {
    /// The thread goes on; how often in a row, with this time.
    #[inline]
    pub(super) fn note(&mut self, state: &State, thread: ThreadId) -> u64 {
        if self.last != Some(thread) {
            *self = Turns {
                last: Some(thread),
                steps: 0,
            };
        }
        self.steps += u64::from(state.enabled().len() > 1);
        self.steps
    }
}
