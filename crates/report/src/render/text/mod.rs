//! Text for terminals.

mod colour;
mod coverage;
mod progress;
mod report;
mod story;
