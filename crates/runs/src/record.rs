//! The record of a check, and updates to it.

use std::collections::{BTreeMap, BTreeSet};

/// A run of a check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Run {
    /// Start, in milliseconds since 1970.
    pub started: u64,
    /// Number of executions.
    pub executions: u64,
    /// Number of classes that no earlier run had.
    pub classes: u64,
    /// Number of covered requirements that no earlier run had covered.
    pub requirements: u64,
}

/// The record of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// Fingerprint of the program's shape, to which everything except `failures` belongs. A reader
    /// with another shape must ignore the rest.
    pub shape: u64,
    /// Runs by number.
    pub runs: BTreeMap<u64, Run>,
    /// Fingerprints of classes, sorted and without duplicates.
    pub classes: Vec<u64>,
    /// Keys of covered requirements.
    pub covered: BTreeSet<String>,
    /// Keys of feasible requirements that are not covered, each with the number of executions that
    /// tried.
    pub stale: BTreeMap<String, u64>,
    /// Keys of requirements that are estimated to be infeasible, with the reason.
    pub impossible: BTreeMap<String, String>,
    /// Failing schedules, in text form.
    pub failures: BTreeSet<String>,
}

impl Remembered {
    /// Returns the number of executions of all runs.
    pub fn executions(&self) -> u64 {
        let each = self.runs.values().map(|run| run.executions);
        each.fold(0, u64::saturating_add)
    }

    /// Returns the cumulative counts after each run, oldest first.
    pub fn growth(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.runs.values().copied().collect();
        runs.sort();
        let mut all = Run::default();
        // Runs on different machines may have found the same class first.
        let (classes, requirements) = (self.classes.len() as u64, self.covered.len() as u64);
        for run in &mut runs {
            all = Run {
                started: run.started,
                executions: all.executions.saturating_add(run.executions),
                classes: all.classes.saturating_add(run.classes).min(classes),
                requirements: all
                    .requirements
                    .saturating_add(run.requirements)
                    .min(requirements),
            };
            *run = all;
        }
        runs
    }
}

/// The reason of a requirement that is impossible because no class covers it and every class was run. The
/// other reasons are estimates.
pub const EXCLUDED: &str = "impossible, as every behaviour was run";

/// Results of a run since its last update.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Fingerprint of the program's shape. If it differs from the stored one, everything except
    /// failing schedules is removed first.
    pub shape: u64,
    /// Unique number of the run.
    pub run: u64,
    /// Cumulative counts of the run.
    pub so_far: Run,
    /// New classes.
    pub classes: Vec<u64>,
    /// Keys of newly covered requirements.
    pub covered: Vec<String>,
    /// Keys of feasible requirements that are not covered, each with the number of executions since
    /// the last update.
    pub stale: Vec<(String, u64)>,
    /// Keys of requirements that are estimated to be infeasible, with the reason.
    pub impossible: Vec<(String, String)>,
    /// Keys of requirements that no class covers, when every class was run.
    pub excluded: Vec<String>,
    /// Failing schedules, in text form.
    pub failures: Vec<String>,
}
