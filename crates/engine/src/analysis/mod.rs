//! Analyses of finished executions: checkers, access manners, coverage, alternatives and minimisation.

pub mod alternatives;
pub mod check;
pub(crate) mod classes;
pub mod coverage;
pub mod load_buffering;
pub mod manners;
pub mod minimise;
pub(crate) mod outlook;
pub mod race_kinds;
