//! What is read off finished executions: findings, coverage, alternatives, and shorter failures.

pub mod alternatives;
pub mod check;
pub(crate) mod classes;
pub mod coverage;
pub mod minimise;
pub(crate) mod outlook;
