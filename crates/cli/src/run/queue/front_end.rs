//! The front end of a run: starts the searches of checks in the queue, reports their progress, and hands their
//! results to the checks.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use raddle_queue::{
    Address, ClassCount, End, Queue, Results, Run, Search, SearchState, Status, Token,
};
use raddle_report::exchange::{
    FoundFailure, FromCheck, Part, PartResults, SharedSearch, ToCheck, Totals,
};
use raddle_report::{Estimate, grouped};
use serde_json::{Value, json};

use crate::run::interrupts;
use crate::run::queue::metrics;
use crate::run::queue::sizing::Sizing;
use crate::run::queue::socket::Socket;
use crate::run::queue::{
    Problem, SOCKET_VARIABLE, SearchName, compare_runs, compare_searches, of_check,
};

/// Time for which the queue takes this front end to be there without hearing from it.
const PRESENCE: Duration = Duration::from_secs(15);
/// Interval of the signs of presence.
const SIGN: Duration = Duration::from_secs(3);
/// Shortest and longest interval of looks at a search.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LONGEST_LOOK: Duration = Duration::from_millis(200);
/// The fact of a search in which an execution was not run to its end.
const CUT_SHORT: &str = "cut-short";
/// Shortest time for parts to be committed that were leased when the time of their search was over. It is a tenth of
/// the limit if that is longer.
const GRACE: Duration = Duration::from_secs(1);

/// A search as it was started.
#[derive(Clone)]
struct Begun {
    name: SearchName,
    search: Search,
    first: Results,
}

/// The front end of a run.
pub struct FrontEnd {
    address: Address,
    run: Run,
    token: Token,
    /// The command that resumes the run.
    resume: String,
    /// True when searches are moved to checkpoints.
    exports: bool,
    /// The file for monitors.
    metrics: Option<PathBuf>,
    problems: Mutex<Vec<Problem>>,
    is_over: AtomicBool,
}

impl FrontEnd {
    /// Creates the run, or resumes an unfinished one.
    pub fn open(
        address: Address,
        run: Run,
        resume: String,
        exports: bool,
        metrics: Option<PathBuf>,
    ) -> Result<Self, Problem> {
        let mut queue = raddle_queue::connect(&address)?;
        let token = Token::random();
        if !queue.hold_front(&token, PRESENCE)? {
            return Err(Problem::AnotherFrontEnd);
        }
        let there = queue.open_run(&run)?;
        if let Err(problem) = compare_runs(&there, &run) {
            queue.release_front(&token)?;
            return Err(problem);
        }
        Ok(FrontEnd {
            address,
            run,
            token,
            resume,
            exports,
            metrics,
            problems: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Runs `action` while the queue knows that this front end is there.
    pub fn present<T>(&self, action: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            let signs = scope.spawn(|| {
                let signs = || -> Result<(), Problem> {
                    let mut queue = raddle_queue::connect(&self.address)?;
                    while !self.is_over.load(Relaxed) {
                        queue.hold_front(&self.token, PRESENCE)?;
                        self.write_metrics(&mut *queue)?;
                        thread::park_timeout(SIGN);
                    }
                    // The last state, which the run leaves behind.
                    self.write_metrics(&mut *queue)
                };
                signs().unwrap_or_else(|problem| self.add(problem));
            });
            let result = action();
            self.is_over.store(true, Relaxed);
            signs.thread().unpark();
            result
        })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    fn write_metrics(&self, queue: &mut dyn Queue) -> Result<(), Problem> {
        let Some(path) = &self.metrics else {
            return Ok(());
        };
        let text = metrics::text(queue.status()?.as_ref());
        metrics::write(path, &text).map_err(|error| Problem::NotWritten {
            path: path.display().to_string(),
            problem: error.to_string(),
        })
    }

    /// Ends the run. An interrupted one stays in the queue.
    pub fn close(self, is_done: bool) -> Result<(), Problem> {
        let mut problems = self
            .problems
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut queue = raddle_queue::connect(&self.address)?;
        // A run whose searches were all refused is nothing to resume.
        let is_empty = queue
            .status()?
            .is_none_or(|status| status.searches.is_empty());
        if is_done && (problems.is_empty() || is_empty) {
            queue.remove_run()?;
        }
        queue.release_front(&self.token)?;
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems.swap_remove(0)),
        }
    }

    fn add(&self, problem: Problem) {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.push(problem);
    }

