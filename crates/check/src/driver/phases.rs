//! What a check does one after the other, and how long each part may take.

use std::time::{Duration, Instant};

use raddle_engine::strategy;

use crate::driver::status;
use crate::settings::checker::{Checker, MAX_EVENTS_OF_A_SEARCH};
use crate::settings::options::Strategy;
use crate::settings::samplers;

const DEFAULT_EXECUTIONS: u64 = 100_000;
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// So many runs are for an estimate that was asked for.
const ESTIMATE_EXECUTIONS: u64 = 4_000;
/// A search is estimated if it has not ended after so many executions.
const ESTIMATE_AFTER: u64 = 1_000;
/// So many runs are for the first estimate of a search.
pub(crate) const SOON: u64 = 2_000;

/// One strategy with its share of the budget.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// Until the phase begins.
    pub(crate) strategy: Option<Box<dyn raddle_engine::Strategy>>,
    pub(crate) budget: Budget,
    pub(crate) helpers: Helpers,
    /// How many preemptions helpers look for, if that is not what the check says.
    pub(crate) preemptions: Option<u32>,
}

impl Phase {
    /// The strategy of the check's own worker, for the beginning of the phase.
    pub(crate) fn take_strategy(&mut self) -> Box<dyn raddle_engine::Strategy> {
        let strategy = self.strategy.take();
        strategy.expect("a phase begins once")
    }
}

pub(crate) fn boxed(
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
    /// Do the same with random choices of their own.
    Sample,
    /// Go for what is not covered, each for itself.
    Guide,
}

#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// Of one worker.
    pub(crate) executions: u64,
    /// Of all workers.
    pub(crate) of_all: u64,
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
    /// That the classes are too many for the budget, as far as an estimate tells.
    WhileItFits,
}

/// The exhaustive search that the settings ask for.
pub(crate) fn exhaustive(checker: &Checker) -> strategy::Exhaustive {
    let search = strategy::Exhaustive::reduced(checker.reduce).under(checker.memory.model());
    let search = match checker.strategy == Strategy::Auto && samples_too(checker) {
        true => search.giving_up_after(checker.limits().max_events.min(MAX_EVENTS_OF_A_SEARCH)),
        false => search,
    };
    match checker.preemptions {
        Some(preemptions) => search.bounded(preemptions),
        None => search,
    }
}

/// The same, which estimates how large it is if somebody wants to know.
pub(crate) fn sized_search(checker: &Checker) -> strategy::Exhaustive {
    let is_limited = checker.max_executions.is_some() || checker.max_time.is_some();
    let is_auto = checker.strategy == Strategy::Auto;
    let search = match is_auto {
        // What differs in the order of writes only is the same to the program.
        true => exhaustive(checker).scattered(checker.seed).sources_first(),
        false => exhaustive(checker),
    };
    match is_auto || is_limited || status::is_wanted(checker.log) {
        true => search.sampling(strategy::Sampling {
            seed: checker.seed,
            after: ESTIMATE_AFTER,
            runs: SOON,
        }),
        false => search,
    }
}

/// Whether a check that decides by itself draws at random, too. Samplers know of no bounds and no
/// reductions.
fn samples_too(checker: &Checker) -> bool {
    checker.preemptions.is_none() && !checker.is_reduced()
}

/// What a check runs that decides by itself.
fn portfolio(checker: &Checker) -> strategy::Portfolio {
    let samplers = match samples_too(checker) {
        true => samplers::all(checker.seed),
        false => Vec::new(),
    };
    strategy::Portfolio::new(samplers, Some(sized_search(checker)), checker.seed)
}

/// The whole budget of a check that does not end by itself.
pub(crate) fn whole_budget(checker: &Checker, start: Instant) -> Budget {
    let executions = checker.max_executions.unwrap_or(DEFAULT_EXECUTIONS);
    Budget {
        executions,
        of_all: executions,
        until: Some(start + checker.max_time.unwrap_or(DEFAULT_TIME)),
        patience: Patience::Whole,
    }
}

pub(crate) fn phases(checker: &Checker, start: Instant) -> Vec<Phase> {
    let executions = checker.max_executions;
    let time = checker.max_time;
    let ending = || Budget {
        executions: executions.unwrap_or(u64::MAX),
        of_all: executions.unwrap_or(u64::MAX),
        until: time.map(|time| start + time),
        patience: Patience::Whole,
    };
    match &checker.strategy {
        // What comes after it depends on how large the search is.
        Strategy::Auto => {
            vec![Phase {
                name: "auto",
                strategy: boxed(portfolio(checker)),
                budget: Budget {
                    patience: Patience::WhileItFits,
                    ..whole_budget(checker, start)
                },
                helpers: Helpers::Share,
                preemptions: None,
            }]
        }
        Strategy::Exhaustive if checker.only_estimate => {
            let sampling = strategy::Sampling {
                seed: checker.seed,
                after: 0,
                runs: executions.unwrap_or(ESTIMATE_EXECUTIONS),
            };
            vec![Phase {
                name: "exhaustive",
                strategy: boxed(exhaustive(checker).sampling(sampling)),
                budget: Budget {
                    patience: Patience::UntilEstimate,
                    ..ending()
                },
                helpers: Helpers::Nobody,
                preemptions: None,
            }]
        }
        Strategy::Exhaustive => {
            vec![Phase {
                name: "exhaustive",
                strategy: boxed(sized_search(checker)),
                budget: ending(),
                helpers: Helpers::Share,
                preemptions: None,
            }]
        }
        Strategy::Coverage { metric } => {
            vec![Phase {
                name: "coverage",
                strategy: boxed(strategy::CoverageGuided::new(*metric, checker.seed)),
                budget: whole_budget(checker, start),
                helpers: Helpers::Guide,
                preemptions: None,
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
                preemptions: None,
            }]
        }
        Strategy::Delay { bound } => {
            vec![Phase {
                name: "delay",
                strategy: boxed(strategy::Delay::new(*bound)),
                budget: ending(),
                helpers: Helpers::Nobody,
                preemptions: None,
            }]
        }
        Strategy::EnumeratePrivateFirst => {
            let strategy = boxed(strategy::Enumerate::private_first());
            vec![Phase {
                name: "enumerate",
                strategy,
                budget: ending(),
                helpers: Helpers::Nobody,
                preemptions: None,
            }]
        }
        Strategy::Replay(schedule) => {
            let strategy = boxed(strategy::Replay::new(schedule.clone()));
            vec![Phase {
                name: "replay",
                strategy,
                budget: ending(),
                helpers: Helpers::Nobody,
                preemptions: None,
            }]
        }
        Strategy::Directed(alternative) => {
            let model = checker.memory.model();
            vec![Phase {
                name: "directed",
                strategy: boxed(strategy::Directed::new(alternative.clone(), model)),
                budget: whole_budget(checker, start),
                helpers: Helpers::Nobody,
                preemptions: None,
            }]
        }
        sampled => {
            let sampler = samplers::sampler(sampled, checker.seed);
            let (name, strategy) = sampler.expect("all others draw at random");
            vec![Phase {
                name,
                strategy: Some(strategy),
                budget: whole_budget(checker, start),
                helpers: Helpers::Sample,
                preemptions: None,
            }]
        }
    }
}
