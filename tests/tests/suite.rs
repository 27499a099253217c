//! The tests of `cargo test` that go through the public interfaces.
//!
//! One binary for all of them: to link one for each file would take longer than to run them.

mod architecture;
mod attribute;
mod auto;
mod between_runs;
mod book;
mod counting;
mod crashes;
mod directed_sampling;
mod exports;
mod gallery;
mod hangs;
mod limits;
mod listed_alternatives;
mod linearizable;
mod minimise_stories;
mod near_change;
mod ourselves;
mod pages;
mod ported;
mod properties;
mod race_classes;
mod reached;
mod replaying;
mod requirement;
mod resume;
mod sampled_programs;
mod samplers;
mod scale;
mod schedulers;
mod schedules;
mod second_run;
mod settings;
mod stories;
mod substrate;
mod telling;
mod thread_local;
mod three_modes;
mod tiers;
mod trace;
mod types;

/// The synchronization that raddle's own files under `ourselves` are compiled with.
use ourselves::own_sync;
