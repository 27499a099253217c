//! The graph of all states of a program: a labelled transition system.
//!
//! A state is a set of events that some execution has performed, with their sources. Threads are deterministic but for
//! their sources, so that the state of the program follows from it; executions of several classes share the states
//! before they differ. A transition is an event, with its label if it has one, and internal otherwise.

mod build;
mod minimise;
mod text;

use std::collections::BTreeMap;

pub use build::{GraphBuilder, MAX_STATES};
pub use text::{AutError, MAX_AUT};

/// The states of a program and the labelled events between them: a labelled transition system.
///
/// State 0 is the initial state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BehaviourGraph {
    pub(super) states: Vec<BehaviourState>,
    /// In ascending order.
    pub(super) transitions: Vec<BehaviourTransition>,
}

/// A state of a [`BehaviourGraph`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub struct BehaviourState {
    /// Values of the atomics that have a name by `raddle::label!`.
    pub values: BTreeMap<String, u64>,
    /// The way in which executions end in this state; `None` if they go on.
    pub ending: Option<BehaviourEnding>,
}

/// The way in which executions end in a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum BehaviourEnding {
    /// All threads have ended, or the program has.
    Complete,
    /// Threads are blocked for ever.
    Deadlock,
    /// Threads spin for ever.
    Livelock,
}

impl BehaviourEnding {
    /// Returns the ending as one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BehaviourEnding::Complete => "complete",
            BehaviourEnding::Deadlock => "deadlock",
            BehaviourEnding::Livelock => "livelock",
        }
    }
}

/// A transition of a [`BehaviourGraph`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct BehaviourTransition {
    /// Number of the state before it.
    pub from: usize,
    /// Its label; `None` for an internal step.
    pub label: Option<String>,
    /// Number of the state after it.
    pub to: usize,
}

impl BehaviourGraph {
    /// Returns the states; the first is the initial one.
    #[must_use]
    pub fn states(&self) -> &[BehaviourState] {
        &self.states
    }

    /// Returns the transitions, in ascending order of their states.
    #[must_use]
    pub fn transitions(&self) -> &[BehaviourTransition] {
        &self.transitions
    }

    /// Returns the transitions from a state.
    pub fn from(&self, state: usize) -> impl Iterator<Item = &BehaviourTransition> {
        let start = self.transitions.partition_point(|it| it.from < state);
        let from = self.transitions[start..].iter();
        from.take_while(move |it| it.from == state)
    }
}
