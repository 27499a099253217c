//! What users are told when something is wrong.
//!
//! One program for all of them: to build one for each would take longer than to run them.

mod about;
mod alternatives;
mod beside_polls;
mod hints;
mod label;
mod leaks;
mod livelock;
mod lock_order;
mod message_stories;
mod minimise;
mod nondeterminism;
mod panics;
mod race_stories;
mod story;
mod stuck;