    /// Runs a test whose checks have their searches in the queue. `run` gets the variable for its process, `report`
    /// gets events, and `directory` temporary files.
    pub fn run_test<T>(
        &self,
        directory: &Path,
        binary: &str,
        test: &str,
        report: &(dyn Fn(Value) + Sync),
        run: impl FnOnce(&[(&str, &std::ffi::OsStr)]) -> T,
    ) -> std::io::Result<T> {
        let socket = Socket::new(directory)?;
        let has_ended = AtomicBool::new(false);
        let earlier = Mutex::default();
        Ok(thread::scope(|scope| {
            scope.spawn(|| {
                while let Ok(Some(stream)) = socket.accept(|| has_ended.load(Relaxed)) {
                    let served = || self.serve(binary, test, stream, report, &has_ended, &earlier);
                    scope.spawn(move || served().unwrap_or_else(|problem| self.add(problem)));
                }
            });
            let result = run(&[(SOCKET_VARIABLE, socket.path().as_os_str())]);
            has_ended.store(true, Relaxed);
            result
        }))
    }

    /// Serves one check until its search is over.
    fn serve(
        &self,
        binary: &str,
        test: &str,
        stream: UnixStream,
        report: &(dyn Fn(Value) + Sync),
        has_ended: &AtomicBool,
        earlier: &Mutex<Vec<Begun>>,
    ) -> Result<(), Problem> {
        let process = |problem: std::io::Error| Problem::Process {
            test: format!("{binary} {test}"),
            problem: problem.to_string(),
        };
        let mut from = BufReader::new(stream.try_clone().map_err(process)?);
        let mut to = stream;
        let search = match FromCheck::read(&mut from).map_err(process)? {
            Some(FromCheck::Search(search)) => search,
            Some(FromCheck::Refused { check, reason }) => {
                return Err(Problem::Refused { check, reason });
            }
            Some(FromCheck::Results(_) | FromCheck::Estimate(_)) | None => return Ok(()),
        };
        let SharedSearch {
            check,
            number,
            settings,
            root,
            milliseconds,
            runs,
            next,
            since,
            begun,
        } = search;
        let name = SearchName {
            binary: binary.to_owned(),
            test: test.to_owned(),
            check,
            number,
        };
        let search = Search {
            name: name.to_text(),
            settings,
            limit: runs,
        };
        let mut queue = raddle_queue::connect(&self.address)?;
        if self.exports
            && let Some(kept) = self.export(&mut *queue, &name, &search)?
        {
            ToCheck::Keep(kept).write(&mut to).map_err(process)?;
            // The checkpoint is written. Otherwise the run stays in the queue.
            return match FromCheck::read(&mut from).map_err(process)? {
                Some(_) => Ok(()),
                None => Err(process(std::io::ErrorKind::UnexpectedEof.into())),
            };
        }
        let mut first = match begun {
            Some(begun) => of_check(begun),
            None => Results {
                items: vec![root.clone()],
                ..Results::default()
            },
        };
        let since = since.map(|text| (SharedSearch::SINCE.to_owned(), text));
        first.facts.extend(since);
        let begun = Begun {
            name,
            search,
            first,
        };
        let Begun {
            name,
            search,
            first,
        } = &begun;
        self.start(&mut *queue, name, search, first)?;
        let begin = Instant::now();
        let limit = milliseconds.map(Duration::from_millis);
        let mut wait = FIRST_LOOK;
        let mut shown = 0;
        let mut sizing = Sizing::of(&root);
        let totals = loop {
            if has_ended.load(Relaxed) {
                return Ok(());
            }
            let status = queue.status()?;
            let state = status
                .as_ref()
                .and_then(|status| status.searches.get(&search.name));
            // Processes of workers get to this check with the results of those before it.
            let is_lost = |one: &&Begun| {
                let has_it = |status: &Status| status.searches.contains_key(&one.search.name);
                !status.as_ref().is_some_and(has_it)
            };
            let lost: Vec<Begun> = {
                let earlier = earlier.lock().unwrap_or_else(PoisonError::into_inner);
                let all = earlier.iter().chain([&begun]);
                all.filter(is_lost).cloned().collect()
            };
            for Begun {
                name,
                search,
                first,
            } in &lost
            {
                eprintln!("warning: the queue has lost the search of {name}, which starts again");
                self.start(&mut *queue, name, search, first)?;
            }
            let (Some(status), Some(state)) = (&status, state) else {
                continue;
            };
            report(progress(status, state, &root, next.is_some()));
            if state.end.is_none() {
                sizing = sizing.look(state, &mut from, &mut to).map_err(process)?;
                if let Some(estimate) = sizing.unknown_to(state) {
                    queue.note(&search.name, Estimate::FACT, &estimate)?;
                }
            }
            for (_, finding) in state.findings.iter().skip(shown) {
                if let Ok(found) = FoundFailure::of_text(finding) {
                    report(json!({ "event": "found", "headline": found.headline }));
                }
            }
            shown = state.findings.len();
            if let Some(End::Broken(problem)) = &state.end {
                return Err(Problem::Broken {
                    test: name.to_string(),
                    problem: problem.clone(),
                });
            }
            if let Some(next) = &next
                && goes_on(state)
            {
                queue.go_on(&search.name, next)?;
                continue;
            }
            if state.end == Some(End::Stopped) && executions(state) == 0 {
                return Err(Problem::NothingInTime {
                    test: name.to_string(),
                });
            }
            if state.end.is_some() || interrupts::is_requested() {
                break totals(state, &self.resume);
            }
            if let Some(limit) = limit.filter(|limit| begin.elapsed() >= *limit) {
                let grace = GRACE.max(limit / 10);
                queue.stop(&search.name, begin.elapsed() >= limit + grace)?;
            } else if let Some(limit) = limit
                && next.is_some()
                && begin.elapsed() >= limit / 2
                && !state.facts.contains_key(raddle_queue::CONTINUED)
            {
                queue.stop(&search.name, true)?;
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_LOOK);
        };
        // Before the check goes on, which may start the next search.
        let mut earlier = earlier.lock().unwrap_or_else(PoisonError::into_inner);
        earlier.push(begun.clone());
        ToCheck::Totals(totals).write(&mut to).map_err(process)
    }

