//! A search that is shared with other machines.
//!
//! `RADDLE_SHARED_SEARCH` names the socket of the command that runs the test. The command has the connection to
//! a queue with the parts of the search. The check explores the parts that it is handed, each for a short time,
//! and hands back counts, findings and the rest of the part. At the end it is handed the results of all parts
//! and reports them as if it had run them itself; it replays what failed.
//!
//! Each part has a worker of its own, so that its results do not depend on earlier parts: those may be lost
//! with the connection, and are then explored again. The parts of an exhaustive search are branches, those of a
//! sampler are streams.

mod coverage;
mod estimate;
mod moved;
mod results;
mod streams;

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use raddle_engine::frontier::Item;
use raddle_engine::{CheckName, Exploration};
use raddle_report::exchange::{FromCheck, Part, PartResults, SharedSearch, ToCheck};

use crate::driver::early_frees::Suspected;
use crate::driver::phases::{self, Budget, Patience};
use crate::driver::run::Stopped;
use crate::driver::work_pool::EndReason;
use crate::driver::worker::Worker;
use crate::driver::workers::Job;
use crate::persist::checkpoint::{self, Saving};
use crate::persist::descriptors::out_of_the_way;
use crate::program::Dialect;
use crate::runtime::{Places, watchdog};
use crate::settings::checker::Checker;
use crate::settings::mutant::Mutant;
use crate::settings::options::{Classes, Level, Strategy};
pub(crate) use results::SumAlone;
use results::{FINGERPRINTS, conclude, keeps_classes, results, sums_fingerprints};
use streams::Streams;

/// The variable with the path of the socket.
const VARIABLE: &str = "RADDLE_SHARED_SEARCH";
/// The connection of a search to the command that shares it.
pub(crate) struct Connection {
    from: BufReader<UnixStream>,
    to: UnixStream,
    /// The checkpoint from which the search comes, or to which it goes.
    saving: Option<Saving>,
}

/// Returns the path of the socket if the environment requests that the search of this check is shared.
fn requested(checker: &Checker) -> Option<OsString> {
    let path = std::env::var_os(VARIABLE).filter(|path| !path.is_empty())?;
    let is_search = !checker.replays()
        && !checker.is_directed()
        && checker.part_of.is_none()
        && checker.total_replay.is_none();
    is_search.then_some(path)
}

