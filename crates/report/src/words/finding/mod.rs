//! Messages, marked lines and waiting threads of findings, with a file for each kind of finding.

pub(crate) mod context;
mod foreign;
mod ignored;
pub(crate) mod kind_of_race;
mod livelock;
mod lock_order;
pub(crate) mod marks;
pub(crate) mod memory;
mod message;
mod nondeterminism;
mod panic;
mod property;
mod stale;
mod stuck;
pub(crate) mod waits;
