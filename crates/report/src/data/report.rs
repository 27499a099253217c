//! The report of a check.

use std::time::Duration;

use serde::Serialize;

use crate::data::advice::{Advice, ClassGrowth};
use crate::data::coverage::Coverage;
use crate::data::earlier::Earlier;
use crate::data::estimate::{Estimate, Unseen};
use crate::data::failure::{Failure, FailureKind};
use crate::data::guarantee::{Alone, Completeness, Guarantee};

/// Settings of the search.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Search {
    /// Name of the strategy.
    pub strategy: String,
    /// Seed of the random choices.
    pub seed: u64,
}

impl Search {
    /// Search with this strategy and seed.
    pub fn new(strategy: impl Into<String>, seed: u64) -> Self {
        Search {
            strategy: strategy.into(),
            seed,
        }
    }
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Settings of the search.
    pub search: Search,
    /// Number of executions, without those that `assume` discarded.
    pub executions: u64,
    /// Number of executions that `assume` discarded.
    pub discarded: u64,
    /// Number of unsuccessful runs for a requested alternative.
    pub attempts: u64,
    /// True when every class was run.
    pub exhausted: bool,
    /// Failures, in the order in which they were found.
    pub failures: Vec<Failure>,
    /// Problems that did not occur but could, each with an execution that shows the reason.
    pub warnings: Vec<Failure>,
    /// Command that continues the search, if it was interrupted.
    pub resume: Option<String>,
    /// Duration of the check.
    pub elapsed: Duration,
    /// Result of the comparison with plain enumeration, if it was requested.
    pub completeness: Option<Completeness>,
    pub(crate) classes: u64,
    pub(crate) guarantee: Guarantee,
    pub(crate) estimate: Option<Estimate>,
    pub(crate) unseen: Option<Unseen>,
    pub(crate) earlier: Option<Earlier>,
    pub(crate) growth: Vec<ClassGrowth>,
    pub(crate) advice: Option<Advice>,
    pub(crate) coverage: Coverage,
    pub(crate) alone: Option<Alone>,
    pub(crate) gave_up: bool,
    pub(crate) foreign_threads: bool,
    pub(crate) too_long: u64,
    pub(crate) left_polling: u64,
    pub(crate) modelled: Vec<String>,
}

impl Report {
    /// Report of a check before its first execution.
    pub fn new(search: Search) -> Self {
        Report {
            search,
            executions: 0,
            discarded: 0,
            attempts: 0,
            exhausted: false,
            failures: Vec::new(),
            warnings: Vec::new(),
            resume: None,
            elapsed: Duration::ZERO,
            completeness: None,
            classes: 0,
            guarantee: Guarantee::Sampled,
            estimate: None,
            unseen: None,
            earlier: None,
            growth: Vec::new(),
            advice: None,
            coverage: Coverage::default(),
            alone: None,
            gave_up: false,
            foreign_threads: false,
            too_long: 0,
            left_polling: 0,
            modelled: Vec::new(),
        }
    }

    /// Sets the reason why there is only one class, which the summary then mentions.
    pub fn set_alone(&mut self, alone: Alone) {
        self.alone = Some(alone);
    }

    /// Sets whether the search was abandoned because executions are too long.
    pub fn set_gave_up(&mut self, gave_up: bool) {
        self.gave_up = gave_up;
    }

    /// Sets whether threads that the check does not control took part.
    pub fn set_foreign_threads(&mut self, foreign_threads: bool) {
        self.foreign_threads = foreign_threads;
    }

    /// Sets the number of executions that were too long, and of those that ended while threads that
    /// outlive the program still polled.
    pub fn set_cuts(&mut self, too_long: u64, left_polling: u64) {
        (self.too_long, self.left_polling) = (too_long, left_polling);
    }

    /// Returns the number of executions that were cut at the limit of events.
    pub fn too_long(&self) -> u64 {
        self.too_long
    }

    /// Returns the number of executions that ended while threads that outlive the program still polled.
    pub fn left_polling(&self) -> u64 {
        self.left_polling
    }

    /// Sets the libraries whose code did not run, because a model took its place.
    pub fn set_modelled(&mut self, libraries: Vec<String>) {
        self.modelled = libraries;
    }

    /// Returns the libraries whose code did not run, because a model took its place. The guarantee holds
    /// for programs in which these libraries behave as their models do.
    pub fn modelled(&self) -> &[String] {
        &self.modelled
    }

    /// Sets the number of classes and the guarantee.
    pub fn set_classes(&mut self, classes: u64, guarantee: Guarantee) {
        self.classes = classes;
        self.guarantee = guarantee;
    }

    /// Sets the estimated number of classes.
    pub fn set_estimate(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    /// Returns the estimated number of classes.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Sets the probability that a random execution has a new class.
    pub fn set_unseen(&mut self, unseen: Option<Unseen>) {
        self.unseen = unseen;
    }

    /// Returns the probability that a random execution has a class that the check has not run.
    /// `None` if no execution was random. Classes that are improbable under random scheduling
    /// hardly count.
    pub fn unseen(&self) -> Option<Unseen> {
        self.unseen
    }

    /// Sets the coverage.
    pub fn set_coverage(&mut self, coverage: Coverage) {
        self.coverage = coverage;
    }

    /// Returns the coverage; it is empty if it was not measured.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Sets the totals of earlier runs.
    pub fn set_earlier(&mut self, earlier: Earlier) {
        self.earlier = Some(earlier);
    }

    /// Returns the totals of earlier runs, if the check remembers them.
    pub fn earlier(&self) -> Option<&Earlier> {
        self.earlier.as_ref()
    }

    /// Returns the number of classes after 1, 2, 4, 8 and so on executions, and after the last one.
    /// Empty if classes were not compared. With several workers there is only the last point.
    pub fn growth(&self) -> &[ClassGrowth] {
        &self.growth
    }

    /// Returns a forecast of what a longer check would find, for a sampled check without failures.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// Returns the number of classes that were run. For a check that remembers earlier runs and is
    /// not complete, their classes are included.
    pub fn classes(&self) -> u64 {
        self.classes
    }

    /// Returns the guarantee.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// True when no execution has the requested alternative; see
    /// [`Strategy::Directed`](https://docs.rs/raddle/latest/raddle/enum.Strategy.html).
    pub fn impossible(&self) -> bool {
        let mut kinds = self.failures.iter().map(|failure| failure.kind);
        kinds.any(|kind| kind == FailureKind::Impossible)
    }
}
