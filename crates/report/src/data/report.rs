//! What a whole check has found.

use std::time::Duration;

use serde::Serialize;

use crate::data::advice::{Advice, ClassGrowth};
use crate::data::coverage::Coverage;
use crate::data::earlier::Earlier;
use crate::data::estimate::{Estimate, Unseen};
use crate::data::failure::{Failure, FailureKind};
use crate::data::guarantee::{Alone, Completeness, Guarantee};

/// How a check was run; the part of a report that is known beforehand.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Search {
    /// The strategy's name.
    pub strategy: String,
    /// The seed of random choices.
    pub seed: u64,
}

impl Search {
    /// A search with this strategy and seed.
    pub fn new(strategy: impl Into<String>, seed: u64) -> Self {
        Search {
            strategy: strategy.into(),
            seed,
        }
    }
}

/// What a check has found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// How it was run.
    pub search: Search,
    /// How many executions were run, without those that `assume` discarded.
    pub executions: u64,
    /// How many executions `assume` discarded.
    pub discarded: u64,
    /// How many runs were only attempts to do what a future says.
    pub attempts: u64,
    /// Whether every class was run.
    pub exhausted: bool,
    /// What goes wrong, in the order it was found.
    pub failures: Vec<Failure>,
    /// What went well, and may not do so for ever; each with an execution that shows it.
    pub warnings: Vec<Failure>,
    /// What to type to go on with a search that was interrupted before its end.
    pub resume: Option<String>,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether every schedule was run to check the search; `None` if nobody asked for it.
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
}

impl Report {
    /// A report of a check that has run nothing.
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
        }
    }

    /// Notes why there is only one behaviour, as those ask who expected more.
    pub fn set_alone(&mut self, alone: Alone) {
        self.alone = Some(alone);
    }

    /// Notes whether executions are too long for a search.
    pub fn set_gave_up(&mut self, gave_up: bool) {
        self.gave_up = gave_up;
    }

    /// Fills in how far the check went.
    pub fn set_classes(&mut self, classes: u64, guarantee: Guarantee) {
        self.classes = classes;
        self.guarantee = guarantee;
    }

    /// Fills in how many classes there are.
    pub fn set_estimate(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    /// How many classes there are, if that was estimated.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Fills in how likely a random execution is one that was not run.
    pub fn set_unseen(&mut self, unseen: Option<Unseen>) {
        self.unseen = unseen;
    }

    /// How likely a random execution is of a class that the check has not run, if some of its
    /// executions were random. Behaviours that are rare at random are hardly seen in it.
    pub fn unseen(&self) -> Option<Unseen> {
        self.unseen
    }

    /// Fills in what was covered.
    pub fn set_coverage(&mut self, coverage: Coverage) {
        self.coverage = coverage;
    }

    /// What was covered; nothing if that was not measured.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Fills in what earlier runs have done.
    pub fn set_earlier(&mut self, earlier: Earlier) {
        self.earlier = Some(earlier);
    }

    /// What earlier runs of the check have done, if it remembers any.
    pub fn earlier(&self) -> Option<&Earlier> {
        self.earlier.as_ref()
    }

    /// How many classes there were after 1, 2, 4, 8 and so on executions, and after the last; nothing if
    /// they were not compared. With several workers only the last.
    pub fn growth(&self) -> &[ClassGrowth] {
        &self.growth
    }

    /// Whether a longer check would find more, if it has run some behaviours and nothing is wrong.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// How many different executions, as partial orders, were run; with those that earlier runs have
    /// run, if the check remembers them and has not run everything.
    pub fn classes(&self) -> u64 {
        self.classes
    }

    /// What the check can promise.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Whether no execution does what the future says that was asked for; see
    /// [`Strategy::Directed`](https://docs.rs/raddle/latest/raddle/enum.Strategy.html).
    pub fn impossible(&self) -> bool {
        let mut kinds = self.failures.iter().map(|failure| failure.kind);
        kinds.any(|kind| kind == FailureKind::Impossible)
    }
}
