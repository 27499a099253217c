//! raddle against independent oracles: enumeration of all schedules, the axioms of the memory model, the
//! definition of a race. Mostly on random programs.
//!
//! `cargo test` runs a few programs of each suite; `cargo test-oracles` runs many.

mod alternatives_random;
mod axioms;
mod behaviours;
mod branches;
mod brute_force;
mod class_orders;
mod engine_messages;
mod estimates;
mod manners;
mod mutating;
mod paths;
mod pointers;
mod preemptions;
mod race_axioms;
mod random_messages;
mod random_objects;
mod releases;
mod retrying;
mod spinning;
mod total_replay;
mod undoing;
