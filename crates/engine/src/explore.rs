//! The exploration of one worker: runs, checks, and asks the strategy for the next execution.

use crate::analysis::behaviour::judge::{self, Properties};
use crate::analysis::check::{self, Finding};
use crate::analysis::classes::{Classes, Novelty, Unseen};
use crate::analysis::outlook::Growth;
use crate::base::ids::SiteId;
use crate::memory::Model;
use crate::model::ending::Ending;
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;
use crate::strategy::{Dispatcher, World};
use crate::world::strategy::{Bound, Dispatch, Extent, KnownClass, Randomness};
use crate::world::{Policy, State};

/// Limits of one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of events in one execution.
    pub max_events: usize,
    /// Memory model.
    pub memory: Model,
    /// Explored choices of the environment.
    pub policy: Policy,
    /// True when executions that differ only in coherence count as one class.
    pub reads_from: bool,
}

/// Numbers of executions that were not run to their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CutCounts {
    /// Executions with more events than allowed.
    pub too_long: u64,
    /// Executions of a search that were stopped after the end of the program, because its other
    /// threads only polled.
    pub left_polling: u64,
    /// Those that had not ended when the time was over.
    pub out_of_time: u64,
}

impl CutCounts {
    /// Returns the sums of both.
    #[must_use]
    pub fn and(self, other: CutCounts) -> CutCounts {
        CutCounts {
            too_long: self.too_long + other.too_long,
            left_polling: self.left_polling + other.left_polling,
            out_of_time: self.out_of_time + other.out_of_time,
        }
    }
}

/// State of one worker between executions.
pub struct Exploration {
    world: World,
    limits: Limits,
    /// Number of all runs of the program, whatever they count for.
    runs: u64,
    executions: u64,
    discarded: u64,
    attempts: u64,
    /// True when the last execution repeats a known class and does not count.
    known: bool,
    /// True when some execution was cut short, so that the behaviour behind it is unknown.
    cut_short: bool,
    cuts: CutCounts,
    /// True when the last execution was only an attempt.
    retried: bool,
    /// True when the last execution was for an estimate.
    sampled: bool,
    /// True when a search was given up.
    gave_up: bool,
    counts_itself: bool,
    /// The largest bound within which an earlier strategy has run all classes.
    reached: Option<Bound>,
    /// Number of classes when repetitions began to be expected.
    counted: Option<u64>,
    seen: Classes,
    properties: Option<Properties>,
}

/// The counts of an exploration, to be added to those of another.
#[derive(Debug, Default)]
#[must_use]
pub struct Tally {
    /// All runs of the program, whatever they count for.
    pub runs: u64,
    /// Executions, without those that the program discarded.
    pub executions: u64,
    /// Executions that the program discarded.
    pub discarded: u64,
    /// True when some execution was cut short, so that the behaviour behind it is unknown.
    pub cut_short: bool,
    /// Numbers of executions that were cut short for a reason that reports name.
    pub cuts: CutCounts,
    gave_up: bool,
    seen: Classes,
}

impl Tally {
    /// Creates a tally without compared classes.
    pub fn new(
        runs: u64,
        executions: u64,
        discarded: u64,
        cut_short: bool,
        cuts: CutCounts,
    ) -> Self {
        Tally {
            runs,
            executions,
            discarded,
            cut_short,
            cuts,
            gave_up: false,
            seen: Classes::default(),
        }
    }
}

impl Exploration {
    /// Creates an exploration that has run nothing.
    pub fn new(strategy: impl Into<Dispatcher>, limits: Limits) -> Self {
        let strategy = strategy.into();
        let capabilities = strategy.strategy().capabilities();
        Exploration {
            counts_itself: capabilities.known_class == KnownClass::NeverOccurs
                && !limits.reads_from,
            world: World::new(strategy, limits.max_events)
                .under(limits.memory)
                .with_policy(limits.policy)
                .judging_blocked_threads(check::is_blocked_for_ever),
            limits,
            runs: 0,
            executions: 0,
            discarded: 0,
            attempts: 0,
            known: false,
            cut_short: false,
            cuts: CutCounts::default(),
            retried: false,
            reached: None,
            counted: None,
            sampled: false,
            gave_up: false,
            seen: Classes::default(),
            properties: None,
        }
    }

