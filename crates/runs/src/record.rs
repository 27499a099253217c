//! What is remembered of one check, and what is added to it.

use std::collections::{BTreeMap, BTreeSet};

/// One run of a check.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Run {
    /// When it started, in milliseconds since 1970.
    pub started: u64,
    /// How many executions it has run.
    pub executions: u64,
    /// How many of their classes no run before had.
    pub classes: u64,
    /// How many requirements it covered that no run before had.
    pub requirements: u64,
}

/// What is remembered of one check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remembered {
    /// What the program looked like of which all but `failures` is. Whoever knows that it looks
    /// different now has nothing but those.
    pub shape: u64,
    /// The runs, by their numbers.
    pub runs: BTreeMap<u64, Run>,
    /// Fingerprints of classes, in order and each once.
    pub classes: Vec<u64>,
    /// Keys of requirements that were covered.
    pub covered: BTreeSet<String>,
    /// Keys of requirements that were possible and not covered, with how many executions there were.
    pub stale: BTreeMap<String, u64>,
    /// Keys of requirements that seem to be impossible, with the reason.
    pub impossible: BTreeMap<String, String>,
    /// Schedules that failed, as text.
    pub failures: BTreeSet<String>,
}

impl Remembered {
    /// How many executions all runs have run.
    pub fn executions(&self) -> u64 {
        let each = self.runs.values().map(|run| run.executions);
        each.fold(0, u64::saturating_add)
    }

    /// How far all runs had come after each of them, from the oldest on.
    pub fn growth(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.runs.values().copied().collect();
        runs.sort();
        let mut all = Run::default();
        // Runs of different machines may have been the first to find the same.
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

/// What a run has to add since it last did.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// What the program looks like. If that is not what is remembered, all but the failures is
    /// forgotten first.
    pub shape: u64,
    /// The number of the run, which no other has.
    pub run: u64,
    /// What it has done so far.
    pub so_far: Run,
    /// Classes it has run.
    pub classes: Vec<u64>,
    /// Requirements it has covered.
    pub covered: Vec<String>,
    /// Requirements that are possible and not covered, and during how many more executions.
    pub stale: Vec<(String, u64)>,
    /// Requirements that seem to be impossible, with the reason.
    pub impossible: Vec<(String, String)>,
    /// Schedules that failed, as text.
    pub failures: Vec<String>,
}
