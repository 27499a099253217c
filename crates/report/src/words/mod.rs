//! Executions and findings in words, with the names that the program's source has for things.

mod advice;
mod critical_pair;
mod failure;
pub(crate) mod finding;
mod impossible;
pub(crate) mod names;
pub(crate) mod number;
mod thing_names;
pub(crate) mod things;
mod trace;
mod values;