    /// Sets properties that every execution must fulfil.
    pub fn set_properties(&mut self, properties: Properties) {
        self.properties = Some(properties);
    }

    /// Counts classes by comparing fingerprints, because another strategy will follow.
    pub fn compare_classes(&mut self) {
        self.counts_itself = false;
    }

    /// Expects repetitions from now on: unless fingerprints are compared, no execution counts as
    /// new.
    pub fn expect_repetitions(&mut self) {
        self.counted = Some(self.classes());
    }

    /// True when classes are counted by comparing fingerprints.
    pub fn compares_classes(&self) -> bool {
        !self.counts_itself
    }

    /// Returns the counts so far, without the compared classes.
    pub fn counted(&self) -> Tally {
        Tally::new(
            self.runs,
            self.executions,
            self.discarded,
            self.cut_short,
            self.cuts,
        )
    }

    /// Returns all counts.
    pub fn into_tally(self) -> Tally {
        Tally {
            seen: self.seen,
            runs: self.runs,
            executions: self.executions,
            discarded: self.discarded,
            cut_short: self.cut_short,
            cuts: self.cuts,
            gave_up: self.gave_up,
        }
    }

    /// Adds the counts of another exploration of the same program.
    pub fn absorb(&mut self, tally: Tally) {
        self.runs += tally.runs;
        self.executions += tally.executions;
        self.discarded += tally.discarded;
        self.cut_short |= tally.cut_short;
        self.cuts = self.cuts.and(tally.cuts);
        self.gave_up |= tally.gave_up;
        self.seen.absorb(tally.seen);
    }

    /// Returns the world to run the program in.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Starts the next execution; returns `false` when the strategy has none left.
    pub fn begin(&mut self, site: SiteId) -> bool {
        self.world.begin(site)
    }

    /// Starts the execution that has just stopped from its first event again, as a further run.
    #[cold]
    pub fn begin_again(&mut self, site: SiteId) {
        self.runs += 1;
        self.world.begin_again(site);
    }

    /// Evaluates the execution that has just stopped; returns its failure, in a box because most
    /// executions have none.
    pub fn finish(&mut self) -> Option<Box<Finding>> {
        self.world.finish();
        self.runs += 1;
        let progress = self.world.strategy().progress();
        self.retried = progress.is_attempt;
        self.sampled = progress.is_sample;
        self.known = false;
        if self.retried {
            self.attempts += u64::from(!self.sampled);
            return None;
        }
        let (execution, ending) = self.world.finished();
        let is_whole = matches!(
            ending,
            Ending::Complete | Ending::Deadlock | Ending::Livelock
        );
        if is_whole && !self.sampled && !self.counts_itself {
            let capabilities = self.world.capabilities();
            let drawn = capabilities.randomness == Randomness::Independent;
            let class = match self.limits.reads_from {
                true => execution.reads_from_fingerprint(),
                false => execution.fingerprint(),
            };
            let novelty = self.seen.note(class, drawn);
            // A class run by an earlier process is not new, but the program may have changed since.
            self.known =
                novelty == Novelty::Known && capabilities.known_class == KnownClass::IsAttempt;
            if self.known {
                return None;
            }
        }
        let mut finding = check::check(execution, ending, self.world.most_events()).map(Box::new);
        if let Some(properties) = &self.properties
            && finding.is_none()
            && !matches!(ending, Ending::Discarded)
        {
            let violation = judge::of_run(execution, ending, properties);
            finding = violation.map(|violation| Box::new(Finding::Property(violation)));
        }
        self.gave_up |= progress.gave_up;
        self.cut_short |= progress.gave_up;
        if progress.gave_up && matches!(finding.as_deref(), Some(Finding::TooManyEvents { .. })) {
            finding = None;
        }
        if self.sampled {
            return finding;
        }
        match ending {
            Ending::Discarded => self.discarded += 1,
            Ending::Complete | Ending::Deadlock | Ending::Livelock => {
                self.executions += 1;
                // A search stops threads that only poll before the maximum number of events.
                let randomness = self.world.capabilities().randomness;
                let is_left = execution.left_polling && randomness == Randomness::None;
                self.cut_short |= is_left || execution.polls.is_some();
                self.cuts.left_polling += u64::from(is_left);
            }
            Ending::TooManyEvents => {
                self.executions += 1;
                self.cut_short = true;
                self.cuts.too_long += 1;
            }
            Ending::OutOfTime => {
                self.executions += 1;
                self.cut_short = true;
                self.cuts.out_of_time += 1;
            }
            Ending::StackOverflow(_)
            | Ending::MemoryError
            | Ending::Interfered
            | Ending::Diverged(_) => {
                self.executions += 1;
                self.cut_short = true;
            }
        }
        finding
    }

