//! From a failing execution to an explanation.

pub(crate) mod alternatives;
pub(crate) mod fatal_report;
pub(crate) mod hints;
pub(crate) mod minimise;
pub(crate) mod pages;
pub(crate) mod recall;
