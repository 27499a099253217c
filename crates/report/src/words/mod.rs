//! Executions and findings in words: builds the data of a report from the engine's executions, with
//! the names that the program's source has for threads, locations, objects and cells.

mod advice;
mod critical_pair;
mod failure;
pub(crate) mod finding;
mod impossible;
pub(crate) mod names;
pub(crate) mod number;
mod requirement;
mod thing_names;
pub(crate) mod things;
mod trace;
mod values;
