//! Analyses of finished executions: checkers, coverage, alternatives and minimisation.

pub mod alternatives;
pub mod check;
pub(crate) mod classes;
pub mod coverage;
pub mod load_buffering;
pub mod minimise;
pub(crate) mod outlook;
