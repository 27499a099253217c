//! Events of checks as lines of JSON for another program, such as `cargo raddle`. The file that
//! `RADDLE_EVENTS` names gets a line when a check starts, at intervals while it runs, for each
//! failure, and when it is over. Several processes may write to one file, each a line at a time.
//!
//! While events are written, a request to end the process stops checks as if their budget were
//! spent, so that their findings are reported.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;

use raddle_engine::CheckName;
use raddle_report::event::{Event, Finished, Happening, Mutants, Progress, Requirements};
use raddle_report::{Failure, ListedAlternatives, Report, Trace};

#[cfg(unix)]
use crate::persist::descriptors::out_of_the_way;
use crate::program::RunningBinary;
use crate::runtime::interrupts::{self, Listening};
use crate::settings::checker::Checker;

/// Returns the file for events; `None` if none is named or it cannot be written.
fn file() -> Option<&'static File> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("RADDLE_EVENTS").filter(|path| !path.is_empty())?;
        let opened = File::options().append(true).create(true).open(&path);
        #[cfg(unix)]
        let opened = opened.map(|file| File::from(out_of_the_way(file.into())));
        opened
            .inspect_err(|error| {
                let path = path.display();
                eprintln!("raddle: RADDLE_EVENTS: {path} cannot be written: {error}");
            })
            .ok()
    };
    FILE.get_or_init(open).as_ref()
}

/// True when events are written.
pub(crate) fn are_wanted() -> bool {
    file().is_some()
}

/// A check with events, if these are written. While it exists, the check stops early if a signal
/// requests the end of the process.
pub(crate) struct CheckEvents<'a> {
    check: Option<&'a CheckName>,
    _listening: Option<Listening>,
}

impl<'a> CheckEvents<'a> {
    pub(crate) fn start(checker: &Checker, check: Option<&'a CheckName>) -> Self {
        let check = check.filter(|_| are_wanted());
        let events = CheckEvents {
            check,
            _listening: are_wanted().then(interrupts::listen),
        };
        if let Some(check) = check {
            let started = Happening::Started {
                strategy: checker.strategy.to_string(),
                seed: checker.seed,
            };
            write(check, started);
        }
        events
    }

    pub(crate) fn finish(self, report: &Report) {
        if let Some(check) = self.check {
            finished(check, report);
        }
    }
}

/// True when checks should stop early.
#[inline]
pub(crate) fn is_interrupted() -> bool {
    interrupts::came() && are_wanted()
}

fn write(check: &CheckName, what: Happening<'_>) {
    let Some(mut file) = file() else { return };
    let event = Event {
        binary: RunningBinary::find().name,
        test: &check.test,
        check: check.number,
        what,
    };
    // An error does not affect the check.
    let _ = file.write_all(event.to_line().as_bytes());
}

pub(crate) fn progress(check: &CheckName, progress: Progress) {
    write(check, Happening::Progress(progress));
}

/// Writes a failure that is not part of a check's report.
pub(crate) fn failure(check: &CheckName, failure: &Failure) {
    if are_wanted() {
        write(check, Happening::Failure(failure.into()));
    }
}

/// Writes what is known about changed operations.
pub(crate) fn mutants(check: &CheckName, mutants: Mutants) {
    write(check, Happening::Mutants(mutants));
}

/// Writes the requirements that a check has covered.
pub(crate) fn requirements(check: &CheckName, requirements: Requirements) {
    write(check, Happening::Requirements(requirements));
}

/// Writes the execution of a replay, failing or not.
pub(crate) fn replayed(check: &CheckName, trace: &Trace) {
    write(check, Happening::Replayed { trace });
}

/// Writes the alternatives of one execution.
pub(crate) fn alternatives(check: &CheckName, list: &ListedAlternatives) {
    write(check, Happening::Alternatives { list });
}

fn finished(check: &CheckName, report: &Report) {
    for failure in &report.failures {
        write(check, Happening::Failure(failure.into()));
    }
    for warning in &report.warnings {
        write(check, Happening::Warning(warning.into()));
    }
    let finished = Finished::new(report, is_interrupted());
    write(check, Happening::Finished(finished));
}
