//! Executions and findings in words, with the names that the program's source has for things.

pub(crate) mod critical_pair;
pub(crate) mod finding;
pub(crate) mod impossible;
pub(crate) mod number;
pub(crate) mod thing_names;
pub(crate) mod things;
pub(crate) mod values;
