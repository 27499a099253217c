//! A phase that several workers run in parallel, each on an OS thread of its own.
//!
//! The worker of the check itself is one of them. The others exist for one phase; their findings,
//! counts and remaining work are merged into the first.

use std::panic::{Location, resume_unwind};
use std::sync::Arc;

use raddle_engine::coverage::Coverage;
use raddle_engine::frontier::Item;
use raddle_engine::strategy::{Dispatcher, Exhaustive, Reach};
use raddle_engine::{Exploration, Tally};
use raddle_report::{Failure, ReachedStates, Report};

use crate::driver::early_frees::Suspected;
use crate::driver::phases::{self, Budget, Helpers, Phase};
#[cfg(target_os = "linux")]
use crate::driver::processes;
use crate::driver::suspicions::Suspect;
use crate::driver::work_pool::{EndReason, SearchPool};
use crate::driver::worker::{MAX_FAILURES, Worker, WorkerSlot};
use crate::explain::fatal_report::FatalReport;
use crate::persist::checkpoint::Saving;
use crate::persist::history::History;
use crate::program::WorkerKind;
use crate::runtime::SharedLocals;
use crate::runtime::deadline::Deadline;
use crate::runtime::watchdog;
use crate::settings::checker::Checker;
use crate::settings::samplers::seed;

/// The program to run and its settings.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) checker: &'a Checker,
    pub(crate) body: &'a (dyn Fn() + Sync),
    pub(crate) place: &'static Location<'static>,
    pub(crate) fatal: &'a Arc<FatalReport>,
    pub(crate) deadline: Deadline,
    /// The history, once it is loaded.
    pub(crate) history: Option<&'a Arc<History>>,
}

/// The results of a helper.
struct HelperResults {
    tally: Tally,
    coverage: Option<Box<Coverage>>,
    report: Report,
    suspects: Vec<Suspect>,
    early_frees: Suspected,
    dropped_stacks: usize,
    has_foreign_threads: bool,
    shared_locals: SharedLocals,
    reached: ReachedStates,
    left: Vec<Item>,
    reach: Reach,
}

/// Runs a phase whose strategy the worker has. Returns true if the whole check is over, and the
/// reason for the end if work was shared.
pub(crate) fn explore<'a>(
    worker: &mut Worker<'a, '_>,
    job: Job<'a>,
    phase: &Phase,
    saving: Option<&Arc<Saving>>,
) -> (bool, Option<EndReason>) {
    let Phase {
        name,
        helpers,
        preemptions,
        ..
    } = *phase;
    let size = match helpers {
        // Loops that were left are counted by one worker.
        _ if job.checker.reduce.manners => 1,
        Helpers::None => 1,
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
    let done = worker.context.with_exploration(|e| e.runs());
    let left = phase.budget.executions.saturating_sub(done);
    let is_shared = helpers == Helpers::Share;
    let shared = (is_shared && phase.budget.executions < u64::MAX).then_some(left);
    let places = worker.context.places();
    let pool = SearchPool::new(size, is_shared, shared, places, saving.cloned());
    let pool = Arc::new(pool);
    // Workers that share a search share one budget; the others have a budget each.
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
        let stop = StopOnPanic(&pool);
        let others: Vec<_> = (1..size)
            .zip(strategies.drain(..))
            .map(|(number, strategy)| {
                let (pool, budget) = (Arc::clone(&pool), budget(share(number)));
                let thread = std::thread::Builder::new().name(format!("raddle worker {number}"));
                let run = move || {
                    let stop = StopOnPanic(&pool);
                    let mut helper = helper(job, strategy, compares, &pool, number);
                    helper.observer = observer;
                    let results = run_helper(helper, job, &budget, name);
                    drop(stop);
                    results
                };
                thread.spawn_scoped(scope, run).unwrap_or_else(|error| {
                    panic!("raddle: worker {number} could not be started: {error}")
                })
            })
            .collect();
        worker.slot = Some(WorkerSlot::new(&pool, 0));
        let mut over = worker.explore(job.body, job.place, &own, name);
        worker.slot = None;
        drop(stop);
        let first = pool.shared.first_to_fail();
        if first.is_some_and(|first| first != 0) {
            worker.report.failures.clear();
        }
        for (number, helper) in (1..).zip(others) {
            let mut results = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            if first.is_some_and(|first| first != number) {
                results.report.failures.clear();
            }
            worker.is_over |= !results.report.failures.is_empty() && !job.checker.keep_going;
            over |= worker.is_over;
            worker.absorb(results);
        }
        over
    });
    // An execution too long for one worker's search has been run by none.
    let gave_up = worker.context.with_exploration(|e| e.gave_up());
    let over = over && !(gave_up && worker.report.failures.is_empty());
    worker.take_over(pool.shared.untaken());
    let end = pool.shared.ended().filter(|_| is_shared);
    worker.is_over |= end == Some(EndReason::Failure);
    (over || end == Some(EndReason::Failure), end)
}

