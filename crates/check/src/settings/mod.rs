//! The settings of a check, and where they come from.

pub(crate) mod check_name;
pub(crate) mod checker;
pub(crate) mod checkpoints;
pub(crate) mod environment;
pub(crate) mod log;
pub(crate) mod options;
pub(crate) mod samplers;
