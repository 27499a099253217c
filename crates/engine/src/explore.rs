//! One worker's exploration: run, check, ask for the next. It is told when to stop.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::check::{self, Finding};
use crate::event::SiteId;
use crate::execution::Execution;
use crate::memory::Model;
use crate::strategy::Strategy;
use crate::world::{Ending, State, World};

/// What one execution may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Events in one execution.
    pub max_events: usize,
    /// What threads may see of each other's writes.
    pub memory: Model,
}

/// Past this many, distinct classes are no longer told apart: the count stays there. It bounds the
/// memory of a long random search to some tens of megabytes.
pub const MAX_COUNTED_CLASSES: usize = 1 << 21;

/// The state of one worker between executions.
pub struct Exploration {
    world: World,
    limits: Limits,
    executions: u64,
    discarded: u64,
    /// Whether some execution did not come to its end, so that what follows it is not known.
    cut_short: bool,
    /// Whether the last execution was only an attempt.
    retried: bool,
    counts_itself: bool,
    seen: HashSet<u64, BuildHasherDefault<AlreadyHashed>>,
}

impl Exploration {
    /// An exploration that has run nothing yet.
    pub fn new(strategy: Box<dyn Strategy>, limits: Limits) -> Self {
        Exploration {
            counts_itself: strategy.never_repeats(),
            world: World::new(strategy, limits.max_events).under(limits.memory),
            limits,
            executions: 0,
            discarded: 0,
            cut_short: false,
            retried: false,
            seen: HashSet::default(),
        }
    }

    /// Counts classes by comparing executions, because another strategy will follow.
    pub fn compare_classes(&mut self) {
        self.counts_itself = false;
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
        if self.retried {
            return None;
        }
        let (execution, ending) = self.world.finished();
        let finding = check::check(execution, ending, self.limits.max_events);
        match ending {
            Ending::Discarded => self.discarded += 1,
            Ending::Complete | Ending::Deadlock => {
                self.executions += 1;
                if !self.counts_itself && self.seen.len() < MAX_COUNTED_CLASSES {
                    self.seen.insert(execution.fingerprint());
                }
            }
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

    /// How many different classes were run.
    pub fn classes(&self) -> u64 {
        if self.counts_itself {
            self.executions
        } else {
            self.seen.len() as u64
        }
    }

    /// Whether every class of the program has been run.
    pub fn exhausted(&self) -> bool {
        self.world.strategy().exhausted() && !self.cut_short
    }
}

/// Fingerprints are spread over all bits already.
#[derive(Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only u64 keys are hashed");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}
