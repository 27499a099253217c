//! Text for terminals, as `Display` of the data types.

mod colour;
mod coverage;
mod progress;
mod report;
mod story;
