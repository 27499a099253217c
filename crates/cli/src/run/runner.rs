//! Runs tests in parallel, each in its own process, and forwards their events.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::interrupts::{self, StopRequest};
use crate::run::parallel::run_in_parallel;
#[cfg(unix)]
use crate::run::queue::front_end::FrontEnd;
use crate::run::since::Since;
use crate::toolchain::binaries::{Test, TestBinary};

/// First and longest interval between two polls of a running test. Short enough for a progress bar.
const FIRST_INTERVAL: Duration = Duration::from_millis(1);
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// A message about a running test, with the index of the test.
pub enum TestMessage {
    Started(usize),
    /// A line that a check has written to `RADDLE_EVENTS`.
    Event(usize, Value),
    Finished(usize, FinishedProcess),
}

/// The end of a test's process.
pub struct FinishedProcess {
    /// An error if the process could not be started or observed.
    pub status: io::Result<ExitStatus>,
    pub time: Duration,
    /// True when it was killed because its time was up.
    pub is_timed_out: bool,
    /// Standard output and standard error.
    pub output: String,
}

impl FinishedProcess {
    fn not_started(error: io::Error) -> Self {
        FinishedProcess {
            status: Err(error),
            time: Duration::ZERO,
            is_timed_out: false,
            output: String::new(),
        }
    }
}

/// Tests with the settings to run them.
pub struct Runner<'a> {
    pub binaries: &'a [TestBinary],
    pub tests: &'a [Test],
    pub environment: &'a [(&'static str, std::ffi::OsString)],
    /// Maximum number of processes at a time.
    pub jobs: usize,
    /// Directory for temporary files.
    pub directory: &'a Path,
    /// Time after which a test is killed.
    pub time_limit: Option<Duration>,
    /// The earlier version that the tests are compared with.
    pub since: Option<&'a Since>,
    /// The front end of the queue that has the searches of the tests, if one has.
    #[cfg(unix)]
    pub front_end: Option<&'a FrontEnd>,
}

