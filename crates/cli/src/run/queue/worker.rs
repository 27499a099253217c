//! A worker of a run: leases parts of searches, has the processes of tests or of a program explore them, and commits the results.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use raddle_queue::{Address, Committed, Lease, Next, Queue, Results, Run, Token};
use raddle_report::exchange::{Part, PartResults, SharedSearch};
use raddle_report::grouped;
use serde_json::json;

use crate::run::interrupts;
use crate::run::queue::mutants;
use crate::run::queue::pace::Pace;
use crate::run::queue::test_process::{Explored, TestProcess};
use crate::run::queue::{Problem, SearchName, WAITED, WORKED, compare_runs, of_check, run_of};
use crate::toolchain::binaries::TestBinary;
use crate::toolchain::native_program::NativeProgram;

/// First and longest wait for an item.
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Time after which a run that is gone is over. A front end whose run the server has lost starts it again sooner.
const RETURN: Duration = Duration::from_millis(500);
/// Time beyond a lease for which a worker waits for a search that a later one needs: the server has lost its last results.
const RECOVERY: Duration = Duration::from_secs(60);
/// Beats per lease.
const BEATS: u32 = 3;

/// The programs whose searches this machine can explore.
#[derive(Clone, Copy)]
pub enum Programs<'a> {
    Tests(&'a [TestBinary]),
    Native(&'a NativeProgram),
}

impl Programs<'_> {
    /// Returns the command that explores parts of the search with this name and these settings.
    fn command(&self, name: &SearchName, settings: &[(String, String)]) -> Option<Command> {
        match self {
            Programs::Tests(binaries) => {
                let binary = binaries.iter().find(|one| one.name == name.binary)?;
                Some(binary.test_command(&name.test))
            }
            Programs::Native(program) => {
                let is_same = name.is_of_program(&program.name());
                is_same.then(|| program.command(&arguments(settings)))
            }
        }
    }
}

/// Prefix of the settings of a search that are arguments of its program, in their order.
pub(super) const ARGUMENT: &str = "argument ";

fn arguments(settings: &[(String, String)]) -> Vec<&str> {
    let mut arguments: Vec<(usize, &str)> = settings
        .iter()
        .filter_map(|(name, value)| {
            let number = name.strip_prefix(ARGUMENT)?.parse().ok()?;
            Some((number, value.as_str()))
        })
        .collect();
    arguments.sort();
    arguments.into_iter().map(|(_, value)| value).collect()
}

/// The work of one machine.
pub struct Work<'a> {
    pub address: Address,
    pub programs: Programs<'a>,
    /// Directory for temporary files.
    pub directory: &'a Path,
    /// Time after which the queue gives a part to another worker.
    pub lease: Duration,
    /// Maximum time without a run.
    pub wait: Duration,
    /// The time of a slice, if it does not adapt.
    pub slice: Option<Duration>,
    pub is_over: AtomicBool,
    pub counts: Counts,
    /// The file that gets a line for each commit.
    pub log: Option<Mutex<File>>,
}

/// The work done so far by all workers of this machine.
#[derive(Debug, Default)]
pub struct Counts {
    pub parts: AtomicU64,
    pub executions: AtomicU64,
    /// Parts whose lease was lost.
    pub late: AtomicU64,
    /// Time in the processes of tests, and time of workers, in milliseconds.
    pub exploring: AtomicU64,
    pub whole: AtomicU64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        let late = match count(&self.late) {
            0 => String::new(),
            late => format!(", {} of them lost to other workers", grouped(late)),
        };
        let (parts, late_parts) = (count(&self.parts), count(&self.late));
        let share = match count(&self.whole) {
            0 => String::new(),
            whole => format!(
                ", {} % of the time in tests",
                100 * count(&self.exploring) / whole
            ),
        };
        write!(
            f,
            "{} executions in {} parts{late}{share}",
            grouped(count(&self.executions)),
            grouped(parts + late_parts)
        )
    }
}

impl Work<'_> {
    /// Works until the run is over.
    pub fn run(&self, number: usize) -> Result<(), Problem> {
        let result = Worker::new(self, number).and_then(|mut worker| worker.run());
        // An error of one worker ends all.
        if result.is_err() {
            self.is_over.store(true, Relaxed);
        }
        result
    }

    fn should_stop(&self) -> bool {
        interrupts::is_requested() || self.is_over.load(Relaxed)
    }
}

