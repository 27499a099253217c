//! Four kinds of race by one parametric definition, over uses of data and the order that synchronization makes.
//!
//! A *data race* is two conflicting uses of one variable by different threads that are not ordered; a *multi-data race*
//! two of variables that belong together. A *block race* is a use that conflicts with two uses of its variable in one
//! block of another thread, and that may come between them; a *multi-data block race* is the same for variables that
//! belong together.
//!
//! Model and definitions follow Hong (*Effective and Efficient Test Generation for Multithreaded Programs Using
//! Concurrency Coverage Metrics*, 2015); the exception for writes that are overwritten Lu et al. (AVIO, ASPLOS 2006).

pub mod consecutive;
mod detect;
mod find;
mod model;
mod order;
mod serial;
mod uses;

pub use detect::{Detected, detect};
pub use find::{KnownRaces, Suspected, find, occurring, unordered};
pub use model::{Blocks, Conflicts, DataSets, RaceModel, SyncOrder, UnknownWord};
pub use serial::{BlockValue, is_serializable, values};
pub use uses::Use;

use crate::base::ids::{SiteId, ThreadId};
use crate::model::declared::Datum;

/// A kind of race.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RaceKind {
    /// Two unordered uses of one variable.
    Data,
    /// A use between two uses of its variable in a block.
    Block,
    /// Two unordered uses of variables that belong together.
    MultiData,
    /// Uses between those of a block, of variables that belong together.
    MultiDataBlock,
}

/// One of the accesses that make up a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RacyAccess {
    /// The thread.
    pub thread: ThreadId,
    /// The data.
    pub datum: Datum,
    /// True when it writes.
    pub writes: bool,
    /// True when it is in the block that is interfered with.
    pub in_block: bool,
    /// Its place in the source.
    pub site: SiteId,
}

/// The block of a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RacyBlock {
    /// Its name, if the program declares it.
    pub name: Option<String>,
    /// Its place in the source.
    pub site: SiteId,
}

/// A race of one of the kinds, with the accesses that make it in an order in which it shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KindOfRace {
    /// The kind.
    pub kind: RaceKind,
    /// Two, three or four accesses.
    pub accesses: Vec<RacyAccess>,
    /// The block that is interfered with, if the race has one.
    pub block: Option<RacyBlock>,
    /// The name of the set that the data belongs to, if it is declared.
    pub set: Option<String>,
}

impl KindOfRace {
    /// Returns the identity of the race in other executions: its kind and the places of its accesses.
    pub fn key(&self) -> RaceKey {
        (
            self.kind,
            self.accesses.iter().map(|access| access.site).collect(),
        )
    }
}

/// The kind of a race and the places of its accesses.
pub type RaceKey = (RaceKind, Vec<SiteId>);
