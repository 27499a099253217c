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

pub mod check;
mod classes;
pub mod coverage;
mod estimate;
mod event;
mod execution;
pub mod explore;
pub mod frontier;
pub mod futures;
pub mod memory;
pub mod minimise;
mod naming;
pub mod object;
mod outlook;
mod rng;
pub mod schedule;
pub mod strategy;
mod subsets;
mod world;

pub use classes::Unseen;
pub use estimate::Estimate;
pub use event::{
    CellId, Chance, Event, EventId, Grant, LocationId, ObjectId, Operation, PortListId, Ports,
    Received, Reply, SiteId, ThreadId, Update, UpdateKind,
};
pub use execution::{ClassEntry, Execution, Spinning, ThreadInfo};
pub use explore::{Exploration, Limits, Tally};
pub use naming::Naming;
pub use outlook::{Growth, Outlook, Trend};
pub use schedule::{CheckName, Schedule, ScheduleError, ThreadPath, TokenError};
pub use strategy::{Choice, Divergence, Record, Strategy};
pub use world::{Ending, Past, State, Step, UNSETTLED, World};
