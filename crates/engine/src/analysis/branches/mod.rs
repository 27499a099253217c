//! Branches that interleaving decides, and the choices of sources that decide them.
//!
//! A branch is seen by its effect: after equal prefixes of a thread's own steps, the next step of the thread differs
//! between executions. Results of operations, such as that of a compare-exchange, are steps too. A branch both
//! sides of which continue with the same step is not seen.
//!
//! [`Recorder`] merges the steps of all executions into one tree for each thread. A [`Branch`] has the tree of
//! use-define choices that decide it ([`Tree`]): the concurrent dependency graph of Setiadi (*Debugging and Testing
//! Concurrent Programs with Efficient Test Case Generation*, 2015), learnt from executions instead of from data flow.
//! A [`Guideline`] is a path of it that no execution has followed.

mod decide;
mod guidelines;
mod record;

pub use guidelines::{Guideline, Tried};
pub use record::Recorder;

use crate::base::ids::SiteId;

/// A step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Step {
    /// Performs an operation with this label, or waits to.
    Operation(&'static str, SiteId),
    /// Reads or writes a cell.
    Access {
        /// True for a write.
        writes: bool,
        /// Place in the user's source.
        site: SiteId,
    },
    /// The result of the operation before it.
    Result(&'static str),
    /// The thread ends.
    End,
    /// The thread ends by a panic.
    Panic,
}

/// A branch that at least two executions have left in different ways after the same prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The step after which the thread continues in different ways.
    pub after: Named,
    /// The result of that step, if it has one and the thread continues in different ways after one result.
    pub result: Option<&'static str>,
    /// Names of the threads, in the order of the tree of creations.
    pub threads: Vec<String>,
    /// Number of prefixes after which the thread has continued in different ways.
    pub instances: usize,
    /// The next steps that were seen, each with the number of recorded executions.
    pub outcomes: Vec<(Named, u64)>,
    /// The distinct dependency graphs of its instances; empty if the recorded sources do not decide the outcome.
    pub graphs: Vec<Tree>,
    /// Number of nodes of the graph of the first instance before receives that decide nothing were removed.
    pub raw_nodes: usize,
}

/// A step with the names of the things that it was done to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Named {
    /// The step.
    pub step: Step,
    /// Names of things, as in reports; at most a few.
    pub things: Vec<String>,
}

/// A dependency graph: the choice of a source for each receive that decides a branch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Tree {
    /// The next step of the thread.
    Outcome(Named),
    /// A receive and its sources.
    Choice {
        /// The receive.
        receive: Receive,
        /// Every source that was seen, with the rest of the graph.
        sources: Vec<(Source, Tree)>,
    },
}

/// A receive that takes part in the decision about a branch.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Receive {
    /// Name of its thread.
    pub thread: String,
    /// The operation.
    pub step: Named,
    /// Number of the thread's earlier operations at the place, if the graph has several of them.
    pub occurrence: Option<u32>,
}

/// A source of a receive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Source {
    /// The send; `None` for the initial value or state, or no message.
    pub send: Option<Send>,
    /// The part of the outcome that the source does not determine; 0 for most operations.
    pub outcome: u32,
    /// True when other executions do not perform the receive.
    pub is_absent: bool,
}

/// A send that is the source of a receive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Send {
    /// Name of its thread.
    pub thread: String,
    /// The operation.
    pub step: Named,
    /// Number of the thread's earlier operations at the place, if the place alone does not decide the branch.
    pub occurrence: Option<u32>,
}

/// An operation with several possible results of which only one was seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneSided {
    /// The operation.
    pub operation: Named,
    /// The result that it always had.
    pub result: &'static str,
    /// The result that it never had.
    pub never: &'static str,
}

impl Tree {
    /// Returns the number of nodes: one box for each expression, one circle for each receive.
    pub fn nodes(&self) -> usize {
        match self {
            Tree::Outcome(_) => 1,
            Tree::Choice { sources, .. } => {
                2 + sources.iter().map(|(_, rest)| rest.nodes()).sum::<usize>()
            }
        }
    }

    /// Returns the number of guidelines: paths from the root to an outcome.
    pub fn guidelines(&self) -> usize {
        match self {
            Tree::Outcome(_) => 1,
            Tree::Choice { sources, .. } => sources.iter().map(|(_, rest)| rest.guidelines()).sum(),
        }
    }
}

impl Step {
    /// Returns the place of the step, if it has one of its own.
    pub fn site(&self) -> Option<SiteId> {
        match *self {
            Step::Operation(_, site) | Step::Access { site, .. } => Some(site),
            Step::Result(_) | Step::End | Step::Panic => None,
        }
    }
}
