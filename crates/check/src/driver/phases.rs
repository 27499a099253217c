//! The phases of a check and the budget of each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::coverage::Metrics;
use raddle_engine::partial::LogPlace;
use raddle_engine::strategy::{self, Dispatcher};

use crate::driver::status;
use crate::persist::since::Since;
use crate::runtime::Places;
use crate::runtime::deadline::Deadline;
use crate::scheduler::adapter::Adapter;
use crate::settings::checker::{Checker, MAX_EVENTS_OF_A_SEARCH, TotalReplay};
use crate::settings::options::Strategy;
use crate::settings::samplers;

const DEFAULT_EXECUTIONS: u64 = 100_000;
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Runs of an estimate that the user requested.
const ESTIMATE_EXECUTIONS: u64 = 4_000;
/// Executions after which a search that has not ended is estimated.
const ESTIMATE_AFTER: u64 = 1_000;
/// Share of the limit of executions that goes into the first estimate of a search: one in ten.
const ESTIMATE_SHARE: u64 = 10;
/// Runs of the first estimate of a search.
pub(crate) const SOON: u64 = 2_000;

/// One strategy with its share of the budget.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// `None` once the phase has begun.
    pub(crate) strategy: Option<Dispatcher>,
    pub(crate) budget: Budget,
    pub(crate) helpers: Helpers,
    /// The preemption bound of helpers if it differs from the setting.
    pub(crate) preemptions: Option<u32>,
}

impl Phase {
    /// Takes the strategy of the check's own worker at the beginning of the phase.
    pub(crate) fn take_strategy(&mut self) -> Dispatcher {
        let strategy = self.strategy.take();
        strategy.expect("a phase begins once")
    }
}

/// The part that other workers have in a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Helpers {
    /// One worker runs the phase alone.
    None,
    /// Workers share the branches of one exhaustive search.
    Share,
    /// Each worker samples with a seed of its own.
    Sample,
    /// Each worker goes for uncovered requirements on its own.
    Guide,
}

#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// Maximum executions of one worker.
    pub(crate) executions: u64,
    /// Maximum executions of all workers.
    pub(crate) of_all: u64,
    pub(crate) until: Option<Instant>,
    pub(crate) patience: Patience,
}

/// Condition other than the budget that ends a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// None: the whole budget is used.
    Whole,
    /// The number of classes has been estimated.
    UntilEstimate,
    /// The estimated number of classes does not fit into the budget.
    WhileItFits,
    /// None: the budget is a slice of a search that goes on elsewhere, so that no estimate is made.
    Slice,
    /// The last half of the runs found no class and covered no requirement that was new.
    UntilSaturated,
}

/// Returns the exhaustive search that the settings request.
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

/// Returns the exhaustive search, with an estimate of its size if progress or a budget needs one.
pub(crate) fn sized_search(checker: &Checker) -> strategy::Exhaustive {
    let is_limited = checker.max_executions.is_some() || checker.max_time.is_some();
    let is_auto = checker.strategy == Strategy::Auto;
    let search = match is_auto {
        // Classes that differ only in coherence order look the same to the program.
        true => exhaustive(checker).scattered(checker.seed).sources_first(),
        false => exhaustive(checker),
    };
    match is_auto || is_limited || status::is_wanted(checker) {
        true => search.sampling(strategy::Sampling {
            seed: checker.seed,
            after: ESTIMATE_AFTER,
            // Runs for an estimate count: they must leave most of the limit to the search.
            runs: SOON.min(max_runs(checker) / ESTIMATE_SHARE),
        }),
        false => search,
    }
}

/// True when a coverage-guided check stops once it is saturated. A limit of the user's own is used whole, and one of
/// several workers does not know what the others cover.
fn stops_when_saturated(checker: &Checker) -> bool {
    let is_limited = checker.max_executions.is_some() || checker.max_time.is_some();
    !is_limited && checker.workers.get() == 1
}

/// True when `Auto` samples too. Samplers support neither bounds nor reductions.
fn samples_too(checker: &Checker) -> bool {
    checker.preemptions.is_none() && !checker.is_reduced()
}

