//! The settings of a check, from code, the attribute and the environment.

pub(crate) mod check_name;
pub(crate) mod checker;
pub(crate) mod checkpoints;
pub(crate) mod environment;
pub(crate) mod fields;
pub(crate) mod log;
pub(crate) mod mutant;
pub(crate) mod options;
pub(crate) mod samplers;
