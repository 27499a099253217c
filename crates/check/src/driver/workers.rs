//! A phase that several workers run side by side, each on an OS thread of its own.
//!
//! The worker of the check itself is one of them. The others come for one phase; what they have found
//! and counted, and what they have left to run, becomes that of the first.

use std::panic::{Location, resume_unwind};
use std::sync::Arc;

use raddle_engine::coverage::Coverage;
use raddle_engine::frontier::Item;
use raddle_engine::strategy::{CoverageGuided, Exhaustive, Reach};
use raddle_engine::{Exploration, SiteId, Strategy, Tally};
use raddle_report::{Failure, Report};

use crate::driver::phases::{self, Budget, Helpers, Phase};
#[cfg(target_os = "linux")]
use crate::driver::processes;
use crate::driver::work_pool::{Crew, End};
use crate::driver::worker::{MAX_FAILURES, Seat, Worker};
use crate::explain::fatal_report::FatalReport;
use crate::persist::checkpoint::Saving;
use crate::persist::history::Diary;
use crate::program::WorkerKind;
use crate::runtime::watchdog;
use crate::settings::checker::Checker;
use crate::settings::samplers::seed;

/// What is run.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) checker: &'a Checker,
    pub(crate) body: &'a (dyn Fn() + Sync),
    pub(crate) place: &'static Location<'static>,
    pub(crate) fatal: &'a Arc<FatalReport>,
    /// What is remembered, once that is known.
    pub(crate) diary: Option<&'a Arc<Diary>>,
}

/// What a helper has done.
struct Harvest {
    tally: Tally,
    coverage: Option<Box<Coverage>>,
    report: Report,
    suspects: Vec<Vec<SiteId>>,
    dropped_stacks: usize,
    left: Vec<Item>,
    reach: Reach,
}

/// Runs a phase whose strategy the worker has; whether the whole check is over. Why it has ended is
/// known if work was shared.
pub(crate) fn explore<'a>(
    worker: &mut Worker<'a, '_>,
    job: Job<'a>,
    phase: &Phase,
    saving: Option<&Arc<Saving>>,
) -> (bool, Option<End>) {
    let Phase {
        name,
        helpers,
        preemptions,
        ..
    } = *phase;
    let size = match helpers {
        Helpers::Nobody => 1,
        Helpers::Share | Helpers::Sample | Helpers::Guide => job.checker.workers.get(),
    };
    let kind = job.checker.program.workers();
    #[cfg(target_os = "linux")]
    if kind == WorkerKind::Processes && size > 1 && processes::can_share(worker) {
        return (processes::explore(worker, job, phase), None);
    }
    let size = match kind {
        WorkerKind::Threads => size,
        WorkerKind::Processes => 1,
    };
    let saving = saving.filter(|_| helpers == Helpers::Share);
    if size == 1 && saving.is_none() {
        let over = worker.explore(job.body, job.place, &phase.budget, name);
        return (over, None);
    }
    let done = worker
        .context
        .with_exploration(|e| e.executions() + e.discarded());
    let left = phase.budget.executions.saturating_sub(done);
    let is_shared = helpers == Helpers::Share;
    let shared = (is_shared && phase.budget.executions < u64::MAX).then_some(left);
    let crew = Crew::new(size, shared, worker.context.places(), saving.cloned());
    let crew = Arc::new(crew);
    // Those who share take from one budget, the others have a budget each.
    let share = |number: usize| {
        let (part, rest) = (left / size as u64, left % size as u64);
        match is_shared {
            true => u64::MAX,
            false => part + u64::from((number as u64) < rest),
        }
    };
    let budget = |executions| Budget {
        executions,
        ..phase.budget
    };
    let own = budget(match is_shared {
        true => u64::MAX,
        false => done + share(0),
    });
    let observer = worker.observer;
    let compares = worker.context.with_exploration(|e| e.compares_classes());
    let own_strategy = |number| strategy(worker, helpers, preemptions, number);
    let mut strategies: Vec<_> = (1..size).map(own_strategy).collect();
    let over = std::thread::scope(|scope| {
        let stop = StopOnPanic(&crew);
        let others: Vec<_> = (1..size)
            .zip(strategies.drain(..))
            .map(|(number, strategy)| {
                let (crew, budget) = (Arc::clone(&crew), budget(share(number)));
                let thread = std::thread::Builder::new().name(format!("raddle worker {number}"));
                let run = move || {
                    let stop = StopOnPanic(&crew);
                    let mut helper = helper(job, strategy, compares, &crew, number);
                    helper.observer = observer;
                    let harvest = harvest(helper, job, &budget, name);
                    drop(stop);
                    harvest
                };
                thread.spawn_scoped(scope, run).unwrap_or_else(|error| {
                    panic!("raddle: worker {number} could not be started: {error}")
                })
            })
            .collect();
        worker.seat = Some(Seat::new(&crew, 0));
        let mut over = worker.explore(job.body, job.place, &own, name);
        worker.seat = None;
        drop(stop);
        let first = crew.table.first_to_fail();
        if first.is_some_and(|first| first != 0) {
            worker.report.failures.clear();
        }
        for (number, helper) in (1..).zip(others) {
            let mut harvest = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            if first.is_some_and(|first| first != number) {
                harvest.report.failures.clear();
            }
            over |= !harvest.report.failures.is_empty() && !job.checker.keep_going;
            worker.absorb(harvest);
        }
        over
    });
    // What was too long for the search of one of them has not been run by any.
    let gave_up = worker.context.with_exploration(|e| e.gave_up());
    let over = over && !(gave_up && worker.report.failures.is_empty());
    worker.take_over(crew.table.untaken());
    let end = crew.table.ended().filter(|_| is_shared);
    (over || end == Some(End::Failure), end)
}