/// Returns the strategies that `Auto` mixes.
fn portfolio(checker: &Checker, places: &Arc<Places>) -> strategy::Portfolio {
    let search = Some(sized_search(checker));
    match samples_too(checker) {
        true => sampling_portfolio(checker, checker.seed, search, places),
        false => strategy::Portfolio::new(Vec::new(), search, checker.seed),
    }
}

/// Returns the samplers of `Auto`, with a search if one is given. After a change of the program, those that prefer what
/// is near it have most of the first turns.
fn sampling_portfolio(
    checker: &Checker,
    seed: u64,
    search: Option<strategy::Exhaustive>,
    places: &Arc<Places>,
) -> strategy::Portfolio {
    let portfolio = strategy::Portfolio::new(samplers::all(seed), search, seed);
    match checker.since.as_deref().map(Since::read) {
        Some(since) if !since.is_empty() => {
            let baseline = since.baseline(places);
            portfolio.focused(samplers::near(baseline, since.impact(places), seed))
        }
        _ => portfolio,
    }
}

/// Returns the guided search for these metrics. After a change of the program, it goes for what the change brings
/// first.
pub(crate) fn guided(
    checker: &Checker,
    metric: Metrics,
    seed: u64,
    places: &Places,
) -> strategy::CoverageGuided {
    let guided = strategy::CoverageGuided::new(metric, seed);
    match checker.since.as_deref().map(Since::read) {
        Some(since) if !since.is_empty() => guided.aiming(since.baseline(places)),
        _ => guided,
    }
}

/// Returns the sampling strategy of a worker with this seed.
pub(crate) fn sampler(
    checker: &Checker,
    seed: u64,
    worker: usize,
    places: &Arc<Places>,
) -> Dispatcher {
    match &checker.strategy {
        Strategy::Scheduler(schedulers) => {
            let places = Arc::clone(places);
            Dispatcher::other(Adapter::new(schedulers, seed, worker, places))
        }
        Strategy::Auto => sampling_portfolio(checker, seed, None, places).into(),
        Strategy::Coverage { metric } => guided(checker, *metric, seed, places).into(),
        sampled => (sampled.sampler().expect("a sampling strategy")).strategy(seed),
    }
}

/// True when the check ends by itself, so that it has no default limits.
fn ends_by_itself(checker: &Checker) -> bool {
    matches!(
        checker.strategy,
        Strategy::Exhaustive
            | Strategy::Enumerate
            | Strategy::EnumeratePrivateFirst
            | Strategy::Delay { .. }
            | Strategy::Replay(_)
    )
}

/// Returns the maximum number of runs of a check; `u64::MAX` if it is not limited. A time limit that the
/// user has set is used whole, so the default number of runs does not hold beside it.
pub(crate) fn max_runs(checker: &Checker) -> u64 {
    let default = match ends_by_itself(checker) || checker.max_time.is_some() {
        true => u64::MAX,
        false => DEFAULT_EXECUTIONS,
    };
    checker.max_executions.unwrap_or(default)
}

/// Returns the deadline of a check that begins at `start`.
pub(crate) fn deadline(checker: &Checker, start: Instant) -> Deadline {
    let part_of = checker.part_of.and_then(|whole| whole.deadline);
    part_of.unwrap_or_else(|| {
        let default = (!ends_by_itself(checker)).then_some(DEFAULT_TIME);
        Deadline::new(start, checker.max_time.or(default))
    })
}

/// Returns the whole budget of a check with this deadline.
pub(crate) fn whole_budget(checker: &Checker, deadline: Deadline) -> Budget {
    let executions = max_runs(checker);
    Budget {
        executions,
        of_all: executions,
        until: deadline.until(),
        patience: Patience::Whole,
    }
}

