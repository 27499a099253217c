//! One worker's exploration: run, check, ask for the next. It is told when to stop.

use crate::analysis::check::{self, Finding};
use crate::analysis::classes::{Classes, Novelty, Unseen};
use crate::analysis::outlook::Growth;
use crate::base::ids::SiteId;
use crate::memory::Model;
use crate::model::ending::Ending;
use crate::model::estimate::Estimate;
use crate::model::execution::Execution;
use crate::strategy::World;
use crate::world::State;
use crate::world::strategy::{Bound, Strategy};

/// What one execution may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events in one execution.
    pub max_events: usize,
    /// What threads may see of each other's writes.
    pub memory: Model,
    /// Whether executions that differ only in how stores follow each other count as one class.
    pub reads_from: bool,
}

/// The state of one worker between executions.
pub struct Exploration {
    world: World,
    limits: Limits,
    executions: u64,
    discarded: u64,
    attempts: u64,
    /// Whether the last execution was of a class that was run before, and does not count.
    known: bool,
    /// Whether some execution did not come to its end, so that what follows it is not known.
    cut_short: bool,
    /// Whether the last execution was only an attempt.
    retried: bool,
    /// Whether the last execution was for an estimate.
    sampled: bool,
    /// Whether a search was given up.
    gave_up: bool,
    counts_itself: bool,
    /// How many classes there were when others began to be run again.
    counted: Option<u64>,
    seen: Classes,
}

/// What an exploration has counted, so that others can add it to their own.
#[derive(Debug, Default)]
#[must_use]
pub struct Tally {
    /// Executions that were run, without those that the program discarded.
    pub executions: u64,
    /// Executions that the program discarded.
    pub discarded: u64,
    /// Whether some execution did not come to its end, so that what follows it is not known.
    pub cut_short: bool,
    gave_up: bool,
    seen: Classes,
}

impl Tally {
    /// So much was counted, and no classes compared.
    pub fn new(executions: u64, discarded: u64, cut_short: bool) -> Self {
        Tally {
            executions,
            discarded,
            cut_short,
            gave_up: false,
            seen: Classes::default(),
        }
    }
}

impl Exploration {
    /// An exploration that has run nothing yet.
    pub fn new(strategy: Box<dyn Strategy>, limits: Limits) -> Self {
        Exploration {
            counts_itself: strategy.never_repeats() && !limits.reads_from,
            world: World::new(strategy, limits.max_events).under(limits.memory),
            limits,
            executions: 0,
            discarded: 0,
            attempts: 0,
            known: false,
            cut_short: false,
            retried: false,
            counted: None,
            sampled: false,
            gave_up: false,
            seen: Classes::default(),
        }
    }

    /// Counts classes by comparing executions, because another strategy will follow.
    pub fn compare_classes(&mut self) {
        self.counts_itself = false;
    }

    /// From now on classes may be run again: unless executions are compared, none is new.
    pub fn expect_repetitions(&mut self) {
        self.counted = Some(self.classes());
    }

    /// Whether classes are counted by comparing executions.
    pub fn compares_classes(&self) -> bool {
        !self.counts_itself
    }

    /// What has been counted so far, without the classes that were compared.
    pub fn counted(&self) -> Tally {
        Tally::new(self.executions, self.discarded, self.cut_short)
    }

    /// All that has been counted.
    pub fn into_tally(self) -> Tally {
        Tally {
            seen: self.seen,
            executions: self.executions,
            discarded: self.discarded,
            cut_short: self.cut_short,
            gave_up: self.gave_up,
        }
    }

    /// Adds what another exploration of the same program has counted.
    pub fn absorb(&mut self, tally: Tally) {
        self.executions += tally.executions;
        self.discarded += tally.discarded;
        self.cut_short |= tally.cut_short;
        self.gave_up |= tally.gave_up;
        self.seen.absorb(tally.seen);
    }

    /// The world to run the program in.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// Starts the next execution; `false` when the strategy has none left.
    pub fn begin(&mut self, site: SiteId) -> bool {
        self.world.begin(site)
    }

