//! The report of a check.

use std::time::Duration;

use serde::Serialize;

use crate::data::advice::{Advice, ClassGrowth};
use crate::data::branches::Branches;
use crate::data::coverage::Coverage;
use crate::data::earlier::Earlier;
use crate::data::estimate::{Estimate, Unseen};
use crate::data::failure::{Failure, FailureKind};
use crate::data::guarantee::{Alone, Completeness, Guarantee};
use crate::data::limit::SearchLimit;
use crate::data::properties::PropertyResult;
use crate::data::reached::ReachedStates;

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
    /// Creates a search with this strategy and seed.
    pub fn new(strategy: impl Into<String>, seed: u64) -> Self {
        Search {
            strategy: strategy.into(),
            seed,
        }
    }
}

/// Extent of a total replay: a check that runs only the classes that are consistent with a partial trace of a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Consistency {
    /// True when every consistent class was run; a failure usually ends the check before.
    pub is_complete: bool,
}

/// Result of a check.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Settings of the search.
    pub search: Search,
    /// Number of executions, without discarded ones.
    pub executions: u64,
    /// Number of executions that `assume` discarded, and of those in which a loop that waits would have
    /// looked in vain once more.
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
    pub(crate) classes_are_estimated: bool,
    pub(crate) guarantee: Guarantee,
    pub(crate) estimate: Option<Estimate>,
    pub(crate) unseen: Option<Unseen>,
    pub(crate) earlier: Option<Earlier>,
    pub(crate) growth: Vec<ClassGrowth>,
    pub(crate) advice: Option<Advice>,
    pub(crate) coverage: Coverage,
    pub(crate) branches: Branches,
    pub(crate) consistency: Option<Consistency>,
    pub(crate) alone: Option<Alone>,
    pub(crate) gave_up: bool,
    pub(crate) foreign_threads: bool,
    pub(crate) shared_locals: Vec<String>,
    pub(crate) unclear_locals: Vec<String>,
    pub(crate) left_out: Option<String>,
    pub(crate) too_long: u64,
    pub(crate) left_polling: u64,
    pub(crate) out_of_time: u64,
    pub(crate) runs: u64,
    pub(crate) limit: Option<SearchLimit>,
    pub(crate) modelled: Vec<String>,
    pub(crate) required: Option<Guarantee>,
    pub(crate) reached: ReachedStates,
    pub(crate) properties: Vec<PropertyResult>,
    /// Name of the check, for the line with its result.
    #[serde(skip)]
    pub(crate) check: Option<String>,
}

