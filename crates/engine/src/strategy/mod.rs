//! Deciding what happens next.
//!
//! A strategy is told the pending operation of every enabled thread and answers which thread goes
//! on, and how an operation with several outcomes turns out. It never sees how threads are run.
//! A new strategy is one file here.

mod corpus;
mod coverage;
mod delay;
mod directed;
mod enumerate;
pub(crate) mod exhaustive;
mod guided;
mod history;
mod holdback;
mod noise;
mod pct;
mod portfolio;
mod pos;
mod random;
mod replay;
mod sampler;
mod surw;
mod urw;

pub use coverage::CoverageGuided;
pub use delay::Delay;
pub use directed::Directed;
pub use enumerate::Enumerate;
pub use exhaustive::{Along, Exhaustive, Item, Reach, Reductions, Sampling};
pub use guided::{Guided, Planned};
pub use history::History;
pub use holdback::Holdback;
pub use noise::Noise;
pub use pct::Pct;
pub use portfolio::Portfolio;
pub use pos::Pos;
pub use random::Random;
pub use replay::Replay;
pub use surw::Surw;
pub use urw::Urw;

use crate::estimate::Estimate;
use crate::event::{Operation, SiteId, ThreadId};
use crate::execution::Execution;
use crate::world::{Ending, State};

/// What happens next: a thread, and how its pending operation turns out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The thread that goes on.
    pub thread: ThreadId,
    /// Which outcome its operation has; see [`State::outcomes`] and [`State::allows`].
    pub outcome: u32,
}

impl Choice {
    /// This thread goes on with the first outcome.
    pub fn run(thread: ThreadId) -> Self {
        Choice { thread, outcome: 0 }
    }
}

/// The program did not do what the strategy had on record for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Whose record it was.
    pub from: Record,
    /// How many events had been performed as recorded.
    pub after: usize,
    /// The thread that differs.
    pub thread: String,
    /// What it should have done, in words.
    pub expected: String,
    /// Where it did so in the earlier run, if that is known.
    pub expected_at: Option<SiteId>,
    /// What it was about to do, in words; `None` if there is no such thread or it has ended.
    pub found: Option<String>,
    /// The same as data, if the program did another thing than in an earlier run.
    pub pending: Option<Operation>,
    /// Where that is.
    pub found_at: Option<SiteId>,
}

/// What the strategy goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// What the program did in an earlier run.
    EarlierRun,
    /// A schedule given by the user.
    Schedule,
    /// A future given by the user; the run was only an attempt.
    Future,
}

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
pub trait Strategy: Send {
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

    /// The strategy itself, if it is the plain random walk.
    fn as_random(&self) -> Option<Random> {
        None
    }

    /// The strategy itself, if it is the exhaustive search, whose work can be shared and saved.
    fn as_exhaustive(&mut self) -> Option<&mut Exhaustive> {
        None
    }

    /// The strategy itself, if it looks for an execution that fits a future.
    fn as_directed(&mut self) -> Option<&mut Directed> {
        None
    }

    /// The strategy itself, if it goes for coverage, and wants to know what earlier runs covered.
    fn as_guided(&mut self) -> Option<&mut CoverageGuided> {
        None
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
