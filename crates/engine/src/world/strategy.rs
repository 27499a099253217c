//! The interface between the world and the strategies above it.
//!
//! A [`Strategy`] chooses the thread that runs next; the world names no particular one. Its
//! constant properties are one value, [`Capabilities`], and its changing ones another,
//! [`Progress`]. Strategies are trait objects. The world calls them through [`Dispatch`]: directly
//! where a virtual call at every step is measurable.

use super::State;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
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

/// The decision about a thread that is about to repeat a round of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Continues, because its next operations are known.
    GoOn,
    /// Waits until a location that it read has changed.
    Wait,
    /// Stops for ever: in another execution it reads later, and takes the value that it waits for
    /// with its first read.
    Stop,
}

/// The dependence of a strategy's choices on random numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// Choices do not depend on random numbers.
    #[default]
    None,
    /// A seed and earlier executions determine them.
    Seeded,
    /// A seed determines them, and every execution is drawn independently of the classes of earlier
    /// ones.
    Independent,
}

/// The treatment of an execution whose class was run before.
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

/// The inputs that a strategy reads and the properties it promises, for the execution that has
/// begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Reads all outcomes of every operation, in every execution. Otherwise a read takes only the
    /// coherence-latest write until the program has used an access weaker than SeqCst, and in some executions until it has
    /// used a call that does not synchronize.
    pub reads_all_outcomes: bool,
    /// Reads repetitions of a loop as soon as they occur. Otherwise only long executions are
    /// watched for them.
    pub reads_repetitions: bool,
    /// Can begin an execution [again](Strategy::begin_again).
    pub begins_again: bool,
    /// Begins an execution [again](Strategy::begin_again) in which a thread may repeat a loop. Only then, and in
    /// all later executions, repetitions are read.
    pub watches_on_demand: bool,
    /// Reads the rest of an execution that the program has discarded, because a later send may
    /// revisit the receive that made an assumption fail.
    pub reads_discarded: bool,
    /// Reads every access of a cell when an execution has ended.
    pub reads_cell_accesses: bool,
    /// Use of random numbers.
    pub randomness: Randomness,
    /// Treatment of classes that were run before.
    pub known_class: KnownClass,
    /// Maximum events of an execution, if that is less than the limit of the check.
    pub max_events: usize,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            reads_all_outcomes: false,
            reads_repetitions: true,
            begins_again: false,
            watches_on_demand: false,
            reads_discarded: false,
            reads_cell_accesses: false,
            randomness: Randomness::None,
            known_class: KnownClass::Counts,
            max_events: usize::MAX,
        }
    }
}

impl Capabilities {
    /// Capabilities of a sampler whose executions are independent draws.
    pub const SAMPLER: Capabilities = Capabilities {
        reads_all_outcomes: false,
        reads_repetitions: false,
        begins_again: false,
        watches_on_demand: false,
        reads_discarded: false,
        reads_cell_accesses: false,
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
    /// All classes or schedules within a bound; there are more beyond it.
    Within(Bound),
    /// Every class.
    All,
}

/// The state of a strategy between two executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The execution that has just ended was only an attempt: it does not count and is not checked.
    pub is_attempt: bool,
    /// The execution that has just ended was a sample for an estimate: its failures are real, but
    /// it does not count, because the search will run its class.
    pub is_sample: bool,
    /// The execution that has just ended was too long, or the strategy needs too much memory, and it
    /// runs no more. Other strategies may run the program.
    pub gave_up: bool,
    /// Part of the program's behaviour that has been run.
    pub extent: Extent,
    /// Estimated number of classes.
    pub estimate: Option<Estimate>,
}

/// Knowledge of the program that a strategy has from its executions, for strategies of the same kind in other
/// processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// Numbers of events of a thread that compete with those of others.
    Lengths {
        /// Its position in the spawn tree: the ordinal of each ancestor but the main thread, and its own.
        thread: Vec<u32>,
        /// For each stretch from one join to the next: the sum over executions, and the number of executions.
        stretches: Vec<(u64, u64)>,
    },
    /// The number of steps of the longest execution.
    Longest(u64),
    /// A decision in an abstract state.
    Decision(u32),
}

/// Chooses threads and outcomes, execution after execution.
pub trait Strategy: Send {
    /// Prepares the next execution; `false` when there is none left to run.
    fn begin(&mut self) -> bool;

    /// Begins the running execution from its first event again: the choices so far are repeated, and the
    /// execution goes on from there. Called only if the [capabilities](Capabilities::begins_again) say so.
    fn begin_again(&mut self) {}

    /// Chooses one of the enabled threads. Never called when no thread is enabled.
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>>;

    /// Receives the state in which no thread is enabled, although some have not ended.
    fn stuck(&mut self, _state: &State) -> Result<(), Box<Divergence>> {
        Ok(())
    }

    /// Receives the finished execution.
    fn end(&mut self, _execution: &Execution, _ending: &Ending) {}

    /// Learns from an execution that another strategy has run.
    fn learn(&mut self, _execution: &Execution, _ending: &Ending) {}

    /// Returns what the strategy has learned that other processes can use.
    fn lessons(&self) -> Vec<Lesson> {
        Vec::new()
    }

    /// Begins with what a strategy of another process has learned. Lessons of other kinds of strategies are ignored.
    fn recall(&mut self, _lesson: &Lesson) {}

    /// Decides about a thread that is about to repeat a round of a loop without having changed
    /// anything.
    fn repeats(&mut self, _state: &State, _thread: ThreadId) -> Repeat {
        Repeat::Wait
    }

    /// Receives a thread that is [stopped](Repeat::Stop) after a round that only reads. True when the execution is
    /// not worth its rest: the thread is stopped in every execution that the strategy derives from it.
    fn is_in_vain(&mut self, _thread: ThreadId) -> bool {
        false
    }

    /// Returns the inputs and promises of the strategy for the execution that has begun.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Returns how the last execution counts, and the part that has been run.
    fn progress(&self) -> Progress {
        Progress::default()
    }
}

/// The strategy of a world, called directly or through a trait object.
pub trait Dispatch {
    /// Chooses as [`Strategy::choose`] does.
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>>;

    /// Returns the random numbers of a strategy that draws uniformly among the enabled threads and
    /// then among the outcomes; `None` for any other strategy.
    fn random_walk(&mut self) -> Option<&mut Rng>;

    /// Returns the strategy.
    fn strategy(&self) -> &dyn Strategy;

    /// Returns the strategy.
    fn strategy_mut(&mut self) -> &mut dyn Strategy;
}