/// True when the search of this check is shared. Its time is limited by the command that shares it, and the default
/// limit is one for a process.
pub(crate) fn is_requested(checker: &Checker) -> bool {
    requested(checker).is_some()
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
    places: &Places,
) -> Option<Connection> {
    let path = requested(checker)?;
    let connection = UnixStream::connect(&path).and_then(|to| {
        let from = UnixStream::from(out_of_the_way(to.try_clone()?.into()));
        let (from, to) = (BufReader::new(from), out_of_the_way(to.into()).into());
        let saving = Saving::new(checker, name, Instant::now());
        Ok(Connection { from, to, saving })
    });
    let mut connection = connection.unwrap_or_else(|error| {
        panic!(
            "raddle: {VARIABLE}: {} cannot be used: {error}",
            path.display()
        )
    });
    let refused = match (refusal(checker, is_observed), name) {
        (None, Some(name)) => {
            let saving = connection.saving.as_mut().filter(|_| checker.resume);
            let begun = saving.and_then(|saving| moved::load(saving, places));
            connection.send(&FromCheck::Search(SharedSearch {
                check: name.test.clone(),
                number: name.number,
                settings: settings(checker),
                since: earlier_version(checker),
                begun,
                ..division(checker)
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
    if checker.program.dialect() != Dialect::Library {
        // Nothing catches a panic there, and the command reports the reason.
        // SAFETY: `_exit` runs no destructors and exit handlers, and no execution of the program has begun that would
        // need them.
        unsafe { libc::_exit(2) }
    }
    panic!("raddle: the search of {check} cannot be shared: {refused}")
}

/// Returns the parts and the limits of the search of a check.
///
/// `Auto` begins with the exhaustive search, which has one half of the runs and of the time. If that does not end with
/// every class, streams of its samplers have the other half. There is no search with a bound.
fn division(checker: &Checker) -> SharedSearch {
    let milliseconds = checker.max_time.map(|time| time.as_millis() as u64);
    let runs = Some(phases::max_runs(checker)).filter(|&runs| runs < u64::MAX);
    let root = Part::ROOT.to_owned();
    match checker.strategy {
        Strategy::Exhaustive => SharedSearch {
            root,
            milliseconds,
            runs,
            ..SharedSearch::default()
        },
        Strategy::Auto => SharedSearch {
            root,
            milliseconds,
            runs: runs.map(|runs| runs.div_ceil(2)),
            next: Some(Streams::all(checker).to_text()),
            ..SharedSearch::default()
        },
        // The number of streams limits the runs.
        _ => SharedSearch {
            root: Streams::all(checker).to_text(),
            milliseconds,
            ..SharedSearch::default()
        },
    }
}

/// Returns the reason why the search of a check cannot be shared, if there is one.
fn refusal(checker: &Checker, is_observed: bool) -> Option<&'static str> {
    let is_search = matches!(checker.strategy, Strategy::Exhaustive | Strategy::Auto);
    let is_guided = matches!(checker.strategy, Strategy::Coverage { .. });
    let reasons = [
        (
            !is_search && !is_guided && checker.strategy.sampler().is_none(),
            "only `auto`, `exhaustive`, `coverage` and the samplers are shared; add --strategy exhaustive or --strategy \
             random",
        ),
        (
            checker.strategy == Strategy::Auto && checker.is_reduced(),
            "the strategy `auto` is not shared with a reduction; add --strategy exhaustive",
        ),
        (
            checker.preemptions.is_some() && checker.strategy != Strategy::Exhaustive,
            "a bound of preemptions is shared with --strategy exhaustive only",
        ),
        (
            checker.classes == Classes::ReadsFrom,
            "its classes are those of reads-from, which are compared with each other",
        ),
        (
            checker.remember && checker.strategy != Strategy::Exhaustive,
            "it has a history of classes (`remember`), which is shared with --strategy exhaustive only",
        ),
        (
            checker.workers.get() > 1,
            "it has several workers of its own; more processes come from `cargo raddle work --jobs`",
        ),
        (
            checker.checkpoint.is_some(),
            "it has a checkpoint of its own name; without one, --resume begins with that of the test",
        ),
        (checker.only_estimate, "it only estimates"),
        (checker.mutant != Mutant::None, "its operations are changed"),
        (
            checker.verify_completeness || is_observed,
            "it looks at every execution (`verify_completeness`)",
        ),
    ];
    let mut refused = reasons.into_iter().filter(|(is_so, _)| *is_so);
    let refused = refused.next().map(|(_, reason)| reason);
    refused.or_else(|| checker.program.unshareable())
}

/// Returns what is known of an earlier version. A file that cannot be read is reported where it is used.
fn earlier_version(checker: &Checker) -> Option<String> {
    std::fs::read_to_string(checker.since.as_deref()?).ok()
}

/// Returns the settings that must be the same on every machine.
fn settings(checker: &Checker) -> Vec<(String, String)> {
    let level = |level: Level| format!("{level:?}");
    let limit = |limit: Option<String>| limit.unwrap_or_else(|| "none".to_owned());
    // Nothing is drawn at random, and the seed of a check with a history is another one in each run.
    let seed = match checker.strategy {
        Strategy::Exhaustive => "none".to_owned(),
        _ => checker.seed.to_string(),
    };
    let others = [
        ("strategy", checker.strategy.to_string()),
        ("seed", seed),
        ("coverage", checker.measured().to_string()),
        (
            "max_executions",
            limit(checker.max_executions.map(|runs| runs.to_string())),
        ),
        (
            "max_time",
            limit(checker.max_time.map(|time| format!("{time:?}"))),
        ),
        ("keep_going", checker.keep_going.to_string()),
        ("lock_order", level(checker.lock_order)),
        ("leaks", level(checker.leaks)),
        ("predictions", level(checker.predictions)),
        ("since", limit(earlier_version(checker).map(of_version))),
    ];
    let others = others.map(|(name, value)| (name.to_owned(), value));
    let mut all = checkpoint::identity(checker);
    all.extend(checker.program.identity());
    all.extend(others);
    all
}

/// Returns a short text for what is known of an earlier version. All machines have the same build, so a hash of it is
/// the same on all of them.
fn of_version(text: String) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
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

    /// True when a message has come, or the end of the connection.
    fn has_message(&mut self) -> bool {
        // Both ends of this process are one socket, which waits again for everything else.
        let wait = |connection: &Self, waits: bool| connection.to.set_nonblocking(!waits);
        wait(self, false).unwrap_or_else(|error| lost(error));
        let found = self.from.fill_buf().map(drop);
        wait(self, true).unwrap_or_else(|error| lost(error));
        !matches!(found, Err(error) if error.kind() == ErrorKind::WouldBlock)
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
                    let results = match Streams::of_text(&part.item) {
                        Some(streams) => streams::explore(worker, job, &part, streams),
                        None => explore(worker, job, &part, &mut earlier),
                    };
                    self.send(&FromCheck::Results(results));
                }
                ToCheck::Estimate => {
                    let is_over = || self.has_message();
                    if let Some(estimate) = estimate::estimate(worker, job, is_over) {
                        self.send(&FromCheck::Estimate(estimate));
                    }
                }
                ToCheck::Totals(totals) => {
                    if let Some(saving) = self.saving.as_ref().filter(|_| job.checker.resume) {
                        // The search is in the queue, or has ended.
                        saving.forget(true);
                    }
                    return conclude(worker, job, totals);
                }
                ToCheck::Keep(results) => {
                    let end = moved::keep(worker, job, self.saving.as_ref(), results);
                    // The command removes the search from the queue only then.
                    self.send(&FromCheck::Results(PartResults::default()));
                    return end;
                }
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
    // The limit of runs also holds for those that confirm a suspicion.
    let checker = &Checker {
        max_executions: part.runs,
        max_time: None,
        ..job.checker.clone()
    };
    let places = worker.context.places();
    let is_root = part.item == Part::ROOT;
    let search = match is_root {
        true => phases::exhaustive(checker),
        false => phases::exhaustive(checker).idle(),
    };
    let mut exploration = Exploration::new(search, checker.limits());
    if checker.strategy == Strategy::Auto || keeps_classes() {
        // Samplers may run the same classes, so their fingerprints are kept.
        exploration.remember(&[]);
    }
    let context = checker.context(exploration, job.fatal.clone());
    context.share_places(&places);
    let fingerprints = AtomicU64::new(0);
    let add = summing(&fingerprints);
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
        executions: part.runs.unwrap_or(u64::MAX),
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
    let mut results = results(&own, &places, part.pieces, is_over);
    results.classes = own.context.with_exploration(|e| e.take_new_classes());
    if sums_fingerprints() {
        let sum = fingerprints.load(Relaxed);
        results.sums.insert(FINGERPRINTS.to_owned(), sum);
    }
    results
}

/// Returns an observer that adds the fingerprints of executions.
fn summing(sum: &AtomicU64) -> impl Fn(Stopped<'_>) + Sync + '_ {
    // Sums of upper halves do not overflow.
    |stopped| {
        sum.fetch_add(stopped.execution.fingerprint() >> 32, Relaxed);
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

/// Parses the text of a part and returns the number of its items.
pub fn read_part(text: &str) -> Result<usize, String> {
    let places = Arc::new(Places::new(&crate::program::Library));
    Ok(items(text, &places)?.len())
}
