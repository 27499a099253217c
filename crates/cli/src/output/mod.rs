//! Results in human-readable and machine-readable formats.

pub mod alternatives;
pub mod changes;
pub mod comparison;
pub mod diagnostics;
pub mod error;
pub mod export;
pub mod junit;
pub mod patch;
pub mod plural;
pub mod progress;
pub mod reporter;
mod terminal;

pub use terminal::{set_colours, story_layout, terminal_variables};
