//! A search that is shared with other machines.
//!
//! `RADDLE_SHARED_SEARCH` names the socket of the command that runs the test. The command has the connection to
//! a queue with the parts of the search. The check explores the parts that it is handed, each for a short time,
//! and hands back counts, findings and the rest of the part. At the end it is handed the results of all parts
//! and reports them as if it had run them itself; it replays what failed.
//!
//! Each part has a worker of its own, so that its results do not depend on earlier parts: those may be lost
//! with the connection, and are then explored again.

use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use raddle_engine::frontier::Item;
use raddle_engine::{CheckName, CutCounts, Execution, Exploration, Tally};
use raddle_report::Failure;
use raddle_report::exchange::{
    FoundFailure, FromCheck, Part, PartResults, SharedSearch, ToCheck, Totals,
};

use crate::driver::early_frees::Suspected;
use crate::driver::known_schedules;
use crate::driver::pairs;
use crate::driver::phases::{self, Budget, Patience, sized_search};
use crate::driver::work_pool::EndReason;
use crate::driver::worker::Worker;
use crate::driver::workers::Job;
use crate::persist::checkpoint;
use crate::persist::events;
use crate::program::Dialect;
use crate::runtime::{Places, watchdog};
use crate::settings::checker::Checker;
use crate::settings::mutant::Mutant;
use crate::settings::options::{Classes, Level, Strategy};

/// The variable with the path of the socket.
const VARIABLE: &str = "RADDLE_SHARED_SEARCH";
/// Maximum wait for the signal that belongs to an interrupted search.
const SIGNAL: Duration = Duration::from_secs(2);

/// Names of sums and facts.
const RUNS: &str = "runs";
const EXECUTIONS: &str = "executions";
const DISCARDED: &str = "discarded";
const TOO_LONG: &str = "too-long";
const LEFT_POLLING: &str = "left-polling";
const OUT_OF_TIME: &str = "out-of-time";
const DROPPED_STACKS: &str = "dropped-stacks";
const FINGERPRINTS: &str = "fingerprints";
const CUT_SHORT: &str = "cut-short";
const FOREIGN_THREADS: &str = "foreign-threads";
const SHARED_LOCAL: &str = "shared-local ";
const UNCLEAR_LOCAL: &str = "unclear-local ";
const WARNING: &str = "warning ";

/// The connection of a search to the command that shares it.
pub(crate) struct Connection {
    from: BufReader<UnixStream>,
    to: UnixStream,
}

/// Connects the search of this check, if the environment requests it.
///
/// # Panics
///
/// If the search cannot be shared.
#[track_caller]
pub(crate) fn connect(
    checker: &Checker,
    name: Option<&CheckName>,
    is_observed: bool,
) -> Option<Connection> {
    let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty())?;
    if checker.replays() || checker.is_directed() || checker.part_of.is_some() {
        return None;
    }
    let connection = UnixStream::connect(&path).and_then(|to| {
        let from = BufReader::new(to.try_clone()?);
        Ok(Connection { from, to })
    });
    let mut connection = connection.unwrap_or_else(|error| {
        panic!(
            "raddle: {VARIABLE}: {} cannot be used: {error}",
            path.display()
        )
    });
    let refused = match (refusal(checker, is_observed), name) {
        (None, Some(name)) => {
            connection.send(&FromCheck::Search(SharedSearch {
                check: name.test.clone(),
                number: name.number,
                settings: settings(checker),
            }));
            return Some(connection);
        }
        (refused, _) => refused.unwrap_or("it has no name"),
    };
    let check = name.map_or("a check without a name".to_owned(), CheckName::to_string);
    connection.send(&FromCheck::Refused {
        check: check.clone(),
        reason: refused.to_owned(),
    });
    panic!("raddle: the search of {check} cannot be shared: {refused}")
}

