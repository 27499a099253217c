//! The front end of a run: starts the searches of checks in the queue, reports their progress, and hands their
//! results to the checks.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use raddle_queue::{Address, End, Queue, Run, Search, SearchState, Status, Token};
use raddle_report::exchange::{
    FoundFailure, FromCheck, Part, PartResults, SharedSearch, ToCheck, Totals,
};
use raddle_report::grouped;
use serde_json::{Value, json};

use crate::run::interrupts;
use crate::run::queue::socket::Socket;
use crate::run::queue::{Problem, SOCKET_VARIABLE, SearchName, compare_runs, compare_searches};

/// Time for which the queue takes this front end to be there without hearing from it.
const PRESENCE: Duration = Duration::from_secs(15);
/// Interval of the signs of presence.
const SIGN: Duration = Duration::from_secs(3);
/// Shortest and longest interval of looks at a search.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LONGEST_LOOK: Duration = Duration::from_millis(200);

/// The front end of a run.
pub struct FrontEnd {
    address: Address,
    run: Run,
    token: Token,
    /// The command that resumes the run.
    resume: String,
    problems: Mutex<Vec<Problem>>,
    is_over: AtomicBool,
}

impl FrontEnd {
    /// Creates the run, or resumes an unfinished one.
    pub fn open(address: Address, run: Run, resume: String) -> Result<Self, Problem> {
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
                        thread::park_timeout(SIGN);
                    }
                    Ok(())
                };
                signs().unwrap_or_else(|problem| self.add(problem));
            });
            let result = action();
            self.is_over.store(true, Relaxed);
            signs.thread().unpark();
            result
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
        Ok(thread::scope(|scope| {
            scope.spawn(|| {
                while let Ok(Some(stream)) = socket.accept(|| has_ended.load(Relaxed)) {
                    let served = || self.serve(binary, test, stream, report, &has_ended);
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
            Some(FromCheck::Results(_)) | None => return Ok(()),
        };
        let SharedSearch {
            check,
            number,
            settings,
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
        };
        let mut queue = raddle_queue::connect(&self.address)?;
        self.start(&mut *queue, &name, &search)?;
        let mut wait = FIRST_LOOK;
        let mut shown = 0;
        let totals = loop {
            if has_ended.load(Relaxed) {
                return Ok(());
            }
            let status = queue.status()?;
            let state = status
                .as_ref()
                .and_then(|status| status.searches.get(&search.name));
            let (Some(status), Some(state)) = (&status, state) else {
                eprintln!("warning: the queue has lost the search of {name}, which starts again");
                self.start(&mut *queue, &name, &search)?;
                continue;
            };
            report(progress(status, state));
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
            if state.end.is_some() || interrupts::is_requested() {
                break totals(state, &self.resume);
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_LOOK);
        };
        ToCheck::Totals(totals).write(&mut to).map_err(process)
    }

    /// Adds the search to the queue unless it is there.
    fn start(
        &self,
        queue: &mut dyn Queue,
        name: &SearchName,
        search: &Search,
    ) -> Result<(), Problem> {
        compare_runs(&queue.open_run(&self.run)?, &self.run)?;
        match queue.start(search, Part::ROOT)? {
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
    Totals {
        results: PartResults {
            sums: state.sums.clone(),
            facts: state.facts.clone(),
            failures: state.findings.iter().filter_map(failure).collect(),
            items: Vec::new(),
            is_over: state.end == Some(End::Finding),
        },
        is_exhausted,
        resume: (!is_exhausted).then(|| resume.to_owned()),
    }
}

/// Returns the progress of a search as an event of a check.
fn progress(status: &Status, state: &SearchState) -> Value {
    let count = |sums: &BTreeMap<String, u64>| sums.get(raddle_queue::EXECUTIONS).copied();
    let executions = count(&state.sums).unwrap_or(0);
    let workers = match status.workers.len() {
        0 => "no worker: start `cargo raddle work`".to_owned(),
        1 => "1 worker".to_owned(),
        several => format!("{several} workers"),
    };
    let text = format!(
        "{} classes, {} parts left, {workers}",
        grouped(executions),
        grouped(state.left)
    );
    json!({
        "event": "progress",
        "phase": "exhaustive",
        "executions": executions,
        "parts": state.left,
        "workers": status.workers.len(),
        "text": text,
    })
}
