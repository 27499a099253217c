//! Checkpoints of exhaustive searches, from which an interrupted search is resumed.
//!
//! A checkpoint has the counts of a search and the branches left to run. It is a file beside the
//! schedules of its test: `target/raddle/BINARY/TEST.frontier`. The file is replaced atomically, so
//! after a crash either the old or the new one exists. It is removed when the search ends.

mod file;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use raddle_engine::frontier::Item;
use raddle_engine::strategy::Reach;
use raddle_engine::{CheckName, CutCounts};

use crate::persist::saved;
use crate::program::{Dialect, Program, build_fingerprint};
use crate::runtime::Places;
use crate::runtime::interrupts::{self, Listening};
use crate::runtime::sampled_clock::Clock;
use crate::settings::checker::Checker;
use crate::settings::checkpoints::Every;
use crate::settings::options::{Classes, Strategy};
pub(crate) use file::Saved;
pub use file::{read_search, seal};

/// Minimum duration of a search that is saved; a shorter one is as quickly run again.
const WORTH_SAVING: Duration = Duration::from_secs(1);
/// The counts and the remaining work of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// All runs of the program, whatever they count for.
    pub(crate) runs: u64,
    pub(crate) executions: u64,
    pub(crate) discarded: u64,
    pub(crate) cut_short: bool,
    pub(crate) cuts: CutCounts,
    /// The reach of a preemption bound.
    pub(crate) reach: Reach,
    /// Failures: the number of the execution and the token of the schedule.
    pub(crate) failures: Vec<(u64, String)>,
    pub(crate) items: Vec<String>,
}

/// A search with checkpoints.
pub(crate) struct Saving {
    /// Computed on first use; `None` if there is no target folder.
    path: OnceLock<Option<PathBuf>>,
    program: &'static dyn Program,
    check: Option<CheckName>,
    /// The name of the check, if the file must contain it.
    named: Option<CheckName>,
    settings: Vec<(&'static str, String)>,
    every: Every,
    start: Instant,
    /// Duration of earlier runs of the search.
    before: Duration,
    /// Time of the next checkpoint: milliseconds from the start, or number of executions.
    next: AtomicU64,
    listening: OnceLock<Mutex<Option<Listening>>>,
    /// Held while a checkpoint is written; true after an error.
    writing: Mutex<bool>,
    was_saved: AtomicBool,
}

impl Saving {
    /// Returns `None` if the search cannot be saved, or could not be found again.
    pub(crate) fn new(
        checker: &Checker,
        check: Option<&CheckName>,
        start: Instant,
    ) -> Option<Self> {
        let (path, every) = (&checker.checkpoint, &checker.checkpoint_every);
        // Classes known by comparison are not in a checkpoint.
        if checker.strategy != Strategy::Exhaustive
            || checker.classes == Classes::ReadsFrom
            || checker.only_estimate
            // The items belong to a generation of the accesses that are left out, which is not saved.
            || checker.reduce.paths && checker.program.dialect() != Dialect::Library
            || *every == Every::Time(Duration::ZERO)
        {
            return None;
        }
        if path.is_none() && check.is_none() {
            return None;
        }
        // A file that the user names need not contain the name of the check.
        let named = check.filter(|_| path.is_none());
        let path = match path {
            Some(path) => OnceLock::from(Some(path.clone())),
            None => OnceLock::new(),
        };
        let next = match every {
            Every::Time(_) => WORTH_SAVING.as_millis() as u64,
            Every::Executions(executions) => *executions,
        };
        Some(Saving {
            path,
            program: checker.program,
            check: check.cloned(),
            named: named.cloned(),
            settings: settings(checker),
            every: *every,
            start,
            before: Duration::ZERO,
            next: AtomicU64::new(next),
            listening: OnceLock::new(),
            writing: Mutex::new(false),
            was_saved: AtomicBool::new(false),
        })
    }

    fn path(&self) -> Option<&Path> {
        let beside = || saved::frontier(self.named.as_ref()?);
        self.path.get_or_init(beside).as_deref()
    }

