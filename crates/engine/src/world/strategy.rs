//! The interface between the world and the strategies above it.
//!
//! The world asks a [`Strategy`] which thread goes on; it names no particular one. Strategies are used
//! as trait objects, and [`Dispatch`] is how the world calls one: directly where a virtual call at every
//! step would show.

use std::any::Any;

use super::State;
use crate::base::ids::ThreadId;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending};
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// To what can be run with at most so many preemptions.
    Preemptions(u32),
    /// To schedules with at most so many delays.
    Delays(u32),
}

/// What becomes of a thread that is about to do once more what it has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It goes on, because it is known to.
    GoOn,
    /// It waits until something that it read has changed.
    Wait,
    /// It never goes on: there is another execution in which it looks later, and sees what it waits
    /// for the first time.
    Stop,
}

/// Decides what happens next, execution after execution.
pub trait Strategy: Any + Send {
    /// Prepares the next execution; `false` when there is none left to run.
    fn begin(&mut self) -> bool;

    /// Picks one of the enabled threads. Never called when no thread is enabled.
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>>;

    /// Is told that no thread can go on, although some have not ended.
    fn stuck(&mut self, _state: &State) -> Result<(), Box<Divergence>> {
        Ok(())
    }

    /// Is told how the execution ended.
    fn end(&mut self, _execution: &Execution, _ending: &Ending) {}

    /// Is shown an execution that another strategy has run, to learn from it what it can.
    fn learn(&mut self, _execution: &Execution, _ending: &Ending) {}

    /// Whether an execution of a class that was run before is only an attempt.
    fn skips_known(&self) -> bool {
        false
    }

    /// Whether the execution that has just ended was only an attempt: it is not counted, and nobody
    /// looks at it.
    fn retries(&self) -> bool {
        false
    }

    /// Whether the execution that goes on, or has just ended, is for an estimate only: what is wrong
    /// with it is wrong, but it is counted nowhere, because the search will come to it.
    fn samples(&self) -> bool {
        false
    }

    /// Whether the execution that has just ended was too long for it, and it runs no more. That says
    /// nothing of the program: others may run it.
    fn gave_up(&self) -> bool {
        false
    }

    /// So many events at most may an execution have that is its own.
    fn most_events(&self) -> usize {
        usize::MAX
    }

    /// How many classes there are, if it is known roughly.
    fn estimate(&self) -> Option<Estimate> {
        None
    }

    /// Whether every class of the program has been run.
    fn exhausted(&self) -> bool {
        false
    }

    /// The bound within which everything has been run, if that is not everything.
    fn bounded(&self) -> Option<Bound> {
        None
    }

    /// Whether an execution that does not count must be run on all the same, because other threads
    /// may do what makes others count.
    fn runs_on(&self) -> bool {
        false
    }

    /// Whether it counts on being told all outcomes there are in every execution, the first included.
    fn is_exact(&self) -> bool {
        false
    }

    /// Is told that a thread is about to do once more what it has just done, with nothing changed in
    /// the thread or by it; says what becomes of the thread.
    fn repeats(&mut self, _state: &State, _thread: ThreadId) -> Repeat {
        Repeat::Wait
    }

    /// Whether it matters how soon a thread is found to repeat itself; if not, only long executions
    /// are watched for that.
    fn watches(&self) -> bool {
        true
    }

    /// Whether every execution is drawn at random, whatever the others were.
    fn draws(&self) -> bool {
        false
    }

    /// The same strategy with other random choices, before it has learned anything; `None` if it makes
    /// no random choices.
    fn with_seed(&self, _seed: u64) -> Option<Box<dyn Strategy>> {
        None
    }

    /// Whether no two executions belong to one class, so that nobody needs to compare them.
    fn never_repeats(&self) -> bool {
        false
    }
}

/// The strategy of a world, called directly or through a trait object.
pub trait Dispatch: From<Box<dyn Strategy>> + Into<Box<dyn Strategy>> {
    /// As [`Strategy::choose`].
    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>>;

    /// Whether the running thread goes on without a choice where no class is lost that way.
    fn skips_trivial_choices(&self) -> bool;

    /// The strategy.
    fn strategy(&self) -> &dyn Strategy;

    /// The strategy.
    fn strategy_mut(&mut self) -> &mut dyn Strategy;
}
