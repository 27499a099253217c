//! The process of a test or program that explores parts of a search for a worker.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use raddle_engine::Schedule;
use raddle_queue::Queue;
use raddle_report::exchange::{FoundFailure, FromCheck, Part, PartResults, SharedSearch, ToCheck};
use serde_json::Value;

use crate::run::queue::front_end::totals;
use crate::run::queue::socket::Socket;
use crate::run::queue::{Problem, SOCKET_VARIABLE, SearchName, compare_searches};
use crate::run::runner::kill_with_parent;

/// Maximum time from the start of a process to its search; the searches before it are not run again.
const START: Duration = Duration::from_secs(300);
/// Maximum time beyond the slice. Longer than raddle's watchdog, which ends a hanging execution after 10 s, and
/// than the explanation of a failure.
const OVERTIME: Duration = Duration::from_secs(120);
/// The same for streams, which are run to their ends: some hundred executions, each of which the watchdog watches.
const STREAM_OVERTIME: Duration = Duration::from_secs(3600);
/// Maximum number of bytes of a process's output in a message.
const SHOWN: usize = 2000;

/// A process at its search.
pub struct TestProcess {
    pub name: SearchName,
    child: Child,
    to: UnixStream,
    from: Receiver<PartResults>,
    /// Files of the process: its events, its output and what its checks save.
    directory: PathBuf,
}

/// The end of a slice.
pub enum Explored {
    Results(PartResults),
    /// The lease was lost while the process explored.
    Lost,
    /// The process ended with this failure.
    Died(FoundFailure),
    /// The process ended for this reason.
    Broke(String),
}

