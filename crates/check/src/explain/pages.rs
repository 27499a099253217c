//! Pages about checks: one for each check in the folder that `RADDLE_REPORT` names, otherwise one
//! for each failing check, beside its schedule.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use raddle_engine::CheckName;
use raddle_report::html::{self, Document, Excerpts, Summary};
use raddle_report::{Failure, Report, Search};

use crate::persist::saved;
use crate::program::variable;
use crate::settings::checker::Checker;

/// Maximum number of checks of one test with pages that the user did not request; some tests run
/// thousands of checks.
const MAX_UNASKED: u32 = 8;
/// The branches that interleaving decides, beside the page of a check.
const GRAPH: &str = "branches.dot";
/// The index of a run, relative to the page of one of its checks.
const INDEX: &str = "../../index.html";

/// The pages that a check gets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages {
    /// A page for a failure without a request by the user.
    unasked: bool,
    /// A page in this folder in any case.
    run: Option<PathBuf>,
}

impl Pages {
    /// Returns the pages that the settings request.
    pub(crate) fn of(checker: &Checker) -> Self {
        Pages {
            unasked: checker.page && !checker.replays(),
            run: checker.report_in.clone(),
        }
    }
}

/// Writes the pages of a check and adds their path to its failures. If writing fails, the failures
/// contain the error instead.
pub(crate) fn write(pages: &Pages, name: Option<&CheckName>, report: &mut Report) {
    let Some(name) = name else { return };
    let (program, test) = saved::folder_names(name);
    let is_due = pages.unasked && name.number <= MAX_UNASKED && !report.failures.is_empty();
    let (folder, run) = match &pages.run {
        Some(run) => (run.join(&program).join(&test), Some(run)),
        None if is_due => match saved::page_folder(name) {
            Some(folder) => (folder, None),
            None => return,
        },
        None => return,
    };
    let page = shown(&folder.join("index.html"), run.is_none());
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
    if run.is_some() && report.branches().is_recorded() {
        // The page has the same as text.
        let _ = std::fs::write(folder.join(GRAPH), report.branches().graphviz());
    }
    if let Err(error) = written {
        complain(report, &folder, &error);
    }
}

/// Removes the page of a failure that no longer occurs.
pub(crate) fn remove(check: &CheckName) {
    if let Some(folder) = saved::page_folder(check) {
        // A page that cannot be removed is out of date but harmless.
        let _ = html::remove(&folder);
    }
}

/// Writes the page of a failure that ends the process and returns a line with its path or the
/// error.
pub(crate) fn write_last(
    pages: &Pages,
    name: Option<&CheckName>,
    failure: Failure,
) -> Option<String> {
    let mut report = Report::new(Search::new(failure.search.clone(), 0));
    report.executions = failure.execution;
    report.failures.push(failure);
    let notes = report.failures[0].notes.len();
    write(pages, name, &mut report);
    let failure = &report.failures[0];
    match (&failure.page, failure.notes.get(notes)) {
        (Some(page), _) => Some(format!("  report: {page}\n")),
        (None, Some(problem)) => Some(format!("\n  note: {problem}\n")),
        (None, None) => None,
    }
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

/// Returns the whole path, or a path relative to the folder where `cargo test` runs the test. A
/// folder that the user named is shown whole, because a relative name may mean another folder.
fn shown(path: &Path, may_be_short: bool) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let here: Option<PathBuf> = std::env::current_dir().ok().filter(|_| may_be_short);
    let short = here.and_then(|here| Some(whole.strip_prefix(here).ok()?.to_owned()));
    short.unwrap_or(whole).display().to_string()
}