    /// True when a signal requested the end of the process.
    #[inline]
    pub(crate) fn is_interrupted(&self) -> bool {
        interrupts::came() && self.listening.get().is_some()
    }

    /// True when a checkpoint is due.
    #[inline]
    pub(crate) fn is_due(&self, clock: &mut Clock, executions: impl Fn() -> u64) -> bool {
        let next = self.next.load(Relaxed);
        match self.every {
            Every::Executions(every) => {
                let now = executions();
                now >= next && {
                    self.listen();
                    self.next.store(now.saturating_add(every), Relaxed);
                    true
                }
            }
            Every::Time(every) => {
                let due = self.start + Duration::from_millis(next);
                clock.is_past(Some(due)) && self.is_time(every)
            }
        }
    }

    #[cold]
    fn is_time(&self, every: Duration) -> bool {
        let is_first = self.listening.get().is_none();
        self.listen();
        let elapsed = self.start.elapsed();
        let next = match is_first {
            true => every,
            false => elapsed + every,
        };
        self.next.store(next.as_millis() as u64, Relaxed);
        !is_first || elapsed >= every
    }

    fn listen(&self) {
        self.listening
            .get_or_init(|| Mutex::new(Some(interrupts::listen())));
    }

    /// Writes a checkpoint. An error is printed once, and the search continues.
    pub(crate) fn save(&self, parts: Vec<Part>) -> bool {
        let mut failed = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum();
        let saved = Saved {
            check: self.named.clone(),
            settings: self.settings(),
            runs: sum(|part| part.runs),
            executions: sum(|part| part.executions),
            discarded: sum(|part| part.discarded),
            cut_short: parts.iter().any(|part| part.cut_short),
            cuts: (parts.iter()).fold(CutCounts::default(), |cuts, part| cuts.and(part.cuts)),
            reach: (parts.iter()).fold(Reach::default(), |reach, part| reach.and(part.reach)),
            elapsed: self.before + self.start.elapsed(),
            failures: parts
                .iter()
                .flat_map(|part| part.failures.clone())
                .collect(),
            items: parts.into_iter().flat_map(|part| part.items).collect(),
        };
        let Some(path) = self.path() else {
            return false;
        };
        match replace(path, &saved.to_string()) {
            Ok(()) => {
                self.was_saved.store(true, Relaxed);
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut failed, true) {
                    let path = path.display();
                    eprintln!("raddle: the search could not be saved as {path}: {error}");
                }
                false
            }
        }
    }

    /// True when the rest of a search that has stopped early is worth saving.
    pub(crate) fn is_worth_it(&self) -> bool {
        let explicit = matches!(self.every, Every::Executions(_));
        explicit || self.before + self.start.elapsed() >= WORTH_SAVING
    }

    /// Removes the checkpoint of a search that has ended.
    pub(crate) fn forget(&self, resumed: bool) {
        if resumed || self.was_saved.load(Relaxed) {
            // A file that cannot be removed is replaced by the next checkpoint.
            let _ = self.path().map(std::fs::remove_file);
        }
    }

    /// Returns the command that resumes the search.
    pub(crate) fn command(&self) -> String {
        saved::resume_command(self.program, self.check.as_ref())
    }

    /// Prints that the search was interrupted, and ends the process.
    pub(crate) fn end_process(&self, classes: u64) -> ! {
        let text = format!(
            "\nraddle: interrupted after {classes} classes; continue with {}\n",
            self.command()
        );
        // Writes past the test harness, which captures output until the test has ended.
        let _ = io::stderr().write_all(text.as_bytes());
        let listening = self.listening.get().and_then(|listening| {
            let mut listening = listening.lock().unwrap_or_else(PoisonError::into_inner);
            listening.take()
        });
        match listening {
            Some(listening) => interrupts::end_process(listening),
            None => std::process::exit(130),
        }
    }

