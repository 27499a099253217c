//! Results in the forms that people and other programs read.

pub mod diagnostics;
pub mod export;
pub mod junit;
pub mod progress;
