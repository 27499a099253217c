//! The interface between the world and the strategies above it.
//!
//! A [`Strategy`] chooses the thread that runs next; the world names no particular one. Its
//! constant properties are one value, [`Capabilities`], and what changes while it runs is another,
//! [`Progress`]. Strategies are trait objects, and [`Dispatch`] is how the world calls one:
//! directly where a virtual call at every step is measurable.

use super::State;
use crate::base::ids::ThreadId;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;

/// A limit within which a search is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Classes with a linearization of at most this many preemptions.
    Preemptions(u32),
    /// Schedules with at most this many delays.
    Delays(u32),
}

/// The answer to a thread that is about to repeat a round of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It goes on, because its next operations are known.
    GoOn,
    /// It waits until a location that it read has changed.
    Wait,
    /// It never goes on: in another execution it reads later, and takes the value that it waits for
    /// with its first read.
    Stop,
}

/// How the choices of a strategy depend on random numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// They do not.
    #[default]
    None,
    /// They depend on a seed and on earlier executions.
    Seeded,
    /// They depend on a seed, and every execution is drawn independently of the classes of earlier
    /// ones.
    Independent,
}

/// What an execution of a class counts that was run before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownClass {
    /// It counts as an execution of a known class.
    #[default]
    Counts,
    /// It is an attempt and does not count.
    IsAttempt,
    /// It never occurs, so classes need not be compared.
    NeverOccurs,
}

/// What a strategy reads and what it promises, for the execution that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Reads all outcomes of every operation, in every execution. Otherwise a read takes only the
    /// coherence-latest write until the program has used an access weaker than SeqCst.
    pub reads_all_outcomes: bool,
    /// Reads repetitions of a loop as soon as they occur. Otherwise only long executions are
    /// watched for them.
    pub reads_repetitions: bool,
    /// Reads the rest of an execution that the program has discarded, because a later send may
    /// revisit the receive that made an assumption fail.
    pub reads_discarded: bool,
    /// How it draws.
    pub randomness: Randomness,
    /// How it treats classes that were run before.
    pub known_class: KnownClass,
    /// Maximum events of an execution, if that is less than the limit of the check.
    pub max_events: usize,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            reads_all_outcomes: false,
            reads_repetitions: true,
            reads_discarded: false,
            randomness: Randomness::None,
            known_class: KnownClass::Counts,
            max_events: usize::MAX,
        }
    }
}

impl Capabilities {
    /// Returns those of a sampler whose executions are independent draws.
    pub const SAMPLER: Capabilities = Capabilities {
        reads_all_outcomes: false,
        reads_repetitions: false,
        reads_discarded: false,
        randomness: Randomness::Independent,
        known_class: KnownClass::Counts,
        max_events: usize::MAX,
    };
}

/// The part of a program's behaviour that a strategy has run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// An unknown part.
    #[default]
    Some,
    /// Everything within a bound; there is more beyond it.
    Within(Bound),
    /// Every class.
    All,
}

/// What is known of a strategy between two executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The execution that has just ended was only an attempt: it does not count and is not checked.
    pub is_attempt: bool,
    /// The execution that has just ended was a sample for an estimate: its failures are real, but
    /// it does not count, because the search will run its class.
    pub is_sample: bool,
    /// The execution that has just ended was too long, and the strategy runs no more. Other
    /// strategies may run the program.
    pub gave_up: bool,
    /// What has been run.
    pub extent: Extent,
    /// Estimated number of classes.
    pub estimate: Option<Estimate>,
}

/// Decides what happens next, execution after execution.
pub trait Strategy: Send {
    /// Prepares the next execution; `false` when there is none left to run.
    fn begin(&mut self) -> bool;

    /// Chooses one of the enabled threads. Never called when no thread is enabled.
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>>;

    /// Receives the state in which no thread can go on, although some have not ended.
    fn stuck(&mut self, _state: &State) -> Result<(), Box<Divergence>> {
        Ok(())
    }

    /// Receives the finished execution.
    fn end(&mut self, _execution: &Execution, _ending: &Ending) {}

    /// Learns from an execution that another strategy has run.
    fn learn(&mut self, _execution: &Execution, _ending: &Ending) {}

    /// Decides about a thread that is about to repeat a round of a loop, with nothing changed in
    /// the thread or by it.
    fn repeats(&mut self, _state: &State, _thread: ThreadId) -> Repeat {
        Repeat::Wait
    }

    /// Returns what the strategy reads and promises for the execution that has begun.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Returns what the last execution counts for, and what is left to run.
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

/// The strategy of a world, called directly or through a trait object.
pub trait Dispatch {
    /// As [`Strategy::choose`].
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>>;

    /// True when the running thread goes on without a choice where no class is lost that way.
    fn skips_trivial_choices(&self) -> bool;

    /// Returns the strategy.
    fn strategy(&self) -> &dyn Strategy;

    /// Returns the strategy.
    fn strategy_mut(&mut self) -> &mut dyn Strategy;
}