struct Worker<'a> {
    work: &'a Work<'a>,
    name: String,
    queue: Box<dyn Queue>,
    run: Run,
    process: Option<TestProcess>,
    pace: Pace,
    /// The time of the last commit, or the first lease.
    since: Instant,
    /// What generations of streams before this one of this search have learned.
    lessons: Option<((String, u32), Vec<String>)>,
    /// The search that waits for an earlier one, and the time since when it does.
    waiting: Option<(String, Instant)>,
    /// Number of processes started.
    started: usize,
    directory: PathBuf,
}

impl<'a> Worker<'a> {
    fn new(work: &'a Work<'a>, number: usize) -> Result<Self, Problem> {
        Ok(Worker {
            work,
            name: format!("{}:{}:{number}", host(), std::process::id()),
            queue: raddle_queue::connect(&work.address)?,
            run: Run::default(),
            process: None,
            pace: Pace::new(work.slice),
            since: Instant::now(),
            lessons: None,
            waiting: None,
            started: 0,
            directory: work.directory.join(format!("worker-{number}")),
        })
    }

    fn run(&mut self) -> Result<(), Problem> {
        if !self.wait_for_run(self.work.wait)? {
            return Ok(());
        }
        let mut idle_since = Instant::now();
        self.since = idle_since;
        let mut wait = FIRST_WAIT;
        while !self.work.should_stop() {
            let start = Instant::now();
            let token = Token::random();
            match self.queue.lease(&self.name, &token, self.work.lease)? {
                Next::Item(lease) => {
                    self.work_on(&lease, start)?;
                    (idle_since, wait) = (Instant::now(), FIRST_WAIT);
                    let whole = start.elapsed().as_millis() as u64;
                    self.work.counts.whole.fetch_add(whole, Relaxed);
                    continue;
                }
                Next::NoRun => match self.wait_for_run(RETURN) {
                    // The server had lost the run, and the front end has started it again.
                    Ok(true) => self.forget(),
                    Ok(false) | Err(Problem::NoRun) => return Ok(()),
                    Err(problem) => return Err(problem),
                },
                Next::Empty { has_front } => {
                    // Without a front end, no search is started.
                    if !has_front && idle_since.elapsed() >= self.work.wait {
                        return Ok(());
                    }
                }
            }
            self.queue.wait(wait)?;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        Ok(())
    }

    /// Waits for a run for at most this time; false if the worker was interrupted.
    fn wait_for_run(&mut self, most: Duration) -> Result<bool, Problem> {
        let start = Instant::now();
        let mut wait = FIRST_WAIT;
        while !self.work.should_stop() {
            if let Some(run) = self.queue.run()? {
                compare_runs(&run, &run_of(run.environment.clone()))?;
                self.run = run;
                return Ok(true);
            }
            if start.elapsed() >= most {
                return Err(Problem::NoRun);
            }
            thread::sleep(wait);
            wait = (wait * 2).min(LONGEST_WAIT);
        }
        Ok(false)
    }

    /// Explores a part and commits its results. `start` is the time before the lease.
    fn work_on(&mut self, lease: &Lease, start: Instant) -> Result<(), Problem> {
        let slice = self.pace.slice(lease.ready, lease.workers);
        let part = Part {
            item: lease.text.clone(),
            milliseconds: slice.time.as_millis() as u64,
            pieces: slice.pieces,
            known: lease.known.clone(),
            runs: lease.granted,
            lessons: self.lessons(lease)?,
        };
        let name = SearchName::of_text(&lease.search).ok_or_else(|| Problem::NoSuchTest {
            test: lease.search.clone(),
        })?;
        if name == SearchName::of_mutants() {
            return self.judge(lease, name);
        }
        let is_new = self
            .process
            .as_ref()
            .is_none_or(|process| process.name != name);
        if is_new {
            self.process = None;
            match self.start(name, lease) {
                Ok(process) => {
                    self.process = Some(process);
                    self.waiting = None;
                }
                Err(problem @ Problem::NotReady { .. }) => return self.put_off(lease, &problem),
                Err(problem @ Problem::Process { .. }) => {
                    self.queue.abandon(lease, Some(&problem.to_string()))?;
                    eprintln!("warning: {problem}");
                    return Ok(());
                }
                Err(problem) => {
                    // Another worker may have the right build.
                    let _ = self.queue.abandon(lease, None);
                    return Err(problem);
                }
            }
        }
        let (queue, worker, time) = (&mut self.queue, &self.name, self.work.lease);
        let process = self.process.as_mut().expect("it was just started");
        let before = Instant::now();
        let explored = process.explore(part, time / BEATS, || {
            Ok(queue.heartbeat(lease, worker, time)?)
        })?;
        let exploring = before.elapsed().as_millis() as u64;
        self.work.counts.exploring.fetch_add(exploring, Relaxed);
        match explored {
            Explored::Results(results) => {
                let was_used_up = !results.items.is_empty() && !is_new;
                let is_last = results.is_last;
                self.commit(lease, of_check(results), exploring)?;
                if is_last {
                    self.process = None;
                }
                self.pace.record(slice.time, start.elapsed(), was_used_up);
            }
            Explored::Lost => self.drop_late(),
            Explored::Died(failure) => {
                self.process = None;
                let results = PartResults {
                    failures: vec![failure],
                    is_over: true,
                    ..PartResults::default()
                };
                self.commit(lease, of_check(results), exploring)?;
            }
            Explored::Broke(problem) => {
                let name = self.process.take().map(|process| process.name.to_string());
                eprintln!("warning: {}: {problem}", name.unwrap_or_default());
                self.queue.abandon(lease, Some(&problem))?;
            }
        }
        Ok(())
    }

    /// Gives a part back whose search waits for an earlier one, which others or this worker explore first.
    fn put_off(&mut self, lease: &Lease, problem: &Problem) -> Result<(), Problem> {
        let now = Instant::now();
        let waiting = self
            .waiting
            .take()
            .filter(|(search, _)| *search == lease.search);
        let (search, since) = waiting.unwrap_or_else(|| (lease.search.clone(), now));
        let is_over = since.elapsed() > self.work.lease + RECOVERY;
        self.waiting = Some((search, since)).filter(|_| !is_over);
        let problem = is_over.then(|| problem.to_string());
        self.queue.abandon(lease, problem.as_deref())?;
        thread::sleep(LONGEST_WAIT);
        Ok(())
    }

    /// Returns what generations before that of a part have learned. What its own generation learns meanwhile is left
    /// out, because that depends on which of its streams have ended.
    fn lessons(&mut self, lease: &Lease) -> Result<Vec<String>, Problem> {
        let generation = Part::generation(&lease.text);
        let of = (lease.search.clone(), generation);
        if generation > 0 && self.lessons.as_ref().is_none_or(|(known, _)| *known != of) {
            let facts = self.queue.search(&lease.search)?.unwrap_or_default().facts;
            self.lessons = Some((of, lessons(facts, generation)));
        }
        let lessons = self.lessons.as_ref().filter(|_| generation > 0);
        Ok(lessons.map_or(Vec::new(), |(_, lessons)| lessons.clone()))
    }

    /// Judges a change of operations and commits the judgement.
    fn judge(&mut self, lease: &Lease, name: SearchName) -> Result<(), Problem> {
        self.process = None;
        let Programs::Tests(binaries) = self.work.programs else {
            let _ = self.queue.abandon(lease, None);
            return Err(Problem::NoSuchTest {
                test: name.to_string(),
            });
        };
        let state = self.queue.search(&lease.search)?.unwrap_or_default();
        let (queue, worker, time) = (&mut self.queue, &self.name, self.work.lease);
        let before = Instant::now();
        let judged = mutants::judge(
            lease,
            &state.settings,
            binaries,
            &self.run.environment,
            &self.directory,
            time / BEATS,
            || Ok(queue.heartbeat(lease, worker, time)?),
        );
        let exploring = before.elapsed().as_millis() as u64;
        self.work.counts.exploring.fetch_add(exploring, Relaxed);
        match judged {
            Ok(Some(results)) => self.commit(lease, results, exploring),
            Ok(None) => Ok(self.queue.abandon(lease, None)?),
            Err(problem) => {
                // Another worker may have the right build.
                let _ = self.queue.abandon(lease, None);
                Err(problem)
            }
        }
    }

    fn start(&mut self, name: SearchName, lease: &Lease) -> Result<TestProcess, Problem> {
        let state = self.queue.search(&lease.search)?.unwrap_or_default();
        let command = self.work.programs.command(&name, &state.settings);
        let command = command.ok_or_else(|| Problem::NoSuchTest {
            test: name.to_string(),
        })?;
        self.started += 1;
        let directory = self.directory.join(self.started.to_string());
        let (worker, time) = (&self.name, self.work.lease);
        let mut environment = self.run.environment.clone();
        if let Some(text) = state.facts.get(SharedSearch::SINCE) {
            let path = directory.join("since");
            let written = fs::create_dir_all(&directory).and_then(|()| fs::write(&path, text));
            written.map_err(|error| Problem::NotWritten {
                path: path.display().to_string(),
                problem: error.to_string(),
            })?;
            environment.push(("RADDLE_SINCE".to_owned(), path.display().to_string()));
        }
        TestProcess::start(
            command,
            name,
            &environment,
            directory,
            &mut *self.queue,
            time / BEATS,
            &|queue| Ok(queue.heartbeat(lease, worker, time)?),
        )
    }

    /// Commits results, for which a test took this number of milliseconds.
    fn commit(
        &mut self,
        lease: &Lease,
        mut results: Results,
        exploring: u64,
    ) -> Result<(), Problem> {
        let sum = |name: &str| results.sums.get(name).copied().unwrap_or(0);
        let executions = sum(raddle_queue::EXECUTIONS);
        let whole = self.since.elapsed().as_millis() as u64;
        results.sums.insert(WORKED.to_owned(), exploring);
        let outside = whole.saturating_sub(exploring);
        results.sums.insert(WAITED.to_owned(), outside);
        let committed = self.queue.commit(lease, &results)?;
        self.since = Instant::now();
        self.log(lease, &results, executions, exploring, committed);
        match committed {
            Committed::Done => {
                self.work.counts.parts.fetch_add(1, Relaxed);
                self.work.counts.executions.fetch_add(executions, Relaxed);
            }
            Committed::Late => self.drop_late(),
        }
        Ok(())
    }

    /// Writes a line about a commit.
    fn log(
        &self,
        lease: &Lease,
        results: &Results,
        executions: u64,
        exploring: u64,
        committed: Committed,
    ) {
        let Some(log) = &self.work.log else { return };
        let search = SearchName::of_text(&lease.search);
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let line = json!({
            "event": "commit",
            "time": time.unwrap_or_default().as_secs_f64(),
            "worker": self.name,
            "search": search.map_or(lease.search.clone(), |name| name.to_string()),
            "part": lease.item,
            "accepted": committed == Committed::Done,
            "executions": executions,
            "failures": results.findings.len(),
            "parts_left": results.items.len(),
            "milliseconds": exploring,
        });
        let mut file = log.lock().unwrap_or_else(PoisonError::into_inner);
        // One call, so that lines of several workers do not mix. A full disk does not end the work.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }

    /// Drops the results of a part whose lease was lost. The process ends too: it may be exploring still, and it
    /// would not examine again what it has found in this part.
    fn drop_late(&mut self) {
        self.work.counts.late.fetch_add(1, Relaxed);
        self.forget();
    }

    /// Drops everything that belongs to a search, which may be another one of the same name from now on.
    fn forget(&mut self) {
        self.process = None;
        self.lessons = None;
    }
}

/// Returns the facts that streams of generations before this one have learned.
fn lessons(facts: BTreeMap<String, String>, generation: u32) -> Vec<String> {
    let is_earlier = |detail: &str| detail.parse().is_ok_and(|it: u32| it < generation);
    let lessons = facts
        .into_iter()
        .filter(|(fact, detail)| fact.starts_with(Part::LESSON) && is_earlier(detail));
    lessons.map(|(fact, _)| fact).collect()
}

/// Returns the name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "unknown".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_learns_from_those_before_it() {
        let facts = [
            ("lesson a", "0"),
            ("lesson b", "1"),
            ("lesson c", "2"),
            ("lesson d", "10"),
            ("cut-short", ""),
        ];
        let facts = facts.map(|(fact, detail)| (fact.to_owned(), detail.to_owned()));
        assert_eq!(lessons(facts.clone().into(), 2), ["lesson a", "lesson b"]);
        assert_eq!(lessons(facts.into(), 0), [""; 0]);
    }
}
