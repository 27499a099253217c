//! The results of parts, and those of all parts as the results of the check.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use raddle_engine::coverage::Coverage;
use raddle_engine::frontier::Item;
use raddle_engine::strategy::Reach;
use raddle_engine::{CheckName, CutCounts, Execution, Tally};
use raddle_report::exchange::{FoundFailure, PartResults, Totals};
use raddle_report::{CodePlace, Failure, Reached, ReachedStates};

use crate::driver::known_schedules;
use crate::driver::pairs;
use crate::driver::phases::{self, sized_search};
use crate::driver::shared_search::coverage;
use crate::driver::work_pool::EndReason;
use crate::driver::worker::{CountedElsewhere, Worker};
use crate::driver::workers::Job;
use crate::persist::events;
use crate::runtime::Places;
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// Maximum wait for the signal that belongs to an interrupted search.
const SIGNAL: Duration = Duration::from_secs(2);

/// Names of sums and facts.
pub(super) const RUNS: &str = "runs";
pub(super) const EXECUTIONS: &str = "executions";
pub(super) const DISCARDED: &str = "discarded";
pub(super) const TOO_LONG: &str = "too-long";
pub(super) const LEFT_POLLING: &str = "left-polling";
pub(super) const OUT_OF_TIME: &str = "out-of-time";
const DROPPED_STACKS: &str = "dropped-stacks";
pub(super) const FINGERPRINTS: &str = "fingerprints";
pub(super) const STREAM_FINGERPRINTS: &str = "stream-fingerprints";
/// Executions whose coverage was measured.
const MEASURED: &str = "measured";
const CONTINUED: &str = "continued";
/// Facts about a bound of preemptions: see [`Reach`].
const LEFT_OUT: &str = "left-out";
const LEFT_OUT_FIRST: &str = "left-out-first";
const WEAKENED: &str = "weakened";
const WEAKENED_LATE: &str = "weakened-late";
pub(super) const CUT_SHORT: &str = "cut-short";
const FOREIGN_THREADS: &str = "foreign-threads";
const SHARED_LOCAL: &str = "shared-local ";
const UNCLEAR_LOCAL: &str = "unclear-local ";
const WARNING: &str = "warning ";
/// Executions whose marked states were observed, and counts of each state by place and name.
const OBSERVED: &str = "observed";
const CAME: &str = "came ";
const HELD: &str = "held ";

/// Returns the results of a worker, with its remaining work in at most `pieces` parts. A search that is over has
/// no remaining work.
pub(super) fn results(
    own: &Worker<'_, '_>,
    places: &Places,
    pieces: usize,
    is_over: bool,
) -> PartResults {
    let (counted, pieces, reach) = own.context.with_exploration(|exploration| {
        let counted = exploration.counted();
        let search = exploration.world().exhaustive();
        let left = search.filter(|_| !is_over).map(|search| {
            // The oldest branches have the largest subtrees.
            let mut parts: Vec<Vec<Item>> = Vec::new();
            while parts.len() + 1 < pieces {
                let Some(item) = search.give() else { break };
                parts.push(vec![item]);
            }
            parts.push(search.give_all());
            parts.retain(|part| !part.is_empty());
            parts
        });
        let search = exploration.world().exhaustive();
        let reach = search.map(|search| search.reach()).unwrap_or_default();
        (counted, left.unwrap_or_default(), reach)
    });
    let text = |item: &Item| item.to_text(|site| places.to_text(site));
    let items = pieces.iter().map(|piece| piece.iter().map(text).collect());
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: String| facts.push((name, String::new()));
    if counted.cut_short {
        fact(CUT_SHORT.to_owned());
    }
    if own.context.has_foreign_threads() {
        fact(FOREIGN_THREADS.to_owned());
    }
    reach_facts(reach).for_each(|it| fact(it.to_owned()));
    let coverage = own.coverage.as_deref();
    let requirements = coverage.map(|coverage| coverage::facts(coverage, places));
    requirements.into_iter().flatten().for_each(&mut fact);
    let locals = own.context.shared_locals();
    let known = locals
        .known
        .iter()
        .map(|name| format!("{SHARED_LOCAL}{name}"));
    let unclear = locals
        .unclear
        .iter()
        .map(|name| format!("{UNCLEAR_LOCAL}{name}"));
    known.chain(unclear).for_each(&mut fact);
    for warning in &own.report.warnings {
        let (kind, message) = warning.gist();
        let token = warning.schedule.to_token();
        facts.push((format!("{WARNING}{kind}: {message}"), token));
    }
    let CutCounts {
        too_long,
        left_polling,
        out_of_time,
    } = counted.cuts;
    let reached = own.context.reached();
    let of_states = reached.states.iter().flat_map(|state| {
        let key = |word: &str| format!("{word}{}\t{}", state.place, state.name);
        [(key(CAME), state.came), (key(HELD), state.held)]
    });
    let sums = [
        (OBSERVED, reached.executions),
        (RUNS, counted.runs),
        (EXECUTIONS, counted.executions),
        (DISCARDED, counted.discarded),
        (TOO_LONG, too_long),
        (LEFT_POLLING, left_polling),
        (OUT_OF_TIME, out_of_time),
        (DROPPED_STACKS, own.context.dropped_stacks() as u64),
        (MEASURED, coverage.map_or(0, Coverage::executions)),
    ];
    PartResults {
        sums: (sums.into_iter())
            .map(|(name, sum)| (name.to_owned(), sum))
            .chain(of_states)
            .collect(),
        facts: facts.into_iter().collect(),
        failures: own.report.failures.iter().map(found).collect(),
        items: items.collect(),
        next: None,
        classes: Vec::new(),
        is_over,
        is_last: events::is_interrupted(),
    }
}

