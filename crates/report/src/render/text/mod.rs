//! Text for terminals, as `Display` of the data types.

mod branches;
mod colour;
mod coverage;
pub(crate) mod layout;
mod progress;
mod properties;
mod report;
mod steps;
mod story;
