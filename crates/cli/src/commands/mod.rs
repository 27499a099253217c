//! The commands, one module each.

pub mod completions;
pub mod coverage;
pub mod error;
pub mod manual;
pub mod near_names;
pub mod replay;
pub mod report;
pub mod run;
pub mod test;
