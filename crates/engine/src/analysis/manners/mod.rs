//! Access manners: what each thread does to shared data between taking its first lock and giving
//! back its last one.
//!
//! Two executions with the same set of manners in every thread are *race-equivalent*: locks protect
//! the same data in both, so one of them is enough to decide about races ([`Decided`]). Races are
//! [`predicted`](predict::races) from locksets and from the order that locks do not make, for other
//! orders of the critical sections than that of the execution. A [`witness`] is such
//! an order, if the values that are read do not have to change for it.
//!
//! Manners and race-equivalence follow Setiadi (*Debugging and Testing Concurrent Programs with Efficient
//! Test Case Generation*, 2015), locksets Savage et al. (Eraser, TOCS 1997), witnesses Mathur et al.
//! (*Optimal Prediction of Synchronization-Preserving Races*, POPL 2021).

pub mod atomics;
mod decided;
pub mod predict;
mod traced;
pub mod witness;

pub use decided::{Decided, Decision};
pub use traced::{Instance, Traced};

use crate::base::ids::SiteId;
use crate::model::schedule::ThreadPath;

/// One step of an access manner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// Takes a lock.
    Lock,
    /// Gives a lock back, or tries to without holding it.
    Unlock,
    /// Reads shared data.
    Read,
    /// Writes shared data.
    Write,
}

/// A lock or a cell. Two steps of one execution have the same target if they are done to the same object, whatever the
/// program calls it. Targets do not depend on the schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Target {
    /// The place of its first use, in the order of the tree of creations.
    pub first: SiteId,
    /// Number of others with the same place that are used before it.
    pub number: u32,
}

/// A step, with the lock or the data that it is done to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Step {
    /// The step.
    pub effect: Effect,
    /// The lock or the cell.
    pub target: Target,
    /// Its place in the source.
    pub site: SiteId,
}

/// The extent of a manner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// From the lock with which the thread holds one, to the unlock with which it holds none.
    Usual,
    /// A single access, or a single unlock, of a thread that holds no lock.
    Unusual,
    /// The execution ended before the thread had given back its locks.
    Unterminated,
}

/// An access manner of a thread.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Manner {
    /// The thread, by its place in the tree of creations.
    pub thread: ThreadPath,
    /// Its extent.
    pub kind: Kind,
    /// Its steps in program order.
    pub steps: Vec<Step>,
}
