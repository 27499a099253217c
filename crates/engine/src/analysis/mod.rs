//! Analyses of finished executions: checkers, access manners, behaviour, branches, coverage, alternatives,
//! minimisation and partial traces of failures.

pub mod alternatives;
pub mod behaviour;
pub mod branches;
pub mod check;
pub(crate) mod classes;
pub mod coverage;
pub mod load_buffering;
pub mod manners;
pub mod minimise;
pub(crate) mod outlook;
pub mod partial;
pub mod race_kinds;