/// Returns the reason why the search of a check cannot be shared, if there is one.
fn refusal(checker: &Checker, is_observed: bool) -> Option<&'static str> {
    let reasons = [
        (
            checker.strategy != Strategy::Exhaustive,
            "only the strategy `exhaustive` is shared; add --strategy exhaustive",
        ),
        (
            checker.program.dialect() != Dialect::Library,
            "native programs are not shared",
        ),
        (
            checker.max_time.is_some() || checker.max_executions.is_some(),
            "it has max_time or max_executions, which would hold for each machine",
        ),
        (
            checker.preemptions.is_some(),
            "it has a bound of preemptions",
        ),
        (
            checker.classes == Classes::ReadsFrom,
            "its classes are those of reads-from, which are compared with each other",
        ),
        (!checker.measured().is_empty(), "it measures coverage"),
        (checker.remember, "it has a history (`remember`)"),
        (
            checker.workers.get() > 1,
            "it has several workers of its own; more processes come from `cargo raddle work --jobs`",
        ),
        (
            checker.resume || checker.checkpoint.is_some(),
            "it has a checkpoint; a search in a queue is resumed by the same command",
        ),
        (checker.only_estimate, "it only estimates"),
        (checker.mutant != Mutant::None, "its operations are changed"),
        (
            checker.verify_completeness || is_observed,
            "it looks at every execution (`verify_completeness`)",
        ),
    ];
    let mut refused = reasons.into_iter().filter(|(is_so, _)| *is_so);
    refused.next().map(|(_, reason)| reason)
}

/// Returns the settings that must be the same on every machine.
fn settings(checker: &Checker) -> Vec<(String, String)> {
    let level = |level: Level| format!("{level:?}");
    let others = [
        ("keep_going", checker.keep_going.to_string()),
        ("lock_order", level(checker.lock_order)),
        ("leaks", level(checker.leaks)),
    ];
    let others = others.map(|(name, value)| (name.to_owned(), value));
    let mut all = checkpoint::identity(checker);
    all.extend(others);
    all
}

impl Connection {
    fn send(&mut self, message: &FromCheck) {
        message
            .write(&mut self.to)
            .unwrap_or_else(|error| lost(error));
    }

    fn receive(&mut self) -> ToCheck {
        match ToCheck::read(&mut self.from) {
            Ok(Some(message)) => message,
            Ok(None) => lost("it is closed"),
            Err(error) => lost(error),
        }
    }

    /// Runs the search: explores parts until the results of all are there. Returns true if the check is over,
    /// and the reason.
    pub(crate) fn explore<'a>(
        &mut self,
        worker: &mut Worker<'a, '_>,
        job: Job<'a>,
    ) -> (bool, Option<EndReason>) {
        let mut earlier = Earlier::default();
        loop {
            match self.receive() {
                ToCheck::Explore(part) => {
                    let results = explore(worker, job, &part, &mut earlier);
                    self.send(&FromCheck::Results(results));
                }
                ToCheck::Totals(totals) => return conclude(worker, job, totals),
            }
        }
    }
}

#[cold]
fn lost(error: impl std::fmt::Display) -> ! {
    panic!("raddle: the connection of a shared search is lost: {error}")
}

/// The extent to which earlier parts were examined for suspicions. Only parts without a finding count: a
/// finding may be lost with the connection, and must then be found again.
#[derive(Default)]
struct Earlier {
    executions: u64,
    early_frees: Suspected,
}

/// Explores one part until its time is over.
fn explore(
    worker: &Worker<'_, '_>,
    job: Job<'_>,
    part: &Part,
    earlier: &mut Earlier,
) -> PartResults {
    let checker = job.checker;
    let places = worker.context.places();
    let is_root = part.item == Part::ROOT;
    let search = match is_root {
        true => phases::exhaustive(checker),
        false => phases::exhaustive(checker).idle(),
    };
    let exploration = Exploration::new(search, checker.limits());
    let context = checker.context(exploration, job.fatal.clone());
    context.share_places(&places);
    let fingerprints = AtomicU64::new(0);
    let add = |execution: &Execution| {
        // Sums of upper halves do not overflow.
        fingerprints.fetch_add(execution.fingerprint() >> 32, Relaxed);
    };
    let mut own = Worker::new(checker, context, job.fatal, job.deadline);
    own.observer = sums_fingerprints().then_some(&add as _);
    own.known_elsewhere = part.known.clone();
    own.explored_before = earlier.executions;
    own.early_frees = std::mem::take(&mut earlier.early_frees);
    if !is_root {
        let items = items(&part.item, &places).unwrap_or_else(|problem| {
            panic!("raddle: a part of a shared search cannot be read: {problem}")
        });
        own.take_over(items);
    }
    let budget = Budget {
        executions: u64::MAX,
        of_all: u64::MAX,
        until: Some(Instant::now() + Duration::from_millis(part.milliseconds)),
        patience: Patience::Slice,
    };
    let watch = watchdog::watch(&own.context, checker.watchdog, job.deadline);
    own.explore(job.body, job.place, &budget, "exhaustive");
    drop(watch);
    if own.report.failures.is_empty() || checker.keep_going {
        own.confirm_early_frees(job.body, job.place);
    }
    let executions = own.context.with_exploration(|e| e.executions());
    *earlier = match own.report.failures.is_empty() && own.report.warnings.is_empty() {
        true => Earlier {
            executions: earlier.executions + executions,
            early_frees: std::mem::take(&mut own.early_frees),
        },
        false => Earlier::default(),
    };
    let is_over = own.is_over;
    let mut results = results(own, &places, part.pieces, is_over);
    if sums_fingerprints() {
        let sum = fingerprints.into_inner();
        results.sums.insert(FINGERPRINTS.to_owned(), sum);
    }
    results
}

