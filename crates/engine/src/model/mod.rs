//! The record of an execution: operations, events, its ending, and its names and schedules.

pub(crate) mod access;
pub(crate) mod change;
pub(crate) mod choice;
pub(crate) mod declared;
pub(crate) mod ending;
pub(crate) mod endless;
pub(crate) mod estimate;
pub(crate) mod event;
pub(crate) mod events;
pub(crate) mod execution;
pub(crate) mod fault;
pub(crate) mod location;
pub(crate) mod naming;
pub(crate) mod operation;
pub mod schedule;