    /// Takes an unfinished search out of the queue; `None` if it has ended.
    fn export(
        &self,
        queue: &mut dyn Queue,
        name: &SearchName,
        search: &Search,
    ) -> Result<Option<PartResults>, Problem> {
        let refused = |reason: &str| Problem::NotExported {
            test: name.to_string(),
            reason: reason.to_owned(),
        };
        let Some(state) = queue.search(&search.name)? else {
            return Err(refused("it is not in the queue"));
        };
        compare_searches(name, &state.settings, &search.settings)?;
        if !matches!(state.end, None | Some(End::Exported)) {
            return Ok(None);
        }
        let is_exhaustive =
            |(name, value): &(String, String)| name == "strategy" && value == "exhaustive";
        if !search.settings.iter().any(is_exhaustive) {
            return Err(refused("only exhaustive searches have checkpoints"));
        }
        // A checkpoint has no place for other facts, without which a result would claim too much.
        // An exhaustive search chooses without an earlier version.
        let is_kept = |fact: &str| [CUT_SHORT, Estimate::FACT, SharedSearch::SINCE].contains(&fact);
        if let Some(fact) = state.facts.keys().find(|fact| !is_kept(fact)) {
            return Err(refused(&format!(
                "a checkpoint cannot contain this: {fact}"
            )));
        }
        let Some((state, items)) = queue.export(&search.name)? else {
            return Ok(None);
        };
        if items.iter().any(|item| item == Part::ROOT) {
            return Err(refused("nothing of it was explored yet"));
        }
        Ok(Some(PartResults {
            items,
            ..totals(&state, "").results
        }))
    }

    /// Adds the search to the queue unless it is there.
    pub(super) fn start(
        &self,
        queue: &mut dyn Queue,
        name: &SearchName,
        search: &Search,
        first: &Results,
    ) -> Result<(), Problem> {
        compare_runs(&queue.open_run(&self.run)?, &self.run)?;
        match queue.start_with(search, first)? {
            Some(_) if !first.sums.is_empty() => Err(Problem::AlreadyThere {
                test: name.to_string(),
            }),
            Some(there) => compare_searches(name, &there, &search.settings),
            None => Ok(()),
        }
    }
}

/// Returns the results of a search as a check takes them.
pub fn totals(state: &SearchState, resume: &str) -> Totals {
    let failure = |(before, text): &(u64, String)| {
        let found = FoundFailure::of_text(text).ok()?;
        Some(FoundFailure {
            execution: before + found.execution,
            ..found
        })
    };
    let is_exhausted = state.end == Some(End::Exhausted);
    let (classes, is_estimated) = match state.classes {
        ClassCount::Exact(count) => (count, false),
        ClassCount::About(count) => (rounded(count), true),
    };
    Totals {
        results: PartResults {
            sums: state.sums.clone(),
            facts: {
                let mut facts = state.facts.clone();
                facts.remove(SharedSearch::SINCE);
                facts
            },
            failures: state.findings.iter().filter_map(failure).collect(),
            is_over: state.end == Some(End::Finding),
            ..PartResults::default()
        },
        is_exhausted,
        is_out_of_time: state.end == Some(End::Stopped),
        classes,
        is_estimated,
        resume: state.end.is_none().then(|| resume.to_owned()),
    }
}

