//! Runs tests, each in a process of its own, several at once, and passes on what they tell.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::run::interrupts::{self, Told};
use crate::run::turns::by_turns;
use crate::toolchain::binaries::{Binary, Test};

/// How often a running test is looked at.
const PAUSE: Duration = Duration::from_millis(25);

/// What the tests that run tell, each with the index of its test.
pub enum Message {
    /// A test begins.
    Begins(usize),
    /// A check in a test tells something; see `RADDLE_EVENTS`.
    Event(usize, Value),
    /// A test is over.
    Ends(usize, Ended),
}

/// How a test ended.
pub struct Ended {
    /// Nothing if it could not be started.
    pub status: io::Result<ExitStatus>,
    pub time: Duration,
    /// What it printed.
    pub output: String,
}

/// Everything that is needed to run tests.
pub struct Runner<'a> {
    pub binaries: &'a [Binary],
    pub tests: &'a [Test],
    pub environment: &'a [(&'static str, std::ffi::OsString)],
    /// How many run at once.
    pub jobs: usize,
    /// For files that are gone afterwards.
    pub folder: &'a Path,
}

impl Runner<'_> {
    /// Runs all tests, or until somebody wants it to end, and hands on what they tell.
    pub fn run(&self, hear: impl FnMut(Message)) {
        interrupts::listen();
        let work = |index, sender: &Sender<Message>| self.work(index, sender);
        by_turns(self.tests.len(), self.jobs, interrupts::came, work, hear);
    }

    /// Runs a test from its beginning to its end.
    fn work(&self, index: usize, sender: &Sender<Message>) {
        // The receiver is there until all senders are gone.
        let _ = sender.send(Message::Begins(index));
        let start = Instant::now();
        let status = self.run_one(index, sender);
        let output = fs::read(self.file(index, "output")).unwrap_or_default();
        let ended = Ended {
            status,
            time: start.elapsed(),
            output: String::from_utf8_lossy(&output).into_owned(),
        };
        let _ = sender.send(Message::Ends(index, ended));
    }

    fn file(&self, index: usize, extension: &str) -> PathBuf {
        self.folder.join(format!("{index}.{extension}"))
    }

    fn run_one(&self, index: usize, sender: &Sender<Message>) -> io::Result<ExitStatus> {
        let test = &self.tests[index];
        let output = File::create(self.file(index, "output"))?;
        let events = self.file(index, "events");
        let mut told_of = Follow::new(&events)?;
        let mut command = self.binaries[test.binary].run_test(&test.name);
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("RADDLE_EVENTS", &events)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        // Ctrl-C on a terminal is for us; we pass it on.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        end_with_us(&mut command);
        let mut child = Guard(command.spawn()?);
        let mut told = Told::default();
        let mut pass_on = || {
            told_of.read(|event| {
                let _ = sender.send(Message::Event(index, event));
            })
        };
        loop {
            let status = child.0.try_wait()?;
            pass_on()?;
            if let Some(status) = status {
                return Ok(status);
            }
            told.tell(&mut child.0);
            thread::sleep(PAUSE);
        }
    }
}

/// A test does not go on when this thread is gone, as it is when somebody kills the command.
#[cfg(target_os = "linux")]
fn end_with_us(command: &mut std::process::Command) {
    use std::os::unix::process::{CommandExt, parent_id};

    let us = std::process::id();
    let ask = move || {
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
        match parent_id() == us {
            true => Ok(()),
            // We were gone before.
            false => Err(io::ErrorKind::BrokenPipe.into()),
        }
    };
    // SAFETY: between fork and exec it makes two system calls, and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

#[cfg(not(target_os = "linux"))]
fn end_with_us(_: &mut std::process::Command) {}

/// A test that does not outlive us if something goes wrong.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Reads a file that others write, line by line.
struct Follow {
    reader: BufReader<File>,
    position: u64,
}

impl Follow {
    fn new(path: &Path) -> io::Result<Self> {
        File::create(path)?;
        Ok(Follow {
            reader: BufReader::new(File::open(path)?),
            position: 0,
        })
    }

    /// What is new; a line that is not whole yet is read again next time.
    fn read(&mut self, mut hear: impl FnMut(Value)) -> io::Result<()> {
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
                hear(event);
            }
        }
    }
}