    /// Loads the checkpoint of this search, if there is one.
    ///
    /// # Panics
    ///
    /// If it belongs to another program or other settings. The file stays, for a return to them.
    #[track_caller]
    pub(crate) fn load(&mut self, places: &Places) -> Option<Resumed> {
        let path = self.path()?;
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            text => text.map_err(|error| error.to_string()),
        };
        let whole = text.and_then(|text| {
            let saved: Saved = text.parse()?;
            let items = saved.read_items(places)?;
            Ok((saved, items))
        });
        let (saved, items) = match whole {
            Ok(whole) => whole,
            Err(problem) => {
                set_aside(path, &problem);
                return None;
            }
        };
        if let Some(difference) = self.difference(&saved) {
            panic!(
                "raddle: the search saved in {} cannot be continued: {difference}; remove the file, \
                 or run without RADDLE_RESUME",
                path.display()
            );
        }
        self.before = saved.elapsed;
        if let Every::Executions(every) = self.every {
            self.next = AtomicU64::new(saved.executions.saturating_add(every));
        }
        Some(Resumed { saved, items })
    }

    /// Returns the settings that must be the same for the search to be resumed.
    fn settings(&self) -> Vec<(String, String)> {
        with_program(&self.settings)
    }

    /// Describes the first difference from the search that is to be run.
    fn difference(&self, saved: &Saved) -> Option<String> {
        if saved.check != self.named {
            let name = |check: &Option<CheckName>| match check {
                Some(check) => check.to_string(),
                None => "a check without a name".to_owned(),
            };
            let (there, here) = (name(&saved.check), name(&self.named));
            return Some(format!("it is of {there}, and this is {here}"));
        }
        let there = |name: &str| saved.settings.iter().find(|(other, _)| other == name);
        for (name, here) in &self.settings() {
            let there = there(name).map_or("missing", |(_, value)| value.as_str());
            if name == PROGRAM && there != here {
                return Some("the program has been built anew since then".to_owned());
            }
            if there != here {
                return Some(format!(
                    "its setting `{name}` is {there}, and here it is {here}"
                ));
            }
        }
        None
    }
}

#[cold]
fn set_aside(path: &Path, problem: &str) {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".unreadable");
    eprintln!(
        "raddle: the checkpoint {} cannot be used: {problem}",
        path.display()
    );
    if std::fs::rename(path, &aside).is_ok() {
        eprintln!(
            "raddle: it is kept as {}; the search starts from the beginning",
            Path::new(&aside).display()
        );
    }
}

/// A resumed search.
pub(crate) struct Resumed {
    pub(crate) saved: Saved,
    pub(crate) items: Vec<Item>,
}

const PROGRAM: &str = "program";

/// Returns the build of the program and the settings that two parts of one search must share.
pub(crate) fn identity(checker: &Checker) -> Vec<(String, String)> {
    with_program(&settings(checker))
}

fn with_program(settings: &[(&'static str, String)]) -> Vec<(String, String)> {
    let program = (PROGRAM, build_fingerprint().to_owned());
    let all = [program].into_iter().chain(settings.iter().cloned());
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the settings of a check that must be the same.
fn settings(checker: &Checker) -> Vec<(&'static str, String)> {
    let policy = checker.policy();
    vec![
        ("memory", format!("{:?}", checker.memory)),
        ("max_events", checker.limits().max_events.to_string()),
        ("spurious_wakeups", policy.spurious_wakeups.to_string()),
        ("timeouts", policy.timeouts.to_string()),
        ("weak_cas", policy.weak_cas.to_string()),
        ("reuse_memory", checker.reuse_memory.to_string()),
        ("waiting_writers", policy.waiting_writers.to_string()),
        (
            "preemptions",
            checker
                .preemptions
                .map_or("any".to_owned(), |bound| bound.to_string()),
        ),
        ("symmetry", checker.reduce.symmetry.to_string()),
        ("releases", checker.reduce.releases.to_string()),
        ("paths", checker.reduce.paths.to_string()),
    ]
}

/// Replaces the file atomically.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = File::create(&new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| std::fs::rename(&new, path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    replaced
}
