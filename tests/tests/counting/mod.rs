//! How much there is to run: classes, schedules, coverage, races, and what is published of them.
//!
//! One program for all of them: to build one for each would take longer than to run them.

mod completeness;
mod counts;
mod coverage;
mod delay;
mod estimate;
mod litmus_order;
mod litmus_rc11;
mod lock_free;
mod paths;
mod probes;
mod published;
mod races;
mod races_of_messages;
mod reductions;
mod workers;