/// Returns the results of a worker, with its remaining work in at most `pieces` parts. A search that is over has
/// no remaining work.
fn results(own: Worker<'_, '_>, places: &Places, pieces: usize, is_over: bool) -> PartResults {
    let (counted, pieces) = own.context.with_exploration(|exploration| {
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
        (counted, left.unwrap_or_default())
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
    let sums = [
        (RUNS, counted.runs),
        (EXECUTIONS, counted.executions),
        (DISCARDED, counted.discarded),
        (TOO_LONG, too_long),
        (LEFT_POLLING, left_polling),
        (OUT_OF_TIME, out_of_time),
        (DROPPED_STACKS, own.context.dropped_stacks() as u64),
    ];
    PartResults {
        sums: sums.map(|(name, sum)| (name.to_owned(), sum)).into(),
        facts: facts.into_iter().collect(),
        failures: own.report.failures.iter().map(found).collect(),
        items: items.collect(),
        is_over,
    }
}

fn found(failure: &Failure) -> FoundFailure {
    let (kind, message) = failure.gist();
    let pair = failure.critical.as_ref();
    FoundFailure {
        execution: failure.execution,
        schedule: failure.schedule.to_token(),
        pair: pair.map(pairs::to_text).unwrap_or_default(),
        headline: format!("{kind}: {message}"),
    }
}

/// Parses the items of a part, which follow each other.
fn items(text: &str, places: &Places) -> Result<Vec<Item>, String> {
    let mut lines = text.lines().peekable();
    let mut items = Vec::new();
    while lines.peek().is_some() {
        let item = Item::read(&mut lines, |place| places.of_text(place));
        items.push(item.map_err(|problem| problem.to_string())?);
    }
    Ok(items)
}

/// Makes the results of all parts those of the check.
fn conclude<'a>(
    worker: &mut Worker<'a, '_>,
    job: Job<'a>,
    totals: Totals,
) -> (bool, Option<EndReason>) {
    let Totals {
        results,
        is_exhausted,
        resume,
    } = totals;
    let sum = |name: &str| results.sums.get(name).copied().unwrap_or(0);
    let has = |name: &str| results.facts.contains_key(name);
    write_fingerprints(job, sum(FINGERPRINTS));
    let cuts = CutCounts {
        too_long: sum(TOO_LONG),
        left_polling: sum(LEFT_POLLING),
        out_of_time: sum(OUT_OF_TIME),
    };
    let (runs, executions) = (sum(RUNS), sum(EXECUTIONS));
    let tally = Tally::new(runs, executions, sum(DISCARDED), has(CUT_SHORT), cuts);
    worker.context.with_exploration(|exploration| {
        if is_exhausted {
            let search = sized_search(job.checker).idle().counting_from(executions);
            exploration.world().set_strategy(search);
        }
        exploration.absorb(tally);
    });
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
    if !is_exhausted {
        worker.report.resume = resume;
        wait_for_signal();
        return (false, Some(EndReason::Interrupted));
    }
    let budget = phases::whole_budget(job.checker, job.deadline);
    let is_over = worker.explore(job.body, job.place, &budget, "exhaustive");
    (is_over, Some(EndReason::Exhausted))
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
    failure.search = "exhaustive".to_owned();
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

fn sums_fingerprints() -> bool {
    fingerprint_file().is_some()
}

/// Appends the sum of the fingerprints of all executions that count.
fn write_fingerprints(job: Job<'_>, sum: u64) {
    let Some(path) = fingerprint_file() else {
        return;
    };
    let check = job.fatal.check.as_ref().map(CheckName::to_string);
    let line = format!("{} {sum}\n", check.unwrap_or_default());
    let file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path);
    let written = file.and_then(|mut file| io::Write::write_all(&mut file, line.as_bytes()));
    written.unwrap_or_else(|error| panic!("raddle: {path}: {error}"));
}

/// Parses the text of a part and returns the number of its items.
pub fn read_part(text: &str) -> Result<usize, String> {
    let places = Arc::new(Places::new(&crate::program::Library));
    Ok(items(text, &places)?.len())
}
