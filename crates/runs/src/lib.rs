//! What checks remember from run to run, in one file: `target/raddle/runs.redb`.
//!
//! The file is a database of [redb](https://docs.rs/redb): all of a batch is in it or nothing, and
//! whoever is killed leaves what was written before. It is open only while something is read or
//! written, so that the tests of one process, and several processes, use it in turn.
//!
//! Of each check there are the *runs*, each with its counts under a number of its own; the *classes*
//! that were run, by fingerprint; the *requirements* that were covered, and those that were tried for
//! in vain, by key; and *failing schedules*, as text. All but the last are about one *shape* of the
//! program ([`Remembered::shape`]) and go when the shape changes. Everything is a set, or a map whose
//! values only grow, so two files are added by [`merge`], as often as one likes and in any order.
//!
//! Nothing here knows what a class or a requirement is.

mod aside;
mod file;
mod key;
mod merge;
mod record;
mod tables;

pub use file::{Problem, RunsFile};
pub use key::{Anchor, RequirementKey};
pub use merge::{Merged, merge};
pub use record::{News, Remembered, Run};