/// True when a search of several stages has ended the first of them without every class.
fn goes_on(state: &SearchState) -> bool {
    let is_over = match &state.end {
        Some(End::Stopped | End::Spent) => true,
        Some(End::Exhausted) => state.facts.contains_key(CUT_SHORT),
        _ => false,
    };
    is_over && !state.facts.contains_key(raddle_queue::CONTINUED)
}

/// Returns the estimated size of a search, if it is known and the search goes on.
pub fn estimate(state: &SearchState) -> Option<Estimate> {
    let text = state.facts.get(Estimate::FACT);
    let text = text.filter(|_| state.end.is_none())?;
    Estimate::of_text(text).ok()
}

/// Returns the clause about the estimated size of a search, after the number of its classes.
pub fn of_all(state: &SearchState) -> String {
    estimate(state).map_or(String::new(), |estimate| estimate.of_all(executions(state)))
}

/// Returns the number of executions so far.
pub fn executions(state: &SearchState) -> u64 {
    let sum = state.sums.get(raddle_queue::EXECUTIONS);
    sum.copied().unwrap_or(0)
}

/// Returns the strategy of a search.
pub fn strategy(state: &SearchState) -> &str {
    let mut settings = state.settings.iter();
    let found = settings.find(|(name, _)| name == "strategy");
    found.map_or("exhaustive", |(_, strategy)| strategy)
}

/// True when the classes of a search can repeat.
pub fn is_sampled(state: &SearchState) -> bool {
    strategy(state) != "exhaustive"
}

/// Rounds an estimate to three digits, which is more than its error allows.
fn rounded(count: u64) -> u64 {
    let digits = count.max(1).ilog10();
    let unit = 10_u64.pow(digits.saturating_sub(2));
    (count + unit / 2) / unit * unit
}

/// Returns the number of different classes in words.
pub fn classes(state: &SearchState) -> String {
    match state.classes {
        ClassCount::Exact(1) => "1 class".to_owned(),
        ClassCount::Exact(count) => format!("{} classes", grouped(count)),
        ClassCount::About(count) => format!("about {} classes", grouped(rounded(count))),
    }
}

/// Returns the number of parts that are left in words.
pub fn parts_left(state: &SearchState) -> String {
    match state.left {
        1 => "1 part left".to_owned(),
        left => format!("{} parts left", grouped(left)),
    }
}

/// Returns the progress of a search as an event of a check.
fn progress(status: &Status, state: &SearchState, root: &str, repeats: bool) -> Value {
    let executions = executions(state);
    let workers = match status.workers.len() {
        0 => "no worker: start `cargo raddle work`".to_owned(),
        1 => "1 worker".to_owned(),
        several => format!("{several} workers"),
    };
    let is_sampling = Part::is_streams(root) || state.facts.contains_key(raddle_queue::CONTINUED);
    let (phase, done) = match is_sampling || repeats {
        true => {
            let (runs, classes) = (grouped(executions), classes(state));
            let phase = if is_sampling {
                "sampling"
            } else {
                "exhaustive"
            };
            (phase, format!("{runs} executions, {classes}"))
        }
        false => {
            let (classes, left) = (grouped(executions), parts_left(state));
            let all = of_all(state);
            ("exhaustive", format!("{classes} classes{all}, {left}"))
        }
    };
    json!({
        "event": "progress",
        "phase": phase,
        "executions": executions,
        "parts": state.left,
        "workers": status.workers.len(),
        "text": format!("{done}, {workers}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_has_three_digits() {
        let numbers = [0, 7, 999, 1_004, 65_537, 81_256, 999_600];
        assert_eq!(
            numbers.map(rounded),
            [0, 7, 999, 1_000, 65_500, 81_300, 1_000_000]
        );
        let state = |classes| SearchState {
            classes,
            ..SearchState::default()
        };
        assert_eq!(classes(&state(ClassCount::Exact(65_537))), "65,537 classes");
        assert_eq!(
            classes(&state(ClassCount::About(65_537))),
            "about 65,500 classes"
        );
    }
}