/// Returns the facts of a part about a bound of preemptions.
pub(super) fn reach_facts(reach: Reach) -> impl Iterator<Item = &'static str> {
    let [left_out, weakened, late] = reach.to_words();
    let all = [
        (left_out, LEFT_OUT),
        (left_out && !weakened, LEFT_OUT_FIRST),
        (weakened, WEAKENED),
        (late, WEAKENED_LATE),
    ];
    let facts = all.into_iter().filter(|(is_so, _)| *is_so);
    facts.map(|(_, fact)| fact)
}

/// Returns how far all parts of a search with a bound of preemptions have come. Where the order of two parts would
/// matter, it is taken to be the worse one.
fn reach_of(has: impl Fn(&str) -> bool) -> Reach {
    let late = has(LEFT_OUT_FIRST) && has(WEAKENED);
    Reach::of_words([has(LEFT_OUT), has(WEAKENED), late || has(WEAKENED_LATE)])
}

fn found(failure: &Failure) -> FoundFailure {
    let (kind, message) = failure.gist();
    let pair = failure.critical.as_ref();
    FoundFailure {
        execution: failure.execution,
        schedule: failure.schedule.to_token(),
        search: failure.search.clone(),
        pair: pair.map(pairs::to_text).unwrap_or_default(),
        headline: format!("{kind}: {message}"),
    }
}

/// Makes the results of all parts those of the check.
pub(super) fn conclude<'a>(
    worker: &mut Worker<'a, '_>,
    job: Job<'a>,
    totals: Totals,
) -> (bool, Option<EndReason>) {
    let Totals {
        results,
        is_exhausted,
        is_out_of_time,
        classes,
        is_estimated,
        resume,
    } = totals;
    let sum = |name: &str| results.sums.get(name).copied().unwrap_or(0);
    let has = |name: &str| results.facts.contains_key(name);
    // `Auto` ends with the exhaustive search, or with samplers.
    let is_search = match job.checker.strategy {
        Strategy::Exhaustive => true,
        Strategy::Auto => !has(CONTINUED),
        _ => false,
    };
    let check = job.fatal.check.as_ref().map(CheckName::to_string);
    write_fingerprints(&check.unwrap_or_default(), sum(FINGERPRINTS));
    if job.checker.strategy == Strategy::Auto {
        write_fingerprints("streams", sum(STREAM_FINGERPRINTS));
    }
    let cuts = CutCounts {
        too_long: sum(TOO_LONG),
        left_polling: sum(LEFT_POLLING),
        out_of_time: sum(OUT_OF_TIME),
    };
    let (runs, executions) = (sum(RUNS), sum(EXECUTIONS));
    let tally = Tally::new(runs, executions, sum(DISCARDED), has(CUT_SHORT), cuts);
    worker.context.with_exploration(|exploration| {
        if is_exhausted && is_search {
            let mut search = sized_search(job.checker).idle().counting_from(executions);
            search.reached(reach_of(has));
            exploration.world().set_strategy(search);
        }
        exploration.absorb(tally);
    });
    worker.counted_elsewhere = match is_search {
        // No class repeats in a search.
        true => Some(CountedElsewhere {
            classes: executions,
            is_estimated: false,
        }),
        false => Some(CountedElsewhere {
            classes,
            is_estimated,
        }),
    };
    worker.is_out_of_time = is_out_of_time;
    if worker.coverage.is_some() {
        let (facts, places) = (&results.facts, worker.context.places());
        let coverage = coverage::of_facts(job.checker, facts, sum(MEASURED), &places);
        worker.coverage = Some(Box::new(coverage));
    }
    worker.reached.merge(reached(&results));
    worker.dropped_stacks += usize::try_from(sum(DROPPED_STACKS)).unwrap_or(usize::MAX);
    worker.has_foreign_threads |= has(FOREIGN_THREADS);
    for fact in results.facts.keys() {
        if let Some(name) = fact.strip_prefix(SHARED_LOCAL) {
            worker.shared_locals.known.insert(name.to_owned());
        } else if let Some(name) = fact.strip_prefix(UNCLEAR_LOCAL) {
            worker.shared_locals.unclear.insert(name.to_owned());
        }
    }
    let failures: Vec<Failure> = results.failures.iter().map(|one| again(job, one)).collect();
    for failure in failures {
        let known = &worker.report.failures;
        if known.iter().all(|other| other.gist() != failure.gist()) {
            worker.add_known(vec![failure]);
        }
    }
    let warnings = (results.facts.iter()).filter(|(fact, _)| fact.starts_with(WARNING));
    for warning in warnings.flat_map(|(_, token)| known_schedules::found_again(job, token).1) {
        let known = &mut worker.report.warnings;
        if known.iter().all(|other| other.gist() != warning.gist()) {
            known.push(warning);
        }
    }
    if results.is_over {
        worker.is_over = true;
        return (true, Some(EndReason::Failure));
    }
    if is_out_of_time {
        return (false, Some(EndReason::Budget));
    }
    if !is_exhausted && resume.is_none() {
        return (false, Some(EndReason::Budget));
    }
    if !is_exhausted {
        worker.report.resume = resume;
        wait_for_signal();
        return (false, Some(EndReason::Interrupted));
    }
    if !is_search {
        return (false, None);
    }
    let budget = phases::whole_budget(job.checker, job.deadline);
    let is_over = worker.explore(job.body, job.place, &budget, "exhaustive");
    (is_over, Some(EndReason::Exhausted))
}

