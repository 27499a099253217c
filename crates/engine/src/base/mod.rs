//! Identifiers, outcomes, replies and small tools that every layer uses.

pub(crate) mod ids;
pub(crate) mod outcome;
pub(crate) mod reply;
pub(crate) mod rng;
pub(crate) mod subsets;
pub(crate) mod words;
