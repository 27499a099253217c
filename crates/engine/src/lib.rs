//! The model of a concurrent program's shared world, and the search over its behaviours.
//!
//! A *substrate* (outside this crate) runs the program's threads one at a time and hands every
//! visible thing they do to [`World::request`] as an [`Operation`]. The world asks a [`Strategy`]
//! which thread goes on, performs that thread's operation, and records an [`Event`] in an
//! [`Execution`]: program order, and for every receiving event the *source* it took its value or
//! its turn from. Checkers read the finished execution.
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
pub use analysis::{check, coverage, minimise};
pub use base::ids::{CellId, EventId, LocationId, ObjectId, PortListId, SiteId, ThreadId};
pub use base::outcome::{Outcome, Resolution};
pub use base::reply::{Exchange, Grant, Received, Reply};
pub use explore::{CutCounts, Exploration, Limits, Tally};
pub use model::choice::Choice;
pub use model::ending::{Divergence, Ending, Record};
pub use model::estimate::Estimate;
pub use model::event::Event;
pub use model::execution::{ClassEntry, Execution, Spinning, ThreadInfo};
pub use model::naming::Naming;
pub use model::operation::{Chance, Operation, Ports, Update, UpdateKind};
pub use model::schedule::{self, CheckName, Schedule, ScheduleError, ThreadPath, TokenError};
pub use search::frontier;
pub use strategy::World;
pub use world::strategy::Strategy;
pub use world::{Past, Policy, State, Step};
