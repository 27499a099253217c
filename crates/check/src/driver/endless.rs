//! The loops without end that threads leave with `Reduction::Manners`.
//!
//! Before the search some random executions are run with a limit of events. A loop that its thread is still in at
//! the limit is taken to have no end. All contexts of the check then leave it, those that minimise and repeat
//! failures included.

use std::panic::Location;
use std::sync::Arc;

use raddle_engine::strategy::Random;
use raddle_engine::{Ending, EndlessLoop, Exploration, Limits, endless};

#[cfg(unix)]
use crate::driver::shared_search;
use crate::explain::fatal_report::FatalReport;
use crate::runtime::deadline::Deadline;
use crate::runtime::endless::LearntLoops;
use crate::runtime::{Places, run_execution, watchdog};
use crate::settings::checker::Checker;

/// Maximum events of an execution in which loops are looked for. A loop that ends later is left as one without end.
const MAX_EVENTS: usize = 1 << 15;
/// Number of executions that must end before the limit, each with a seed of its own, before the loops are taken to be
/// all.
const SEEDS: u64 = 4;
/// Maximum number of loops.
const MAX_LOOPS: usize = 64;

/// Returns the settings with the loops of the program, if the check is to leave them and does not know them yet.
pub(crate) fn learn(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    fatal: &Arc<FatalReport>,
    deadline: Deadline,
) -> Option<Checker> {
    let is_search = !checker.replays() && !checker.is_directed() && checker.total_replay.is_none();
    // Machines that share a search need not find the same loops.
    #[cfg(unix)]
    let is_search = is_search && !shared_search::is_requested(checker);
    if !checker.reduce.manners || checker.learnt_loops.is_some() || !is_search {
        return None;
    }
    let mut learnt = LearntLoops {
        places: Arc::new(Places::new(checker.program)),
        loops: Vec::new(),
        runs: 0,
    };
    let mut seeds = 0;
    while seeds < SEEDS && learnt.loops.len() < MAX_LOOPS && !deadline.is_past() {
        let seed = checker.seed.wrapping_add(seeds);
        let found = found_in_one_run(checker, &learnt, seed, body, place, fatal, deadline);
        learnt.runs += 1;
        let known = learnt.loops.len();
        for one in found {
            if !learnt.loops.contains(&one) {
                learnt.loops.push(one);
            }
        }
        if learnt.loops.len() == known {
            seeds += 1;
        }
    }
    Some(Checker {
        learnt_loops: Some(Arc::new(learnt)),
        ..checker.clone()
    })
}

/// Runs one random execution, and returns the loops that threads are in at its limit of events.
fn found_in_one_run(
    checker: &Checker,
    known: &LearntLoops,
    seed: u64,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    fatal: &Arc<FatalReport>,
    deadline: Deadline,
) -> Vec<EndlessLoop> {
    let limits = checker.limits();
    let limits = Limits {
        max_events: limits.max_events.min(MAX_EVENTS),
        ..limits
    };
    let exploration = Exploration::new(Random::new(seed), limits);
    let context = checker.context(exploration, fatal.clone());
    known.set_in(&context);
    let _own_thread = context.enter();
    let _watch = watchdog::watch(&context, checker.watchdog, deadline);
    if !run_execution(&context, body, place) {
        return Vec::new();
    }
    let is_too_long = context.with_exploration(|exploration| {
        // The failures of this run are those of the search.
        let _ = exploration.finish();
        *exploration.ending() == Ending::TooManyEvents
    });
    let found = match is_too_long {
        true => context.with_execution(|execution, _| endless::loops(execution)),
        false => Vec::new(),
    };
    context.clean_up();
    found
}