    /// Returns the state that strategies read.
    pub fn state(&self) -> &State {
        self.world.state()
    }

    /// True when the execution that has just stopped was only an attempt of the strategy and does
    /// not count.
    pub fn retried(&self) -> bool {
        self.retried
    }

    /// True when the execution that has just stopped was for an estimate and does not count.
    pub fn sampled(&self) -> bool {
        self.sampled
    }

    /// True when a search was given up because its executions are too long, or need too much memory.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Returns the estimated number of classes, if the strategy has an estimate.
    pub fn estimate(&self) -> Option<Estimate> {
        self.world.strategy().progress().estimate
    }

    /// Returns the ending of the execution that has just stopped.
    pub fn ending(&self) -> &Ending {
        self.world
            .ending()
            .expect("raddle: asked before the execution stopped")
    }

    /// Returns the execution that has just stopped.
    pub fn execution(&self) -> &Execution {
        self.world.state().execution()
    }

    /// Returns the number of all runs of the program: executions, those that it discarded, attempts,
    /// samples of an estimate and repetitions of known classes.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Adds runs that count for nothing else, such as those of an earlier search.
    pub fn add_runs(&mut self, runs: u64) {
        self.runs += runs;
    }

    /// Returns the number of executions, without those that the program discarded.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Returns the number of executions that the program discarded.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// Returns the numbers of executions that were cut short for a reason that reports name.
    pub fn cuts(&self) -> CutCounts {
        self.cuts
    }

    /// Records that behaviours are unknown: the front end has refused an operation of the program, or what the program
    /// declares is wrong.
    pub fn note_refusal(&mut self) {
        self.cut_short = true;
    }

    /// Returns the number of executions that were only attempts of the strategy and do not count.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// True when the execution that has just stopped repeats a known class and does not count.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// Returns the bound within which all classes have been run, if there are classes beyond it.
    pub fn bounded(&self) -> Option<Bound> {
        match self.world.strategy().progress().extent {
            Extent::Within(bound) if !self.cut_short => Some(bound),
            _ => self.reached,
        }
    }

    /// Keeps the bound within which the strategy has run all classes, because another one follows.
    pub fn keep_bound(&mut self) {
        self.reached = self.bounded();
    }

    /// Returns the number of different classes run.
    pub fn classes(&self) -> u64 {
        if self.counts_itself {
            self.counted.unwrap_or(self.executions)
        } else {
            self.seen.count()
        }
    }

    /// Adds classes run by earlier processes: they are counted, and not new. Compares fingerprints
    /// from now on, and keeps new classes for [`Exploration::take_new_classes`].
    pub fn remember(&mut self, classes: &[u64]) {
        self.counts_itself = false;
        self.seen.remember(classes);
    }

    /// Returns the new classes since the last call; empty unless [`Exploration::remember`] was
    /// called.
    pub fn take_new_classes(&mut self) -> Vec<u64> {
        self.seen.take_fresh()
    }

    /// Returns the number of different classes run by this process.
    pub fn classes_run(&self) -> u64 {
        match self.counts_itself {
            true => self.classes(),
            false => self.seen.count_run(),
        }
    }

    /// Returns the number of classes after 1, 2, 4, 8 and so on compared executions, and after the
    /// last; empty if none were compared.
    pub fn growth(&self) -> Vec<Growth> {
        match self.counts_itself {
            true => Vec::new(),
            false => self.seen.growth(),
        }
    }

    /// Estimates the probability that a random execution is of a class that was not run; `None`
    /// without random executions.
    pub fn unseen(&self) -> Option<Unseen> {
        self.seen.unseen()
    }

    /// True when every class of the program has been run.
    pub fn exhausted(&self) -> bool {
        self.world.strategy().progress().extent == Extent::All && !self.cut_short
    }
}
