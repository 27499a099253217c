//! Runs a check: its phases one after the other, then the report.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use raddle_engine::coverage::Standing;
use raddle_engine::strategy::{Bound, Delay, Dispatcher};
use raddle_engine::{CheckName, Ending, Execution, Exploration};
use raddle_report::{
    Alone, Coverage, Failure, FailureKind, Guarantee, Names, Report, SearchLimit, Trace,
};

use crate::driver::alternatives;
use crate::driver::auto::Remainder;
use crate::driver::known_schedules::{self, Replayed};
use crate::driver::mutants::ReachedOperations;
use crate::driver::phases::{self, Budget, Patience, phases};
use crate::driver::resume::SavedSearch;
#[cfg(unix)]
use crate::driver::shared_search;
use crate::driver::status::Status;
use crate::driver::worker::Worker;
use crate::driver::workers::{self, Job};
use crate::explain;
use crate::explain::fatal_report::FatalReport;
use crate::explain::pages::Pages;
use crate::persist::events;
use crate::persist::history::History;
use crate::persist::learnt;
use crate::persist::saved;
use crate::persist::since;
use crate::program::Dialect;
use crate::runtime::deadline::Deadline;
use crate::runtime::{Places, watchdog};
use crate::runtime::{install_hook, install_overflow_handler};
use crate::settings::checker::Checker;
use crate::settings::options::{Classes, Strategy};

/// Minimum executions from which the number of other classes is estimated.
const FEW: u64 = 10;

/// Maximum number of failures whose alternatives are listed.
const MAX_LISTED: usize = 16;

/// An execution that has stopped and counts.
#[derive(Clone, Copy)]
pub(crate) struct Stopped<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) ending: &'a Ending,
    pub(crate) places: &'a Places,
}