/// Returns the phase that runs the classes that are consistent with a partial trace.
fn total_replay(
    checker: &Checker,
    replay: &TotalReplay,
    budget: Budget,
    places: &Arc<Places>,
) -> Phase {
    let places = Arc::clone(places);
    let matches = move |site, place: &LogPlace| {
        let text = places.to_text(site);
        text.is_some_and(|text| place.is(&text))
    };
    let model = checker.memory.model();
    let strategy = strategy::Consistent::new(Arc::clone(&replay.trace), Arc::new(matches), model);
    let strategy = match replay.prunes {
        true => strategy,
        false => strategy.without_pruning(),
    };
    Phase {
        name: "total replay",
        strategy: Some(Dispatcher::other(strategy)),
        budget,
        helpers: Helpers::None,
        preemptions: None,
    }
}

/// Returns the phases of a check. Those of `Auto` after the first depend on the size of the search.
pub(crate) fn phases(checker: &Checker, deadline: Deadline, places: &Arc<Places>) -> Vec<Phase> {
    let executions = checker.max_executions;
    let whole = || whole_budget(checker, deadline);
    if let Some(replay) = &checker.total_replay {
        return vec![total_replay(checker, replay, whole(), places)];
    }
    match &checker.strategy {
        Strategy::Auto => {
            vec![Phase {
                name: "auto",
                strategy: Some(portfolio(checker, places).into()),
                budget: Budget {
                    patience: Patience::WhileItFits,
                    ..whole()
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
                strategy: Some(exhaustive(checker).sampling(sampling).into()),
                budget: Budget {
                    patience: Patience::UntilEstimate,
                    ..whole()
                },
                helpers: Helpers::None,
                preemptions: None,
            }]
        }
        Strategy::Exhaustive => {
            vec![Phase {
                name: "exhaustive",
                strategy: Some(sized_search(checker).into()),
                budget: whole(),
                helpers: Helpers::Share,
                preemptions: None,
            }]
        }
        Strategy::Coverage { metric } => {
            vec![Phase {
                name: "coverage",
                strategy: Some(guided(checker, *metric, checker.seed, places).into()),
                budget: Budget {
                    patience: match stops_when_saturated(checker) {
                        true => Patience::UntilSaturated,
                        false => Patience::Whole,
                    },
                    ..whole()
                },
                helpers: Helpers::Guide,
                preemptions: None,
            }]
        }
        Strategy::Enumerate => {
            let strategy = match checker.preemptions {
                Some(preemptions) => strategy::Enumerate::bounded(preemptions),
                None => strategy::Enumerate::new(),
            };
            vec![Phase {
                name: "enumerate",
                strategy: Some(Dispatcher::other(strategy)),
                budget: whole(),
                helpers: Helpers::None,
                preemptions: None,
            }]
        }
        Strategy::Delay { bound } => {
            vec![Phase {
                name: "delay",
                strategy: Some(Dispatcher::other(strategy::Delay::new(*bound))),
                budget: whole(),
                helpers: Helpers::None,
                preemptions: None,
            }]
        }
        Strategy::EnumeratePrivateFirst => {
            let strategy = strategy::Enumerate::private_first();
            vec![Phase {
                name: "enumerate",
                strategy: Some(Dispatcher::other(strategy)),
                budget: whole(),
                helpers: Helpers::None,
                preemptions: None,
            }]
        }
        Strategy::Replay(schedule) => {
            let strategy = strategy::Replay::new(schedule.clone());
            vec![Phase {
                name: "replay",
                strategy: Some(Dispatcher::other(strategy)),
                budget: whole(),
                helpers: Helpers::None,
                preemptions: None,
            }]
        }
        Strategy::Directed(alternative) => {
            let model = checker.memory.model();
            vec![Phase {
                name: "directed",
                strategy: Some(strategy::Directed::new(alternative.clone(), model).into()),
                budget: whole(),
                helpers: Helpers::None,
                preemptions: None,
            }]
        }
        sampled => {
            let name = match sampled {
                Strategy::Scheduler(schedulers) => schedulers.name(),
                _ => sampled.sampler().expect("a sampling strategy").name(),
            };
            vec![Phase {
                name,
                strategy: Some(sampler(checker, checker.seed, 0, places)),
                budget: whole(),
                helpers: Helpers::Sample,
                preemptions: None,
            }]
        }
    }
}
