//! Declarations of the program about its data: blocks that must appear atomic, data that belongs together, and the
//! uses of the data in locks.
//!
//! None of them is an event: a block begins and ends between two events of its thread. They are recorded only where
//! accesses of cells are kept. Labels of events are recorded where a check asks for them.

use crate::base::ids::{CellId, EventId, LocationId, ObjectId, SiteId, ThreadId};

/// A variable: memory whose reads and writes are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Datum {
    /// A cell.
    Cell(CellId),
    /// An atomic variable.
    Location(LocationId),
    /// The data in a lock.
    Lock(ObjectId),
}

/// A block that the program declares to be atomic, in one pass of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its name; empty if the program gives none.
    pub name: String,
    /// The thread that runs it.
    pub thread: ThreadId,
    /// Its place in the source.
    pub site: SiteId,
    /// Number of events of the thread before it.
    pub from: u32,
    /// Number of events of the thread at its end; `None` if the thread has not left it.
    pub to: Option<u32>,
    /// Numbers of accesses of cells of the execution before it and at its end.
    pub accesses: [usize; 2],
    /// The text of its value, if it has one that can be printed.
    pub value: Option<String>,
}

/// Variables that belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSet {
    /// The name of the set.
    pub name: String,
    /// Its variables.
    pub data: Vec<Datum>,
}

/// A critical section that used the data in its lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataUse {
    /// The holder.
    pub thread: ThreadId,
    /// The lock.
    pub lock: ObjectId,
    /// The index of the releasing event among those of the thread.
    pub released: u32,
    /// True when the data was borrowed mutably.
    pub writes: bool,
}

/// A label of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventLabel {
    /// The event: the last one of the thread that gave the label.
    pub event: EventId,
    /// The text.
    pub text: String,
}

/// Everything that a program has declared in one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Declared {
    /// The blocks, in the order in which threads entered them.
    pub blocks: Vec<Block>,
    /// The sets of data.
    pub sets: Vec<DataSet>,
    /// The uses of data in locks.
    pub uses: Vec<DataUse>,
}