/// Returns the marked states of all parts.
fn reached(results: &PartResults) -> ReachedStates {
    let sum = |name: &str| results.sums.get(name).copied().unwrap_or(0);
    let mut all = ReachedStates {
        executions: sum(OBSERVED),
        ..ReachedStates::default()
    };
    for (key, came) in &results.sums {
        let parts = key.strip_prefix(CAME).and_then(|key| key.split_once('\t'));
        if let Some((place, name)) = parts
            && let Some(place) = CodePlace::parse(place)
        {
            let held = sum(&format!("{HELD}{place}\t{name}"));
            all.add(Reached::new(name.to_owned(), place, *came, held));
        }
    }
    all
}

/// Replays a failure.
///
/// # Panics
///
/// If the schedule does not fail here: the test must not pass then.
fn again(job: Job<'_>, found: &FoundFailure) -> Failure {
    let (failures, _) = known_schedules::found_again(job, &found.schedule);
    let Some(mut failure) = failures.into_iter().next() else {
        panic!(
            "raddle: another machine has found a failure that does not occur here\n\n  {}\n\nIts schedule is {}",
            found.headline, found.schedule
        );
    };
    failure.execution = found.execution;
    failure.search.clone_from(&found.search);
    failure.critical = pairs::of_text(&found.pair);
    failure
}

/// Waits for the signal that interrupted the search, which may come after the message about it.
fn wait_for_signal() {
    let start = Instant::now();
    while !events::is_interrupted() && start.elapsed() < SIGNAL {
        thread::sleep(Duration::from_millis(5));
    }
}

/// The file that `RADDLE_SELF_TEST=fingerprints:FILE` names, for tests of raddle itself.
fn fingerprint_file() -> Option<&'static str> {
    static FILE: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let text = std::env::var("RADDLE_SELF_TEST").ok()?;
        Some(text.strip_prefix("fingerprints:")?.to_owned())
    };
    FILE.get_or_init(read).as_deref()
}

/// True when each part hands back its classes, for tests of raddle itself.
pub(super) fn keeps_classes() -> bool {
    static KEEPS: OnceLock<bool> = OnceLock::new();
    *KEEPS
        .get_or_init(|| std::env::var_os("RADDLE_SELF_TEST").is_some_and(|text| text == "classes"))
}

pub(super) fn sums_fingerprints() -> bool {
    fingerprint_file().is_some()
}

/// The sum of the fingerprints of a check that one process runs, for tests of raddle itself.
pub(crate) struct SumAlone {
    check: String,
    sum: AtomicU64,
}

impl SumAlone {
    /// Returns a sum if the environment names the file for it, and the check is a search of this process.
    pub(crate) fn wanted(checker: &Checker, check: Option<&CheckName>) -> Option<Self> {
        let is_alone = !checker.replays() && !super::is_requested(checker);
        let check = check.filter(|_| is_alone && sums_fingerprints())?;
        Some(SumAlone {
            check: check.to_string(),
            sum: AtomicU64::new(0),
        })
    }

    pub(crate) fn see(&self, execution: &Execution) {
        // Sums of upper halves do not overflow.
        self.sum.fetch_add(execution.fingerprint() >> 32, Relaxed);
    }

    pub(crate) fn write(&self) {
        write_fingerprints(&self.check, self.sum.load(Relaxed));
    }
}

/// Appends the sum of the fingerprints of all executions that count.
fn write_fingerprints(name: &str, sum: u64) {
    let Some(path) = fingerprint_file() else {
        return;
    };
    let line = format!("{name} {sum}\n");
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    let written = file.and_then(|mut file| io::Write::write_all(&mut file, line.as_bytes()));
    written.unwrap_or_else(|error| panic!("raddle: {path}: {error}"));
}
