//! The model of a concurrent program's shared state, and the search over its executions.
//!
//! A *substrate* (outside this crate) runs the program's threads one at a time and passes their
//! visible operations to [`World::request`] as [`Operation`]s. The world asks a [`Strategy`] for
//! the next thread, performs the operation of that thread, and records an [`Event`] in an
//! [`Execution`]: program order, and for every receive its *source*. Checkers read the finished
//! execution.
//!
//! This crate is pure and deterministic: no OS threads, no clock, no I/O and no unsafe code.

#![forbid(unsafe_code)]

mod analysis;
mod base;
pub mod explore;
pub mod memory;
mod model;
pub mod object;
mod search;
pub mod strategy;
pub mod world;

pub use analysis::alternatives;
pub use analysis::classes::Unseen;
pub use analysis::outlook::{Growth, Outlook, Trend};
pub use analysis::{
    behaviour, branches, check, coverage, load_buffering, manners, minimise, partial, race_kinds,
};
pub use base::ids::{CellId, EventId, LocationId, ObjectId, PortListId, SiteId, ThreadId};
pub use base::outcome::{Outcome, Resolution};
pub use base::reply::{Exchange, Grant, Received, Reply};
pub use explore::{CutCounts, Exploration, Limits, Tally};
pub use model::change::{Change, ChangedSite};
pub use model::choice::Choice;
pub use model::declared::{Block, DataSet, DataUse, Datum, Declared, EventLabel};
pub use model::ending::{Divergence, Ending, Record};
pub use model::estimate::Estimate;
pub use model::event::Event;
pub use model::events::Events;
pub use model::execution::{ClassEntry, Execution, Spinning, ThreadInfo};
pub use model::location::Location;
pub use model::naming::Naming;
pub use model::operation::{Chance, Operation, Ports, Update, UpdateKind};
pub use model::schedule::{self, CheckName, Schedule, ScheduleError, ThreadPath, TokenError};
pub use search::frontier;
pub use strategy::World;
pub use world::strategy::Strategy;
pub use world::{IgnoredValues, LocalStates, Past, Policy, Round, Served, State, Step, WaitId};