/// Receives every execution that counts when it has stopped.
pub(crate) type Observer<'a> = &'a mut (dyn FnMut(Stopped<'_>) + Send);

/// Runs the check.
#[track_caller]
pub(crate) fn run(
    checker: &Checker,
    name: Option<CheckName>,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    observer: Option<Observer<'_>>,
) -> Report {
    let fatal = FatalReport {
        search: checker.strategy.to_string(),
        check: name.clone(),
        note: None,
        saves: !checker.replays(),
        pages: Pages::of(checker),
    };
    run_reporting(checker, name, fatal, body, place, observer)
}

/// Runs the check with this report for the case that the process ends.
pub(crate) fn run_reporting(
    checker: &Checker,
    name: Option<CheckName>,
    fatal: FatalReport,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    observer: Option<Observer<'_>>,
) -> Report {
    install_hook();
    install_overflow_handler();
    let part_of = checker.part_of;
    let start = part_of.map_or_else(Instant::now, |whole| whole.start);
    let history = History::open(checker, name.as_ref());
    let settings = history.as_ref().map(|history| history.settings(checker));
    let checker = settings.as_ref().unwrap_or(checker);
    let history = history.as_ref();
    let places = Arc::new(Places::new(checker.program));
    #[cfg(unix)]
    let deadline = match shared_search::is_requested(checker) {
        true => Deadline::new(start, None),
        false => phases::deadline(checker, start),
    };
    #[cfg(not(unix))]
    let deadline = phases::deadline(checker, start);
    let fatal = Arc::new(fatal);
    let mut job = Job {
        checker,
        body,
        place,
        fatal: &fatal,
        deadline,
        history: None,
    };
    let mut phases = phases(checker, deadline, &places).into_iter().peekable();
    let mut first = phases.next().expect("every strategy has a phase");
    let known = match &name {
        Some(name)
            if (checker.known_schedules || history.is_some())
                && !checker.replays()
                && !checker.is_directed() =>
        {
            known_schedules::run(job, name, history.map(|history| &**history))
        }
        _ => Replayed::default(),
    };
    let goes_on = history.filter(|_| History::goes_on(checker));
    job.history = goes_on;
    let strategy = match goes_on {
        // The first execution shows the history the shape of the program.
        Some(_) => Dispatcher::other(Delay::new(0)),
        None => first.take_strategy(),
    };
    let mut exploration = Exploration::new(strategy, checker.limits());
    exploration.add_runs(known.runs + part_of.map_or(0, |whole| whole.runs));
    let mut rest = Remainder::new(checker, start, deadline);
    if phases.peek().is_some() || rest.is_some() || goes_on.is_some() {
        exploration.compare_classes();
    }
    let context = checker.context(exploration, fatal.clone());
    context.keep_accesses(checker.replays());
    context.share_places(&places);
    let names = checker.names_variables || checker.branches || checker.is_directed();
    context.name_variables(names);
    let observer = observer.map(Mutex::new);
    let operations = ReachedOperations::of(checker, &places);
    #[cfg(unix)]
    let sum = shared_search::SumAlone::wanted(checker, name.as_ref());
    let observe = |stopped: Stopped<'_>| {
        if let Some(observer) = &observer {
            observer.lock().unwrap_or_else(PoisonError::into_inner)(stopped);
        }
        if let Some(operations) = &operations {
            operations.see(stopped.execution);
        }
        #[cfg(unix)]
        if let Some(sum) = &sum {
            sum.see(stopped.execution);
        }
    };
    #[cfg(unix)]
    let is_summed = sum.is_some();
    #[cfg(not(unix))]
    let is_summed = false;
    let mut worker = Worker::new(checker, context, &fatal, deadline);
    let is_observed = observer.is_some() || operations.is_some() || is_summed;
    worker.observer = is_observed.then_some(&observe as _);
    let known = known.failures;
    worker.seen = known.iter().map(Failure::gist).collect();
    let found = !known.is_empty();
    worker.report.failures = known;
    if found && !checker.keep_going {
        let mut report = finish(worker, name, start, history);
        report.executions = report.failures[0].execution;
        report.set_classes(1, Guarantee::Sampled);
        list_alternatives(job, &mut report);
        return report;
    }
    #[cfg(unix)]
    let mut shared = {
        let places = worker.context.places();
        let is_observed = observer.is_some() || checker.has_properties();
        shared_search::connect(checker, name.as_ref(), is_observed, &places)
    };
    #[cfg(unix)]
    let is_shared = shared.is_some();
    #[cfg(not(unix))]
    let is_shared = false;
    // The command that shares the search has divided the budget.
    rest = rest.filter(|_| !is_shared);
    let search = match is_shared || checker.total_replay.is_some() {
        true => SavedSearch::unsaved(),
        false => SavedSearch::open(&mut worker, job, name.as_ref(), &mut first.budget),
    };
    let watch = watchdog::watch(&worker.context, checker.watchdog, deadline);
    let saving = search.saving();
    worker.status = Status::new(checker, name.as_ref(), start);
    let mut stopped = false;
    if let Some(history) = goes_on {
        let one = Budget {
            executions: first.budget.executions.min(worker.done().all + 1),
            patience: Patience::Whole,
            ..first.budget
        };
        stopped = worker.explore(body, place, &one, "delay");
        history.look(&worker.context, checker);
        let strategy = first.take_strategy();
        (worker.context).with_exploration(|e| e.world().set_strategy(strategy));
        worker.recall(history);
    }
    let mut end = None;
    #[cfg(unix)]
    if let Some(shared) = &mut shared {
        (stopped, end) = shared.explore(&mut worker, job);
    }
    if is_shared {
        worker.recording = None;
    }
    if !stopped && !is_shared {
        stopped = worker.begin_with_guidelines(job, &first);
    }
    if !stopped && !is_shared {
        (stopped, end) = workers::explore(&mut worker, job, &first, saving);
    }
    let estimate = worker.context.with_exploration(|e| e.estimate());
    let mut begun = None;
    let mut last = first.name;
    loop {
        // A bounded search that has ended leaves the rest of the budget to other strategies.
        if stopped && rest.is_some() && !worker.is_over {
            stopped = worker.context.with_exploration(|exploration| {
                exploration.keep_bound();
                exploration.bounded().is_none() || exploration.exhausted()
            });
        }
        if stopped || worker.is_spent() {
            break;
        }
        let after = |rest: &mut Remainder| rest.next(checker, worker.done());
        let Some(mut phase) = phases.next().or_else(|| rest.as_mut().and_then(after)) else {
            break;
        };
        // Continues the strategy that has begun unless the phase has its own.
        if let Some(strategy) = phase.strategy.take().or_else(|| begun.take()) {
            let old = (worker.context).with_exploration(|e| e.world().set_strategy(strategy));
            begun.get_or_insert(old);
        }
        last = phase.name;
        if worker.confirm_predictions(body, place) {
            break;
        }
        (stopped, _) = workers::explore(&mut worker, job, &phase, None);
    }
    search.close(&mut worker, end);
    alternatives::conclude(&mut worker);
    drop(watch);
    let before = limit(&worker, stopped);
    if !stopped && !events::is_interrupted() {
        worker.confirm_predictions(body, place);
        worker.confirm(body, place, last);
        worker.follow_guidelines(body, place);
    }
    // A search that has run every class has seen every data race, but has compared no values of blocks.
    if !stopped {
        worker.report_unconfirmed();
    } else if !worker.is_over && !events::is_interrupted() {
        worker.confirm_kinds(body, place);
    }
    if !events::is_interrupted() {
        worker.confirm_properties(body, place);
    }
    // A search that has run every class has run one order of a free and a use in each.
    let goes_on = worker.report.failures.is_empty() || checker.keep_going;
    let is_search = !checker.replays() && !checker.is_directed() && checker.total_replay.is_none();
    if goes_on && is_search && !events::is_interrupted() {
        worker.confirm_early_frees(body, place);
    }
    let limit = before.or_else(|| limit(&worker, stopped));
    worker.report.set_limit(limit.filter(|_| !worker.is_over));
    if !events::is_interrupted() && !checker.is_directed() {
        worker.require_completed();
    }
    worker.status = None;
    if let Some(estimate) = estimate.filter(|it| !it.is_rough) {
        worker.report.set_estimate(estimate.into());
    }
    worker.write_batch(true);
    if let (Some(operations), Some(check)) = (&operations, &name) {
        events::mutants(check, operations.mutants());
    }
    #[cfg(unix)]
    if let Some(sum) = &sum {
        sum.write();
    }
    let mut report = finish(worker, name, start, history);
    if let Some(earlier) = history.and_then(|history| history.earlier()) {
        report.set_earlier(earlier);
    }
    report.elapsed += search.before();
    list_alternatives(job, &mut report);
    report
}

/// Adds the alternatives of the steps of each failure. A check that does not shorten runs only the executions of
/// the search.
fn list_alternatives(job: Job<'_>, report: &mut Report) {
    let Job {
        checker,
        body,
        place,
        fatal,
        deadline,
        ..
    } = job;
    if checker.shorten && !events::is_interrupted() {
        let deadline = deadline.of_explanation(Instant::now());
        for failure in report.failures.iter_mut().take(MAX_LISTED) {
            if deadline.is_past() {
                break;
            }
            explain::alternatives::fill(checker, body, place, fatal, failure, deadline);
        }
    }
}

/// Returns the limit that has ended the search, if one has.
fn limit(worker: &Worker<'_, '_>, stopped: bool) -> Option<SearchLimit> {
    let Worker {
        checker, deadline, ..
    } = worker;
    if stopped || checker.replays() {
        return None;
    }
    let is_native = checker.program.dialect() != Dialect::Library;
    let setting = |library: &str, native: &str| match is_native {
        true => native.to_owned(),
        false => library.to_owned(),
    };
    let most = phases::max_runs(checker);
    let saturated = worker.saturation.ended_after();
    let time = match worker.is_out_of_time {
        true => checker.max_time,
        false => deadline.limit(),
    };
    Some(match time {
        _ if events::is_interrupted() => SearchLimit::Interrupted,
        Some(limit) if worker.is_out_of_time || deadline.is_past() => {
            let setting = setting("max_time", "--budget");
            SearchLimit::time(limit, checker.max_time.is_none(), setting)
        }
        _ if worker.has_used_its_runs() => {
            let setting = setting("max_executions", "--max-executions");
            SearchLimit::runs(most, checker.max_executions.is_none(), setting)
        }
        _ if saturated.is_some() => return saturated.map(SearchLimit::saturated),
        // Other strategies use the rest of the budget of `auto`.
        _ if worker.done().gave_up => SearchLimit::Branches,
        _ => return None,
    })
}

/// Completes the report.
fn finish(
    worker: Worker<'_, '_>,
    name: Option<CheckName>,
    start: Instant,
    history: Option<&Arc<History>>,
) -> Report {
    let Worker {
        checker,
        context,
        mut report,
        coverage,
        dropped_stacks,
        has_foreign_threads,
        mut shared_locals,
        mut reached,
        properties,
        counted_elsewhere,
        recording,
        ..
    } = worker;
    let has_foreign_threads = has_foreign_threads || context.has_foreign_threads();
    shared_locals.add(context.shared_locals());
    reached.merge(context.reached());
    // Uses that were not seen matter only to a search that would be complete.
    let claims =
        |exploration: &mut Exploration| exploration.exhausted() || exploration.bounded().is_some();
    if !context.with_exploration(claims) {
        shared_locals.unclear.clear();
    }
    // The order of operations of foreign threads was not explored, a shared thread-local is one for each
    // thread in the program, and where an old pointer leads to is no part of a class.
    let left_out = checker.program.left_out();
    let leaves_out = has_foreign_threads
        || shared_locals.has_any()
        || left_out.is_some()
        || checker.reuse_memory;
    context.with_exploration(|exploration| {
        report.executions = exploration.executions();
        report.set_runs(exploration.runs());
        report.discarded = exploration.discarded();
        if checker.is_directed() {
            report.attempts = exploration.attempts();
        }
        let reduced = checker.is_reduced();
        let replays_all = checker.total_replay.is_some();
        report.exhausted = exploration.exhausted() && !reduced && !leaves_out && !replays_all;
        if replays_all {
            report.attempts = exploration.attempts();
            report.set_consistency(exploration.exhausted() && !leaves_out);
        }
        report.set_foreign_threads(has_foreign_threads);
        report.set_left_out(left_out);
        let guarantee = match checker.strategy {
            Strategy::Replay(_) => Guarantee::Replayed,
            Strategy::Directed(_) => Guarantee::Directed,
            _ if replays_all => Guarantee::Sampled,
            _ if leaves_out => Guarantee::Sampled,
            _ if exploration.exhausted() && checker.reduces_to_paths() => Guarantee::Paths,
            _ if exploration.exhausted() && reduced => Guarantee::Reduced,
            _ if report.exhausted => Guarantee::Exhaustive,
            _ if reduced => Guarantee::Sampled,
            _ => match exploration.bounded() {
                Some(Bound::Preemptions(preemptions)) => Guarantee::Bounded { preemptions },
                Some(Bound::Delays(delays)) => Guarantee::Delayed { delays },
                None => Guarantee::Sampled,
            },
        };
        // An exhausted search has run every class in this run.
        let classes = match (counted_elsewhere, guarantee) {
            (Some(counted), _) => counted.classes,
            (None, Guarantee::Exhaustive | Guarantee::Reduced | Guarantee::Paths) => {
                exploration.classes_run()
            }
            (None, _) => exploration.classes(),
        };
        report.set_classes(classes, guarantee);
        let is_estimated = counted_elsewhere.is_some_and(|counted| counted.is_estimated);
        report.set_estimated_classes(is_estimated);
        let says_something = !report.exhausted && report.executions >= FEW;
        let unseen = exploration.unseen().filter(|_| says_something);
        report.set_unseen(unseen.map(Into::into));
        report.set_gave_up(exploration.gave_up());
        let cuts = exploration.cuts();
        report.set_cuts(cuts.too_long, cuts.left_polling, cuts.out_of_time);
    });
    if let Some(coverage) = coverage {
        let places = context.places();
        let measured = coverage;
        let mut coverage = Coverage::of(&measured, |site| places.to_text(site));
        // Classes by reads-from leave the order of some writes open, and executions of an earlier
        // process may not have been measured.
        if report.guarantee() == Guarantee::Exhaustive
            && checker.classes == Classes::ReadsFromAndCoherence
            && coverage.executions == report.executions
        {
            coverage.conclude();
            if let Some(history) = history {
                let open = measured.requirements().filter(|(requirement, standing)| {
                    *standing == Standing::NotTried && requirement.metric.is_of_classes()
                });
                history.exclude(open.map(|(requirement, _)| requirement).collect(), &places);
            }
        }
        if let (Some(_), Some(check)) = (&checker.since, &name)
            && events::are_wanted()
        {
            let is_complete = report.guarantee() == Guarantee::Exhaustive;
            let requirements = since::requirements(&measured, &places, is_complete);
            events::requirements(check, requirements);
        }
        if !checker.reported().is_empty() {
            report.set_coverage(coverage);
        }
    }
    if let Some(recording) = recording {
        recording.add_to(&mut report, &context);
    }
    report.set_shared_locals(
        shared_locals.known.into_iter().collect(),
        shared_locals.unclear.into_iter().collect(),
    );
    let report_note = report.note_of_shared_locals();
    let dropped = context.dropped_stacks() + dropped_stacks;
    let running = name.clone();
    let name = match &checker.strategy {
        Strategy::Replay(schedule) => schedule.check.clone(),
        _ => name,
    };
    for (index, failure) in report.failures.iter_mut().enumerate() {
        if dropped > 0 {
            failure.notes.push(dropped_note(dropped));
        }
        failure.notes.extend(report_note.clone());
        failure.schedule.check.clone_from(&name);
        if checker.replays() || !is_replayable(failure.kind) {
            continue;
        }
        // One file for a test: the failure shown first.
        if index == 0 {
            let settings = learnt::settings(checker);
            let text = learnt::with_schedule(failure, &failure.schedule, &settings);
            let saved = saved::save(checker.program, &failure.schedule, &text);
            failure.replay = Some(saved.replay);
            failure.notes.extend(saved.problem);
        } else {
            failure.replay = Some(saved::command(checker.program, &failure.schedule));
        }
    }
    if checker.replays()
        && events::are_wanted()
        && let Some(name) = &running
    {
        let trace = context.with_execution(|execution, _| Trace::of(execution, &context));
        events::replayed(name, &trace);
    }
    if let Some(history) = history {
        history.add_failures(&report.failures);
    }
    // A lock order warning adds nothing to a deadlock that was found.
    let deadlock = |failure: &Failure| failure.kind == FailureKind::Deadlock;
    if report.failures.iter().any(deadlock) {
        report
            .warnings
            .retain(|warning| warning.kind != FailureKind::LockOrder);
    }
    if report.exhausted && report.executions == 1 && report.discarded == 0 {
        context.with_execution(|execution, _| {
            // Only the begin and end of the body: no controlled type was used.
            if execution.events.is_empty() {
                // Another process ran it.
            } else if execution.events.len() == 2 {
                report.set_alone(Alone::Nothing);
            } else if context.is_native() || !report.warnings.is_empty() {
                // All types are controlled, or there is a warning.
            } else if execution.threads.len() == 1 {
                report.set_alone(Alone::Thread);
            } else {
                report.set_alone(Alone::Order);
            }
        });
    }
    if counted_elsewhere.is_none() {
        let growth = context.with_exploration(|exploration| exploration.growth());
        report.set_growth(&growth);
    }
    report.set_modelled(checker.program.modelled());
    report.set_reached(reached);
    report.set_properties(properties.map_or_else(Vec::new, |judged| judged.finish()));
    report.elapsed = start.elapsed();
    report
}

/// True when a schedule can show a failure of this kind.
fn is_replayable(kind: FailureKind) -> bool {
    use FailureKind::{IgnoredValue, Impossible, Nondeterminism};
    !matches!(kind, Nondeterminism | Impossible | IgnoredValue)
}

fn dropped_note(count: usize) -> String {
    let (threads, them, their) = match count {
        1 => ("1 thread was".to_owned(), "it", "its"),
        count => (format!("{count} threads were"), "them", "their"),
    };
    format!(
        "{threads} left by dropping the stack without unwinding, because destructors or \
         `catch_unwind` kept {them} from ending; {their} memory is not given back"
    )
}
