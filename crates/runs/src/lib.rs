//! Results of checks that persist from run to run, in one file: `target/raddle/runs.redb`.
//!
//! The file is a [redb](https://docs.rs/redb) database. Each batch is one transaction, so a killed
//! process loses only the batch that it has not committed. The file is open only during reads and
//! writes, so that several tests and several processes can share it.
//!
//! For each check the file holds its *runs*, each with its counts under a unique number; the
//! fingerprints of the *classes* that were run; the keys of the *requirements* that were covered,
//! tried without success, or found infeasible; and *failing schedules*, as text. All but the
//! schedules belong to one *shape* of the program ([`Remembered::shape`]) and are removed when the
//! shape changes. All data are sets, or maps whose values only grow, so that [`merge`] is
//! idempotent and commutative.
//!
//! It also holds *versions* of the program: for each test, what a later version is compared with, as text.
//! [`lines`] has the lines of two versions that correspond.
//!
//! This crate treats classes and requirements as opaque keys.

mod aside;
mod file;
mod key;
pub mod lines;
mod merge;
mod record;
mod tables;

pub use file::{Problem, RunsFile};
pub use key::{Anchor, RequirementKey};
pub use merge::{Merged, merge};
pub use record::{EXCLUDED, News, Remembered, Run};
