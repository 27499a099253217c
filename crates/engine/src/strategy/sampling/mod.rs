//! Strategies that sample or enumerate schedules, and their common parts.

mod active;
mod delay;
mod enumerate;
mod family;
mod history;
mod holdback;
mod impact;
mod near;
mod noise;
mod pct;
mod pos;
mod priorities;
mod races;
mod random;
mod shares;
mod surw;
mod target;
mod urw;

pub use active::{AtomicityDirected, DeadlockDirected, RaceDirected};
pub use delay::Delay;
pub use enumerate::Enumerate;
pub use history::History;
pub use holdback::{HoldPoint, Holdback};
pub use impact::Impact;
pub use near::{NearOrders, NearWalk};
pub use noise::Noise;
pub use pct::Pct;
pub use pos::Pos;
pub use random::Random;
pub use surw::Surw;
pub use urw::Urw;

pub(super) use priorities::Priorities;
pub(super) use races::racing;
pub(super) use shares::Shares;
pub(super) use target::Target;

pub(super) use crate::world::walk::{any, below, run};

use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::model::ending::Ending;
use crate::model::operation::{Chance, Operation};
use crate::world::State;

/// Calls a macro with the table of samplers. A row has the name of a sampler and its type in this
/// module. If its constructor takes a parameter before the seed, the row has the name, type, default
/// and range of the parameter, the range in words, and an example in words.
#[doc(hidden)]
#[macro_export]
macro_rules! samplers {
    ($for_each:ident) => {
        $for_each! {
            /// A random thread at every step.
            "random" => Random;
            /// Random priorities of threads, and `depth - 1` random points at which the running thread gets
            /// the lowest priority. Let a bug need `depth` events in a certain order. With n threads and k
            /// steps, every execution finds it with a probability of at least 1 / (n k^(depth - 1)).
            "pct" => Pct {
                /// Number of events that must come in a certain order; at least 1.
                depth: u32 = 3, 1..=u32::MAX, "a depth of at least 1", "pct:3 for bugs of depth 3"
            };
            /// Random priorities of operations, which are drawn again only for operations that race with the
            /// performed one: few choices are spent on the order of independent operations.
            "pos" => Pos;
            /// Every order of events is equally likely, as far as threads do not wait for each other and have
            /// equally many events in every execution.
            "urw" => Urw;
            /// As `Urw`, in every execution for the uses of one location or object only, which is drawn in
            /// proportion to its number of uses.
            "surw" => Surw;
            /// At every step a choice that was not made before when threads were at these lines of the program.
            "history" => History;
            /// Threads run until they block, and are interrupted with some probability at every step.
            "noise" => Noise {
                /// The probability; above 0 and at most 1.
                probability: f64 = 0.1,
                (std::ops::Bound::Excluded(0.0), std::ops::Bound::Included(1.0)),
                "a probability above 0 and at most 1",
                "noise:0.1 for interruptions with probability 0.1"
            };
            /// Predicts conflicting accesses from the executions so far, and directs others at two threads that
            /// are about to make them, which then run in either order. One execution in four is a random walk.
            "race-directed" => RaceDirected;
            /// The same for two uses of an atomic variable or lock by a thread, and a use by another one that
            /// comes between them.
            "atomicity-directed" => AtomicityDirected;
            /// The same for threads that take locks in a circle.
            "deadlock-directed" => DeadlockDirected;
        }
    };
}

/// Draws a position with a probability proportional to its weight; `None` if all weights are zero.
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

/// Operations whose order no other thread can observe; they are performed at once. No class is lost
/// that way, and random choices are spent on steps that matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Foregone {
    /// True once the program has asked whether a thread has ended. Until then no thread can observe
    /// an end without blocking on it.
    ends_matter: bool,
    /// Number of events and threads of the present execution that were looked at.
    events: usize,
    threads: usize,
    /// Threads of which the next operation is one of these, or that question.
    candidates: Vec<ThreadId>,
    /// By thread, true for these.
    is_candidate: Vec<bool>,
    /// True once one of them was that question.
    asks: bool,
}

/// Number of candidates from which on the enabled threads are looked through instead: then one of the first
/// of these is a candidate.
const MANY: usize = 4;

impl Foregone {
    /// Starts an execution.
    pub(super) fn begin(&mut self) {
        self.events = 0;
        self.threads = 0;
        self.candidates.clear();
        self.is_candidate.clear();
        self.asks = false;
    }

    /// True when the operation is one of these, as far as is known.
    #[inline]
    pub(super) fn includes(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Begin
            | Operation::Spawn
            | Operation::Join { .. }
            | Operation::Delivered { .. }
            | Operation::Choose { .. }
            | Operation::Chance {
                what: Chance::SpuriousUnpark,
            } => true,
            Operation::End => !self.ends_matter,
            _ => false,
        }
    }

    /// Returns the first enabled thread whose next operation is one of these. A decision among many threads
    /// costs as much as one among few: only threads that have performed an event are looked at again.
    #[inline]
    pub(super) fn next(&mut self, state: &State) -> Option<ThreadId> {
        let execution = state.execution();
        self.is_candidate.resize(execution.threads.len(), false);
        for event in &execution.events[self.events..] {
            let has_ended = matches!(event.operation, Operation::End);
            self.look_at(state, event.id.thread, has_ended);
        }
        self.events = execution.events.len();
        for thread in self.threads..execution.threads.len() {
            self.look_at(state, ThreadId::new(thread), false);
        }
        self.threads = execution.threads.len();
        let found = match self.candidates.is_empty() {
            true => None,
            false => self.first(state),
        };
        debug_assert_eq!(found, self.first_of_all(state));
        found
    }

    #[inline]
    fn look_at(&mut self, state: &State, thread: ThreadId, has_ended: bool) {
        let is_candidate = match state.pending(thread) {
            Operation::IsFinished { .. } => {
                self.asks = true;
                !has_ended
            }
            Operation::End => !has_ended,
            operation => self.includes(operation),
        };
        let known = &mut self.is_candidate[thread.index()];
        if *known == is_candidate {
            return;
        }
        *known = is_candidate;
        match is_candidate {
            true => self.candidates.push(thread),
            false => self.candidates.retain(|&other| other != thread),
        }
    }

    fn first(&mut self, state: &State) -> Option<ThreadId> {
        let is_enabled = |thread: &ThreadId| state.is_enabled(*thread);
        let mut candidates = self.candidates.iter().copied();
        if self.asks && !self.ends_matter {
            self.ends_matter = candidates.any(|thread| {
                matches!(state.pending(thread), Operation::IsFinished { .. }) && is_enabled(&thread)
            });
        }
        if self.candidates.len() >= MANY {
            return self.first_of_all(state);
        }
        let enabled = self.candidates.iter().copied().filter(is_enabled);
        let these = enabled.filter(|&thread| self.includes(state.pending(thread)));
        these.min_by_key(|&thread| state.position_of_enabled(thread))
    }

    /// Returns the same as [`next`](Self::next), from all enabled threads.
    fn first_of_all(&self, state: &State) -> Option<ThreadId> {
        let mut enabled = state.enabled().iter().copied();
        enabled.find(|&thread| self.includes(state.pending(thread)))
    }
}

/// True when the length of an execution with this ending is meaningful.
pub(super) fn is_whole(ending: &Ending) -> bool {
    matches!(
        ending,
        Ending::Complete | Ending::Deadlock | Ending::Livelock
    )
}

/// Length of the current run of steps of one thread while others were enabled.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    last: Option<ThreadId>,
    steps: u64,
}

impl Turns {
    /// Records a step of the thread; returns the length of its current run.
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