    /// Takes stock of the execution that has just stopped and says what is wrong with it.
    pub fn finish(&mut self) -> Option<Finding> {
        self.world.finish();
        self.retried = self.world.strategy().retries();
        self.sampled = self.world.strategy().samples();
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
            let drawn = self.world.strategy().draws();
            let class = match self.limits.reads_from {
                true => execution.reads_from_fingerprint(),
                false => execution.fingerprint(),
            };
            let novelty = self.seen.note(class, drawn);
            // What an earlier run has run is no news, but the program may have changed since.
            self.known = novelty == Novelty::Known && self.world.strategy().skips_known();
            if self.known {
                return None;
            }
        }
        let mut finding = check::check(execution, ending, self.world.most_events());
        let gave_up = self.world.strategy().gave_up();
        self.gave_up |= gave_up;
        self.cut_short |= gave_up;
        if gave_up && matches!(finding, Some(Finding::TooManyEvents { .. })) {
            finding = None;
        }
        if self.sampled {
            return finding;
        }
        match ending {
            Ending::Discarded => self.discarded += 1,
            Ending::Complete | Ending::Deadlock | Ending::Livelock => self.executions += 1,
            Ending::TooManyEvents
            | Ending::StackOverflow(_)
            | Ending::MemoryError
            | Ending::Diverged(_) => {
                self.executions += 1;
                self.cut_short = true;
            }
        }
        finding
    }

    /// What strategies see.
    pub fn state(&self) -> &State {
        self.world.state()
    }

    /// Whether the execution that has just stopped was only an attempt of the strategy's, which does
    /// not count.
    pub fn retried(&self) -> bool {
        self.retried
    }

    /// Whether the execution that has just stopped was for an estimate, and does not count.
    pub fn sampled(&self) -> bool {
        self.sampled
    }

    /// Whether a search was given up because its executions are too long for it.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// How many classes there are, if the strategy knows roughly.
    pub fn estimate(&self) -> Option<Estimate> {
        self.world.strategy().estimate()
    }

    /// How the execution that has just stopped ended.
    pub fn ending(&self) -> &Ending {
        self.world
            .ending()
            .expect("raddle: asked before the execution stopped")
    }

    /// The execution that has just stopped.
    pub fn execution(&self) -> &Execution {
        self.world.state().execution()
    }

    /// How many executions were run, without those that the program discarded.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// How many executions the program discarded.
    pub fn discarded(&self) -> u64 {
        self.discarded
    }

    /// How many executions were only attempts of the strategy's, which count nowhere.
    pub fn attempts(&self) -> u64 {
        self.attempts
    }

    /// Whether the execution that has just stopped does not count because its class was run before.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// The bound within which everything has been run, if that is not everything.
    pub fn bounded(&self) -> Option<Bound> {
        let bound = self.world.strategy().bounded();
        bound.filter(|_| !self.cut_short)
    }

    /// How many different classes were run.
    pub fn classes(&self) -> u64 {
        if self.counts_itself {
            self.counted.unwrap_or(self.executions)
        } else {
            self.seen.count()
        }
    }

    /// Earlier runs of the program have run these classes: they are counted, and not new. Compares
    /// executions from now on, and keeps new classes for [`Exploration::take_new_classes`].
    pub fn remember(&mut self, classes: &[u64]) {
        self.counts_itself = false;
        self.seen.remember(classes);
    }

    /// The classes that no run had run before, since this was last asked; nothing unless there was
    /// something to remember.
    pub fn take_new_classes(&mut self) -> Vec<u64> {
        self.seen.take_fresh()
    }

    /// How many different classes were run without what earlier runs have run.
    pub fn classes_run(&self) -> u64 {
        match self.counts_itself {
            true => self.classes(),
            false => self.seen.count_run(),
        }
    }

    /// How many classes there were after 1, 2, 4, 8 and so on executions that were compared, and after
    /// the last; nothing if none were.
    pub fn growth(&self) -> Vec<Growth> {
        match self.counts_itself {
            true => Vec::new(),
            false => self.seen.growth(),
        }
    }

    /// How likely a random execution is of a class that was not run; known if some were random.
    pub fn unseen(&self) -> Option<Unseen> {
        self.seen.unseen()
    }

    /// Whether every class of the program has been run.
    pub fn exhausted(&self) -> bool {
        self.world.strategy().exhausted() && !self.cut_short
    }
}
