//! Pages about checks: of every check in the folder that `RADDLE_REPORT` names, or else of one that
//! fails, beside its schedule.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use raddle_engine::CheckName;
use raddle_report::Report;
use raddle_report::html::{self, Document, Excerpts, Summary};

use crate::checker::Checker;
use crate::{saved, variable};

/// So many checks of one test have pages without being asked. There are tests with thousands.
const MAX_UNASKED: u32 = 8;
/// The page of a run, from the page of one of its checks.
const INDEX: &str = "../../index.html";

/// Writes the page of a check, if it is to have one, and notes in its failures where it is. Should that
/// not work, they say so, and nothing else is lost.
pub(crate) fn write(checker: &Checker, name: Option<&CheckName>, report: &mut Report) {
    let Some(name) = name else { return };
    let (program, test) = saved::folder_names(name);
    let (folder, run) = match &checker.report_in {
        Some(run) => (run.join(&program).join(&test), Some(run)),
        None if is_due(checker, name, report) => match saved::page_folder(name) {
            Some(folder) => (folder, None),
            None => return,
        },
        None => return,
    };
    let page = shown(&folder.join("index.html"));
    for (number, failure) in (1..).zip(&mut report.failures) {
        failure.page = Some(match number {
            1 => page.clone(),
            _ => format!("{page}#failure-{number}"),
        });
    }
    let mut summary = Summary::of(report);
    summary.program = program.clone();
    summary.test = name.test.clone();
    summary.number = name.number;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    summary.ended = now.map_or(0, |now| now.as_secs());
    summary.index = run.map(|_| INDEX.to_owned());
    let document = Document {
        summary,
        excerpts: Excerpts::of(report, variable::source),
        report,
    };
    let json = document.to_json();
    let written = match run {
        Some(run) => html::add(run, &program, &test, &json),
        None => html::write(&folder, &json),
    };
    if let Err(error) = written {
        complain(report, &folder, &error);
    }
}

/// Removes the page of a failure that is no more.
pub(crate) fn remove(check: &CheckName) {
    if let Some(folder) = saved::page_folder(check) {
        // What stays is out of date, and harms nobody.
        let _ = html::remove(&folder);
    }
}

/// Whether a failure has a page although nobody has asked for it.
fn is_due(checker: &Checker, name: &CheckName, report: &Report) -> bool {
    checker.page && name.number <= MAX_UNASKED && !checker.replays() && !report.failures.is_empty()
}

fn complain(report: &mut Report, folder: &Path, error: &io::Error) {
    let problem = format!("the page could not be written to {folder:?}: {error}");
    for failure in &mut report.failures {
        failure.page = None;
    }
    match report.failures.first_mut() {
        Some(failure) => failure.notes.push(problem),
        None => eprintln!("raddle: {problem}"),
    }
}

/// A path as short as it can be from where `cargo test` was called, as far as that is known.
fn shown(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let here: Option<PathBuf> = std::env::current_dir().ok();
    let short = here
        .as_deref()
        .and_then(|here| whole.strip_prefix(here).ok());
    short.unwrap_or(&whole).display().to_string()
}
