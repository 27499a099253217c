//! What a check does one after the other, and how long each part may take.

use std::time::{Duration, Instant};

use raddle_engine::strategy;

use crate::checker::{Checker, Strategy};

const DEFAULT_EXECUTIONS: u64 = 100_000;
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// So many runs are for an estimate that was asked for.
const ESTIMATE_EXECUTIONS: u64 = 4_000;

/// One strategy with its share of the budget.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// Until the phase begins.
    strategy: Option<Box<dyn raddle_engine::Strategy>>,
    pub(crate) budget: Budget,
    pub(crate) helpers: Helpers,
}

impl Phase {
    /// The strategy of the check's own worker, for the beginning of the phase.
    pub(crate) fn take_strategy(&mut self) -> Box<dyn raddle_engine::Strategy> {
        let strategy = self.strategy.take();
        strategy.expect("a phase begins once")
    }
}

fn boxed(
    strategy: impl raddle_engine::Strategy + 'static,
) -> Option<Box<dyn raddle_engine::Strategy>> {
    Some(Box::new(strategy))
}

/// What other workers do in a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Helpers {
    /// There are none.
    Nobody,
    /// Take over parts of an exhaustive search.
    Share,
    /// Make random choices of their own.
    Sample,
}

pub(crate) struct Budget {
    pub(crate) executions: u64,
    pub(crate) until: Option<Instant>,
    pub(crate) patience: Patience,
}

/// What ends a phase besides its budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// Nothing.
    Whole,
    /// That there is an estimate of the number of classes.
    UntilEstimate,
}

pub(crate) fn phases(checker: &Checker, start: Instant) -> Vec<Phase> {
    let executions = checker.max_executions;
    let time = checker.max_time;
    let sampling = || Budget {
        executions: executions.unwrap_or(DEFAULT_EXECUTIONS),
        until: Some(start + time.unwrap_or(DEFAULT_TIME)),
        patience: Patience::Whole,
    };
    let ending = || Budget {
        executions: executions.unwrap_or(u64::MAX),
        until: time.map(|time| start + time),
        patience: Patience::Whole,
    };
    let search = || {
        let search = strategy::Exhaustive::reduced(checker.reductions);
        match checker.preemptions {
            Some(preemptions) => search.bounded(preemptions),
            None => search,
        }
    };
    let exhaustive = || boxed(search());
    let random = || boxed(strategy::Random::new(checker.seed));
    match &checker.strategy {
        Strategy::Auto => {
            let whole = sampling();
            let half = Budget {
                executions: whole.executions.div_ceil(2),
                until: Some(start + time.unwrap_or(DEFAULT_TIME) / 2),
                patience: Patience::Whole,
            };
            vec![
                Phase {
                    name: "exhaustive",
                    strategy: exhaustive(),
                    budget: half,
                    helpers: Helpers::Share,
                },
                Phase {
                    name: "random",
                    strategy: random(),
                    budget: whole,
                    helpers: Helpers::Sample,
                },
            ]
        }
        Strategy::Exhaustive if checker.only_estimate => {
            let sampling = strategy::Sampling {
                seed: checker.seed,
                after: 0,
                runs: executions.unwrap_or(ESTIMATE_EXECUTIONS),
            };
            vec![Phase {
                name: "exhaustive",
                strategy: boxed(search().sampling(sampling)),
                budget: Budget {
                    patience: Patience::UntilEstimate,
                    ..ending()
                },
                helpers: Helpers::Nobody,
            }]
        }
        Strategy::Exhaustive => {
            vec![Phase {
                name: "exhaustive",
                strategy: exhaustive(),
                budget: ending(),
                helpers: Helpers::Share,
            }]
        }
        Strategy::Random => {
            vec![Phase {
                name: "random",
                strategy: random(),
                budget: sampling(),
                helpers: Helpers::Sample,
            }]
        }
        Strategy::Enumerate => {
            let strategy = boxed(match checker.preemptions {
                Some(preemptions) => strategy::Enumerate::bounded(preemptions),
                None => strategy::Enumerate::new(),
            });
            vec![Phase {
                name: "enumerate",
                strategy,
                budget: ending(),
                helpers: Helpers::Nobody,
            }]
        }
        Strategy::EnumeratePrivateFirst => {
            let strategy = boxed(strategy::Enumerate::private_first());
            vec![Phase {
                name: "enumerate",
                strategy,
                budget: ending(),
                helpers: Helpers::Nobody,
            }]
        }
        Strategy::Replay(schedule) => {
            let strategy = boxed(strategy::Replay::new(schedule.clone()));
            vec![Phase {
                name: "replay",
                strategy,
                budget: ending(),
                helpers: Helpers::Nobody,
            }]
        }
    }
}

/// Looks at the time seldom enough not to cost anything, and often enough to be right within a
/// few milliseconds.
pub(crate) struct Clock {
    every: u32,
    left: u32,
    last: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Clock {
            every: 1,
            left: 1,
            last: Instant::now(),
        }
    }

    pub(crate) fn is_past(&mut self, until: Option<Instant>) -> bool {
        let Some(until) = until else { return false };
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        let now = Instant::now();
        let took = now - self.last;
        self.last = now;
        if took < Duration::from_millis(1) {
            self.every = (self.every * 2).min(1 << 16);
        } else if took > Duration::from_millis(4) {
            self.every = (self.every / 2).max(1);
        }
        self.left = self.every;
        now >= until
    }
}
