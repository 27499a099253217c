//! Data that outlives a process.

pub(crate) mod checkpoint;
#[cfg(unix)]
pub(crate) mod descriptors;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod known_schedules;
pub(crate) mod learnt;
pub(crate) mod saved;
pub(crate) mod since;