impl TestProcess {
    /// Starts the process of a test by this command and waits for the search, with calls of `keep_lease` at this
    /// interval. Earlier checks of the test, which have ended, get their results from the queue.
    pub fn start(
        mut command: Command,
        name: SearchName,
        environment: &[(String, String)],
        directory: PathBuf,
        queue: &mut dyn Queue,
        interval: Duration,
        keep_lease: &dyn Fn(&mut dyn Queue) -> Result<bool, Problem>,
    ) -> Result<Self, Problem> {
        let process = |problem: String| Problem::Process {
            test: name.to_string(),
            problem,
        };
        let failed = |error: io::Error| process(error.to_string());
        fs::create_dir_all(&directory).map_err(failed)?;
        let socket = Socket::new(&directory).map_err(failed)?;
        let output = File::create(directory.join("output")).map_err(failed)?;
        command
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env(SOCKET_VARIABLE, socket.path())
            .env("RADDLE_EVENTS", directory.join("events"))
            .env("RADDLE_DIR", &directory)
            .env("RADDLE_LOG", "off")
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output);
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        kill_with_parent(&mut command);
        let mut child = Started(Some(command.spawn().map_err(failed)?));
        let start = Instant::now();
        let mut beat = start;
        loop {
            let is_over = || {
                // A lease that is lost shows at the commit.
                if beat.elapsed() >= interval {
                    let _ = keep_lease(queue);
                    beat = Instant::now();
                }
                child.has_ended() || start.elapsed() > START
            };
            let Some(mut to) = socket.accept(is_over).map_err(failed)? else {
                let output = shown(&directory);
                return Err(process(format!("it did not reach the check\n{output}")));
            };
            let mut from = BufReader::new(to.try_clone().map_err(failed)?);
            let search = match FromCheck::read(&mut from).map_err(failed)? {
                Some(FromCheck::Search(search)) => search,
                Some(FromCheck::Refused { check, reason }) => {
                    return Err(Problem::Refused { check, reason });
                }
                Some(FromCheck::Results(_) | FromCheck::Estimate(_)) | None => continue,
            };
            let SharedSearch {
                check,
                number,
                settings,
                ..
            } = search;
            let here = SearchName {
                check,
                number,
                ..name.clone()
            };
            let not_ready = || Problem::NotReady {
                test: name.to_string(),
                earlier: here.to_string(),
            };
            let state = queue.search(&here.to_text())?.ok_or_else(not_ready)?;
            compare_searches(&here, &state.settings, &settings)?;
            if here == name {
                let (results, received) = channel();
                thread::spawn(move || receive(from, &results));
                return Ok(TestProcess {
                    name,
                    child: child.0.take().expect("it has not ended"),
                    to,
                    from: received,
                    directory,
                });
            }
            if state.end.is_none() {
                return Err(not_ready());
            }
            let totals = ToCheck::Totals(totals(&state, ""));
            totals.write(&mut to).map_err(failed)?;
        }
    }

    /// Explores a part. Calls `keep_lease` at this interval, which returns false if the lease is lost.
    pub fn explore(
        &mut self,
        part: Part,
        interval: Duration,
        mut keep_lease: impl FnMut() -> Result<bool, Problem>,
    ) -> Result<Explored, Problem> {
        let overtime = match Part::is_streams(&part.item) {
            true => STREAM_OVERTIME,
            false => OVERTIME,
        };
        let most = Duration::from_millis(part.milliseconds) + overtime;
        let start = Instant::now();
        if ToCheck::Explore(part).write(&mut self.to).is_err() {
            return Ok(self.dead());
        }
        loop {
            match self.from.recv_timeout(interval) {
                Ok(results) => return Ok(Explored::Results(results)),
                Err(RecvTimeoutError::Disconnected) => return Ok(self.dead()),
                Err(RecvTimeoutError::Timeout) if start.elapsed() > most => {
                    let problem = format!("no results after {} s", start.elapsed().as_secs());
                    return Ok(Explored::Broke(problem));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if !keep_lease()? {
                        return Ok(Explored::Lost);
                    }
                }
            }
        }
    }

    /// Returns the failure or the problem with which the process has ended.
    fn dead(&mut self) -> Explored {
        // The connection ends before the process does.
        let status = self.child.wait();
        let events = fs::read_to_string(self.directory.join("events")).unwrap_or_default();
        let events = events
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut failures = events.filter_map(|event: Value| {
            let failure = &event["failure"];
            let schedule: Schedule = failure["schedule"].as_str()?.parse().ok()?;
            let story = event["story"].as_str()?.lines().next()?.to_owned();
            (event["event"] == "failure").then(|| FoundFailure {
                execution: failure["execution"].as_u64().unwrap_or(0),
                schedule: schedule.to_token(),
                pair: String::new(),
                search: failure["search"].as_str().unwrap_or_default().to_owned(),
                headline: story,
            })
        });
        if let Some(failure) = failures.next() {
            return Explored::Died(failure);
        }
        let ending = match status {
            Ok(status) => format!("its process ended with {status}"),
            Err(error) => format!("its process cannot be observed: {error}"),
        };
        Explored::Broke(format!("{ending}\n{}", shown(&self.directory)))
    }
}

/// Passes results on until the connection ends.
fn receive(mut from: BufReader<UnixStream>, results: &Sender<PartResults>) {
    while let Ok(Some(FromCheck::Results(received))) = FromCheck::read(&mut from) {
        if results.send(received).is_err() {
            break;
        }
    }
}

/// Returns the end of a process's output.
fn shown(directory: &std::path::Path) -> String {
    let output = fs::read(directory.join("output")).unwrap_or_default();
    let end = &output[output.len().saturating_sub(SHOWN)..];
    String::from_utf8_lossy(end).trim().to_owned()
}

/// A process that is killed unless it is taken.
struct Started(Option<Child>);

impl Started {
    fn has_ended(&mut self) -> bool {
        let child = self.0.as_mut();
        child.is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            kill(child);
        }
    }
}

impl Drop for TestProcess {
    fn drop(&mut self) {
        kill(&mut self.child);
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Fails only if the process has ended.
fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