/// Stops all workers if this one panics, so that none waits for it.
struct StopOnPanic<'a>(&'a SearchPool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.shared.end(EndReason::Failure, usize::MAX);
        }
    }
}

/// Returns the strategy of a helper beside the worker's own.
fn strategy(
    worker: &Worker<'_, '_>,
    helpers: Helpers,
    preemptions: Option<u32>,
    number: usize,
) -> Dispatcher {
    let checker = worker.checker;
    let search = || match preemptions {
        Some(preemptions) => phases::exhaustive(checker).bounded(preemptions).idle(),
        None => phases::exhaustive(checker).idle(),
    };
    match (helpers, &checker.strategy) {
        (Helpers::Sample, _) => {
            // A seed that gives other executions than in an earlier phase.
            let done = worker.context.with_exploration(|e| e.executions());
            let seed = seed(checker.seed ^ done.rotate_left(20), number);
            phases::sampler(checker, seed, number, &worker.context.places())
        }
        (Helpers::Guide, crate::settings::options::Strategy::Coverage { metric }) => {
            let places = worker.context.places();
            phases::guided(checker, *metric, seed(checker.seed, number), &places).into()
        }
        _ => search().into(),
    }
}

/// Creates a worker that helps with one phase.
fn helper<'a, 'o>(
    job: Job<'a>,
    strategy: Dispatcher,
    compares: bool,
    pool: &Arc<SearchPool>,
    number: usize,
) -> Worker<'a, 'o> {
    let checker = job.checker;
    let mut exploration = Exploration::new(strategy, checker.limits());
    if compares {
        exploration.compare_classes();
    }
    let context = checker.context(exploration, job.fatal.clone());
    context.share_places(pool.places());
    let mut worker = Worker::new(checker, context, job.fatal, job.deadline);
    worker.slot = Some(WorkerSlot::new(pool, number));
    if let Some(history) = job.history {
        worker.recall(history);
    }
    worker
}

fn run_helper(
    mut worker: Worker<'_, '_>,
    job: Job<'_>,
    budget: &Budget,
    name: &'static str,
) -> HelperResults {
    let watch = watchdog::watch(&worker.context, job.checker.watchdog, job.deadline);
    worker.explore(job.body, job.place, budget, name);
    drop(watch);
    worker.write_batch(true);
    let (left, reach) = worker.context.with_exploration(|exploration| {
        let search = exploration.world().exhaustive();
        let all = |search: &mut Exhaustive| (search.give_all(), search.reach());
        search.map(all).unwrap_or_default()
    });
    HelperResults {
        left,
        reach,
        coverage: worker.coverage,
        report: worker.report,
        suspects: worker.suspects,
        early_frees: worker.early_frees,
        dropped_stacks: worker.context.dropped_stacks(),
        has_foreign_threads: worker.context.has_foreign_threads(),
        shared_locals: worker.context.shared_locals(),
        reached: worker.context.reached(),
        tally: worker.context.into_exploration().into_tally(),
    }
}

impl Worker<'_, '_> {
    /// Merges the results of a helper into this worker.
    fn absorb(&mut self, results: HelperResults) {
        if let Some(batch) = &mut self.batch {
            batch.absorb(results.tally.executions, results.coverage.as_deref());
        }
        self.context
            .with_exploration(|exploration| exploration.absorb(results.tally));
        self.take_over(results.left);
        self.context.with_exploration(|exploration| {
            if let Some(search) = exploration.world().exhaustive() {
                search.reached(results.reach);
            }
        });
        if let (Some(mine), Some(theirs)) = (&mut self.coverage, results.coverage) {
            mine.merge(&theirs);
        }
        merge(&mut self.report.failures, results.report.failures);
        merge(&mut self.report.warnings, results.report.warnings);
        self.seen = self.report.failures.iter().map(Failure::gist).collect();
        for suspect in results.suspects {
            if !self.suspects.contains(&suspect) {
                self.suspects.push(suspect);
            }
        }
        self.early_frees.absorb(results.early_frees);
        self.dropped_stacks += results.dropped_stacks;
        self.has_foreign_threads |= results.has_foreign_threads;
        self.shared_locals.add(results.shared_locals);
        self.reached.merge(results.reached);
    }

    /// Adds the remaining work of other workers to this one.
    pub(crate) fn take_over(&mut self, items: Vec<Item>) {
        self.context.with_exploration(|exploration| {
            if let Some(search) = exploration.world().exhaustive() {
                items.into_iter().for_each(|item| search.take(item));
            }
        });
    }
}

/// Adds failures that the list does not have yet, in the order they were found.
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