impl Runner<'_> {
    /// Runs the tests with these indices in this order, or those that start before the first interrupt, and passes
    /// messages to `receive`.
    pub fn run(&self, order: &[usize], receive: impl FnMut(TestMessage)) {
        interrupts::listen();
        run_in_parallel(
            order.len(),
            self.jobs,
            interrupts::is_requested,
            |number, sender: &Sender<TestMessage>| self.run_test(order[number], sender),
            receive,
        );
    }

    fn run_test(&self, index: usize, sender: &Sender<TestMessage>) {
        // The receiver outlives all senders.
        let _ = sender.send(TestMessage::Started(index));
        let report = |event| {
            let _ = sender.send(TestMessage::Event(index, event));
        };
        #[cfg(unix)]
        let finished = match self.front_end {
            None => self.run_compared(index, &[], report),
            Some(front_end) => self.run_shared(index, front_end, &report),
        };
        #[cfg(not(unix))]
        let finished = self.run_compared(index, &[], report);
        let _ = sender.send(TestMessage::Finished(index, finished));
    }

    /// Runs a test with more variables, and tells its checks what is known of an earlier version, if they are compared
    /// with one.
    fn run_compared(
        &self,
        index: usize,
        variables: &[(&str, &OsStr)],
        report: impl FnMut(Value),
    ) -> FinishedProcess {
        let Some(since) = self.since else {
            return self.run_one(index, index, variables, report);
        };
        let path = self.file(index, "since");
        match since.describe(self.binaries, &self.tests[index], &path) {
            Ok(()) => {
                let mut variables = variables.to_vec();
                variables.push(("RADDLE_SINCE", path.as_os_str()));
                self.run_one(index, index, &variables, report)
            }
            Err(error) => FinishedProcess::not_started(error),
        }
    }

    /// Runs a test whose searches are in a queue.
    #[cfg(unix)]
    fn run_shared(
        &self,
        index: usize,
        front_end: &FrontEnd,
        report: &(dyn Fn(Value) + Sync),
    ) -> FinishedProcess {
        let test = &self.tests[index];
        let binary = &self.binaries[test.binary].name;
        let finished =
            front_end.run_test(self.directory, binary, &test.name, report, |variables| {
                self.run_compared(index, variables, report)
            });
        finished.unwrap_or_else(FinishedProcess::not_started)
    }

    /// Runs a test with more variables, and passes its events to `receive`. `run` is a number that no other running
    /// test has.
    pub fn run_one(
        &self,
        index: usize,
        run: usize,
        variables: &[(&str, &OsStr)],
        receive: impl FnMut(Value),
    ) -> FinishedProcess {
        let start = Instant::now();
        let mut is_timed_out = false;
        let is_late = || {
            let limit = self.time_limit;
            is_timed_out |= limit.is_some_and(|limit| start.elapsed() >= limit);
            is_timed_out
        };
        let status = self.run_process(index, run, variables, receive, is_late);
        let output = fs::read(self.file(run, "output")).unwrap_or_default();
        FinishedProcess {
            status,
            time: start.elapsed(),
            is_timed_out,
            output: String::from_utf8_lossy(&output).into_owned(),
        }
    }

    fn file(&self, index: usize, extension: &str) -> PathBuf {
        self.directory.join(format!("{index}.{extension}"))
    }

    fn run_process(
        &self,
        index: usize,
        run: usize,
        variables: &[(&str, &OsStr)],
        mut receive: impl FnMut(Value),
        mut is_late: impl FnMut() -> bool,
    ) -> io::Result<ExitStatus> {
        let test = &self.tests[index];
        let output = File::create(self.file(run, "output"))?;
        let events = self.file(run, "events");
        let mut follower = LineFollower::new(&events)?;
        let mut command = self.binaries[test.binary].test_command(&test.name);
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .envs(variables.iter().copied())
            .env("RADDLE_EVENTS", &events)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        // A terminal sends Ctrl-C to the whole process group; this process forwards it instead.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        kill_with_parent(&mut command);
        let mut child = ChildGuard(command.spawn()?);
        let mut stop_request = StopRequest::default();
        let mut interval = FIRST_INTERVAL;
        loop {
            // Before the last read, so that no event of an ended process is missed.
            let status = child.0.try_wait()?;
            follower.read(&mut receive)?;
            if let Some(status) = status {
                return Ok(status);
            }
            stop_request.forward(&mut child.0);
            if is_late() {
                child.0.kill()?;
                return child.0.wait();
            }
            thread::sleep(interval);
            interval = (interval * 2).min(POLL_INTERVAL);
        }
    }
}

/// Makes the kernel kill the test when the thread that starts it ends, as it does when this process is killed.
#[cfg(target_os = "linux")]
pub fn kill_with_parent(command: &mut std::process::Command) {
    use std::os::unix::process::{CommandExt, parent_id};

    let parent = std::process::id();
    let request = move || {
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        match parent_id() == parent {
            true => Ok(()),
            // The parent has ended before the request.
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    };
    // SAFETY: `pre_exec` needs a closure that is safe between fork and exec: it makes two system
    // calls and does not allocate.
    unsafe { command.pre_exec(request) };
}

#[cfg(not(target_os = "linux"))]
pub fn kill_with_parent(_: &mut std::process::Command) {}

/// Kills the test on early returns and panics.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Reads the lines of a file while another process appends to it.
struct LineFollower {
    reader: BufReader<File>,
    position: u64,
}

impl LineFollower {
    fn new(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(LineFollower {
            reader: BufReader::new(File::open(path)?),
            position: 0,
        })
    }

    /// Reads new lines. An incomplete line is read again next time.
    fn read(&mut self, mut receive: impl FnMut(Value)) -> io::Result<()> {
        self.reader.seek(SeekFrom::Start(self.position))?;
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = self.reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                return Ok(());
            }
            self.position += length as u64;
            if let Ok(event) = serde_json::from_slice(&line) {
                receive(event);
            }
        }
    }
}