impl Report {
    /// Creates the report of a check before its first execution.
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
            classes_are_estimated: false,
            guarantee: Guarantee::Sampled,
            estimate: None,
            unseen: None,
            earlier: None,
            growth: Vec::new(),
            advice: None,
            coverage: Coverage::default(),
            branches: Branches::default(),
            consistency: None,
            alone: None,
            gave_up: false,
            foreign_threads: false,
            shared_locals: Vec::new(),
            unclear_locals: Vec::new(),
            left_out: None,
            too_long: 0,
            left_polling: 0,
            out_of_time: 0,
            runs: 0,
            limit: None,
            modelled: Vec::new(),
            required: None,
            reached: ReachedStates::default(),
            properties: Vec::new(),
            check: None,
        }
    }

    /// Sets the reason why there is only one class, which the summary then mentions.
    pub fn set_alone(&mut self, alone: Alone) {
        self.alone = Some(alone);
    }

    /// Records if the search was abandoned because executions are too long.
    pub fn set_gave_up(&mut self, gave_up: bool) {
        self.gave_up = gave_up;
    }

    /// Records if threads that the check does not control took part.
    pub fn set_foreign_threads(&mut self, foreign_threads: bool) {
        self.foreign_threads = foreign_threads;
    }

    /// Sets the reason why executions may leave out behaviours of the program, if there is one.
    pub fn set_left_out(&mut self, reason: Option<String>) {
        self.left_out = reason;
    }

    /// Sets the names of std's thread-locals that the threads of the check share, and of those that they may
    /// share.
    pub fn set_shared_locals(&mut self, names: Vec<String>, unclear: Vec<String>) {
        self.shared_locals = names;
        self.unclear_locals = unclear;
    }

    /// Returns the names of std's thread-locals that are changed and that several threads of the check use. All
    /// of them share one value, where threads of the program have their own.
    pub fn shared_locals(&self) -> &[String] {
        &self.shared_locals
    }

    /// Returns the names of std's thread-locals that are changed and that several threads of the check may use:
    /// not all uses were seen. Empty unless the search would be complete otherwise.
    pub fn unclear_locals(&self) -> &[String] {
        &self.unclear_locals
    }

    /// Sets the number of executions that were too long, of those that ended while threads that
    /// outlive the program still polled, and of those that had not ended when the time was over.
    pub fn set_cuts(&mut self, too_long: u64, left_polling: u64, out_of_time: u64) {
        (self.too_long, self.left_polling) = (too_long, left_polling);
        self.out_of_time = out_of_time;
    }

    /// Returns the number of executions that had not ended when the time was over, and were cut.
    pub fn out_of_time(&self) -> u64 {
        self.out_of_time
    }

    /// Sets the number of all runs of the program.
    pub fn set_runs(&mut self, runs: u64) {
        self.runs = runs;
    }

    /// Returns the number of all runs of the program that the search has made: [`executions`](Self::executions),
    /// discarded ones, attempts, runs for estimates, repetitions of known classes, replays of schedules that
    /// failed earlier, and runs before the search began again. `max_executions` limits this number.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Sets the limit that ended the search.
    pub fn set_limit(&mut self, limit: Option<SearchLimit>) {
        self.limit = limit;
    }

    /// Returns the limit that ended the search; `None` if it ended by itself or with a failure.
    pub fn limit(&self) -> Option<&SearchLimit> {
        self.limit.as_ref()
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

    /// Sets the marked states of the program.
    pub fn set_reached(&mut self, reached: ReachedStates) {
        self.reached = reached;
    }

    /// Returns the states that the program marks with `raddle::reachable!` and `raddle::sometimes!`, and the numbers of
    /// executions that reached them. A state whose place no execution came to is not listed.
    pub fn reached(&self) -> &ReachedStates {
        &self.reached
    }

    /// Sets the results of the properties.
    pub fn set_properties(&mut self, properties: Vec<PropertyResult>) {
        self.properties = properties;
    }

    /// Returns the results of the [properties](https://docs.rs/raddle/latest/raddle/struct.Property.html) of the check, in
    /// the order in which they were given.
    pub fn properties(&self) -> &[PropertyResult] {
        &self.properties
    }

    /// Sets the name of the check, which the line of [`assert_ok`](Self::assert_ok) begins with.
    pub fn set_check(&mut self, name: Option<String>) {
        self.check = name;
    }

    /// Returns the required guarantee, if the check has a requirement.
    pub fn required(&self) -> Option<Guarantee> {
        self.required
    }

    /// Sets the number of classes and the guarantee.
    pub fn set_classes(&mut self, classes: u64, guarantee: Guarantee) {
        self.classes = classes;
        self.guarantee = guarantee;
    }

    /// Records if the number of classes that were run is an estimate, because they were too many to be compared.
    pub fn set_estimated_classes(&mut self, are_estimated: bool) {
        self.classes_are_estimated = are_estimated;
    }

    /// True when [`classes`](Self::classes) is an estimate with a standard error of 1.6 %: machines that share a
    /// sampling check have run too many classes to be compared.
    pub fn classes_are_estimated(&self) -> bool {
        self.classes_are_estimated
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

    /// Sets the branches that interleaving decides.
    pub fn set_branches(&mut self, branches: Branches) {
        self.branches = branches;
    }

    /// Returns the branches that interleaving decides; none if they were not recorded.
    pub fn branches(&self) -> &Branches {
        &self.branches
    }

    /// Records that only classes that are consistent with a partial trace were run, and if these are all of them.
    pub fn set_consistency(&mut self, is_complete: bool) {
        self.consistency = Some(Consistency { is_complete });
    }

    /// Returns the extent of a total replay; `None` for any other check.
    pub fn consistency(&self) -> Option<Consistency> {
        self.consistency
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

    /// Returns a forecast for a longer check, for a sampled check without failures.
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