/// Nobody waits for a worker that will not come back.
struct StopOnPanic<'a>(&'a Crew);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.table.end(End::Failure, usize::MAX);
        }
    }
}

/// What a helper does, beside what the worker does.
fn strategy(
    worker: &Worker<'_, '_>,
    helpers: Helpers,
    preemptions: Option<u32>,
    number: usize,
) -> Box<dyn Strategy> {
    let checker = worker.checker;
    let search = || match preemptions {
        Some(preemptions) => phases::exhaustive(checker).bounded(preemptions).idle(),
        None => phases::exhaustive(checker).idle(),
    };
    let with_seed = |seed| {
        let sampler = |e: &mut Exploration| e.world().strategy().with_seed(seed);
        worker.context.with_exploration(sampler)
    };
    match (helpers, &checker.strategy) {
        (Helpers::Sample, _) => {
            // Other executions than in an earlier phase.
            let done = worker.context.with_exploration(|e| e.executions());
            let sampler = with_seed(seed(checker.seed ^ done.rotate_left(20), number));
            sampler.expect("who samples has a seed")
        }
        (Helpers::Guide, crate::settings::options::Strategy::Coverage { metric }) => {
            Box::new(CoverageGuided::new(*metric, seed(checker.seed, number)))
        }
        _ => Box::new(search()),
    }
}

/// A worker that helps with one phase.
fn helper<'a, 'o>(
    job: Job<'a>,
    strategy: Box<dyn Strategy>,
    compares: bool,
    crew: &Arc<Crew>,
    number: usize,
) -> Worker<'a, 'o> {
    let checker = job.checker;
    let mut exploration = Exploration::new(strategy, checker.limits());
    if compares {
        exploration.compare_classes();
    }
    let context = checker.context(exploration, job.fatal.clone());
    context.share_places(crew.places());
    let mut worker = Worker::new(checker, context, job.fatal);
    worker.seat = Some(Seat::new(crew, number));
    if let Some(diary) = job.diary {
        worker.recall(diary);
    }
    worker
}

fn harvest(
    mut worker: Worker<'_, '_>,
    job: Job<'_>,
    budget: &Budget,
    name: &'static str,
) -> Harvest {
    let watch = watchdog::watch(&worker.context, job.checker.watchdog);
    worker.explore(job.body, job.place, budget, name);
    drop(watch);
    worker.write_page(true);
    let (left, reach) = worker.context.with_exploration(|exploration| {
        let search = exploration.world().exhaustive();
        let all = |search: &mut Exhaustive| (search.give_all(), search.reach());
        search.map(all).unwrap_or_default()
    });
    Harvest {
        left,
        reach,
        coverage: worker.coverage,
        report: worker.report,
        suspects: worker.suspects,
        dropped_stacks: worker.context.dropped_stacks(),
        tally: worker.context.into_exploration().into_tally(),
    }
}

impl Worker<'_, '_> {
    /// What a helper has done counts as done by this worker.
    fn absorb(&mut self, harvest: Harvest) {
        if let Some(page) = &mut self.page {
            page.absorb(harvest.tally.executions, harvest.coverage.as_deref());
        }
        self.context
            .with_exploration(|exploration| exploration.absorb(harvest.tally));
        self.take_over(harvest.left);
        self.context.with_exploration(|exploration| {
            if let Some(search) = exploration.world().exhaustive() {
                search.reached(harvest.reach);
            }
        });
        if let (Some(mine), Some(theirs)) = (&mut self.coverage, harvest.coverage) {
            mine.merge(&theirs);
        }
        merge(&mut self.report.failures, harvest.report.failures);
        merge(&mut self.report.warnings, harvest.report.warnings);
        self.seen = self.report.failures.iter().map(Failure::gist).collect();
        for places in harvest.suspects {
            if !self.suspects.contains(&places) {
                self.suspects.push(places);
            }
        }
        self.dropped_stacks += harvest.dropped_stacks;
    }

    /// What others have left to run is left to this worker.
    pub(crate) fn take_over(&mut self, items: Vec<Item>) {
        self.context.with_exploration(|exploration| {
            if let Some(search) = exploration.world().exhaustive() {
                items.into_iter().for_each(|item| search.take(item));
            }
        });
    }
}

/// Adds what is not there yet, in the order it was found.
fn merge(failures: &mut Vec<Failure>, others: Vec<Failure>) {
    for other in others {
        if failures
            .iter()
            .all(|failure| failure.gist() != other.gist())
        {
            failures.push(other);
        }
    }
    failures.sort_by_key(|failure| failure.execution);
    failures.truncate(MAX_FAILURES);
}
