//! The data of a page: the report, its stories and source excerpts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use crate::data::failure::Failure;
use crate::data::place::Place;
use crate::data::report::Report;
use crate::data::trace::Trace;
use crate::render::json::to_json;
use crate::words::number::grouped;

/// Number of source lines shown before and after a place.
const AROUND: u32 = 4;
/// Maximum number of source lines in one document.
const MAX_LINES: usize = 4_000;
/// Maximum number of steps of a schedule, and of an execution, in a document: about 300 kB, and 4 MB. The
/// execution that is too long has up to a million.
const MAX_STEPS: usize = 20_000;
/// Maximum number of characters of a source line.
const MAX_WIDTH: usize = 240;

/// Summary of a check, for lists of checks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Name of the test program.
    pub program: String,
    /// Name of the test, or of the check.
    pub test: String,
    /// Number of the check among those with this name, from 1.
    pub number: u32,
    /// End of the check, in seconds since 1970.
    pub ended: u64,
    /// Kinds of the failures, such as `deadlock` or `panic`.
    pub failures: Vec<String>,
    /// Kinds of the warnings.
    pub warnings: Vec<String>,
    /// Summary of the report, in one line.
    pub headline: String,
    /// Name of the guarantee, such as `Exhaustive` or `Sampled`.
    pub guarantee: String,
    /// Number of classes.
    pub classes: u64,
    /// Number of executions.
    pub executions: u64,
    /// Duration, in milliseconds.
    pub milliseconds: u64,
    /// Path of the run's page, relative to the page of the check; `None` if there is no such page.
    pub index: Option<String>,
}

impl Summary {
    /// Summarises a report. The names of program and test are left empty.
    pub fn of(report: &Report) -> Self {
        let kinds = |failures: &[Failure]| {
            let kinds = failures.iter().map(|failure| failure.kind.to_string());
            kinds.collect()
        };
        let guarantee = format!("{:?}", report.guarantee());
        let guarantee = guarantee.split([' ', '{']).next().unwrap_or_default();
        Summary {
            number: 1,
            failures: kinds(&report.failures),
            warnings: kinds(&report.warnings),
            headline: headline(report),
            guarantee: guarantee.to_owned(),
            classes: report.classes(),
            executions: report.executions,
            milliseconds: report.elapsed.as_millis() as u64,
            ..Summary::default()
        }
    }
}

/// Returns the summary of a report. The extent of a finished search stands beside the failures, so it
/// says that at least one behaviour fails.
fn headline(report: &Report) -> String {
    let summary = report.summary().to_string();
    match summary.split_once(": ") {
        Some((extent, rest)) if extent.starts_with("every ") && !report.failures.is_empty() => {
            format!("{extent}, and at least one fails: {rest}")
        }
        _ => summary,
    }
}

/// Source lines by file and line number.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Excerpts(BTreeMap<String, BTreeMap<u32, String>>);

impl Excerpts {
    /// Collects the lines around every place of a report; `source` returns the text of a file.
    pub fn of(report: &Report, source: impl Fn(&str) -> Option<String>) -> Self {
        let mut wanted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        let mut left = MAX_LINES;
        for place in report
            .failures
            .iter()
            .chain(&report.warnings)
            .flat_map(places)
        {
            let lines = wanted.entry(&place.file).or_default();
            let first = place.line.saturating_sub(AROUND).max(1);
            for line in first..=place.line.saturating_add(AROUND) {
                if left > 0 && lines.insert(line) {
                    left -= 1;
                }
            }
        }
        let mut files = BTreeMap::new();
        for (file, lines) in wanted {
            let Some(text) = source(file) else { continue };
            let numbered = (1..).zip(text.lines());
            let shown = numbered.filter(|(number, _)| lines.contains(number));
            let shown =
                shown.map(|(number, line)| (number, line.chars().take(MAX_WIDTH).collect()));
            files.insert(file.to_owned(), shown.collect());
        }
        Excerpts(files)
    }
}

/// Returns every place that the page of a failure may show, by importance.
fn places(failure: &Failure) -> impl Iterator<Item = &Place> {
    let marks = failure.marks.iter().map(|mark| &mark.place);
    let waits = failure.waits.iter();
    let waits = waits.flat_map(|wait| wait.place.iter().chain(&wait.taken));
    let others = [&failure.found, &failure.passing].into_iter().flatten();
    let others = others.flat_map(|other| places_of(&other.trace));
    marks
        .chain(waits)
        .chain(places_of(&failure.trace))
        .chain(others)
}

fn places_of(trace: &Trace) -> Vec<&Place> {
    let steps = trace
        .steps
        .iter()
        .rev()
        .filter_map(|step| step.place.as_ref());
    let things = trace.things.iter().filter_map(|(_, made)| made.as_ref());
    let threads = trace
        .threads
        .iter()
        .filter_map(|thread| thread.spawned.as_ref());
    let mut places: Vec<&Place> = steps.chain(things).chain(threads).collect();
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert((&place.file, place.line)));
    places
}

/// Everything that the page of a check shows.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Summary for lists of checks.
    pub summary: Summary,
    /// Report of the check.
    pub report: &'a Report,
    /// Source lines around the places in the report.
    pub excerpts: Excerpts,
}

/// Text before and after the summary, on the first line of a document.
const BEGINNING: &str = "{\"summary\":";
const AFTER: &str = ",\n\"report\":";

impl Document<'_> {
    /// Returns the document as JSON, with the summary on the first line.
    pub fn to_json(&self) -> String {
        let stories = self.report.failures.iter().chain(&self.report.warnings);
        let stories: Vec<String> = stories.map(ToString::to_string).collect();
        format!(
            "{BEGINNING}{}{AFTER}{},\n\"stories\":{},\n\"excerpts\":{}}}\n",
            to_json(&self.summary),
            to_json(&*without_long_executions(self.report)),
            to_json(&stories),
            to_json(&self.excerpts),
        )
    }
}

/// Returns the report without the steps of schedules and of executions that are too long, which notes
/// say. A browser does not open a page with all steps, and to write it takes seconds.
fn without_long_executions(report: &Report) -> Cow<'_, Report> {
    let is_long = |failure: &Failure| {
        failure.schedule.steps.len() > MAX_STEPS || failure.trace.steps.len() > MAX_STEPS
    };
    if !report.failures.iter().chain(&report.warnings).any(is_long) {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    let all = report.failures.iter_mut().chain(&mut report.warnings);
    for failure in all.filter(|failure| is_long(failure)) {
        if failure.schedule.steps.len() > MAX_STEPS {
            let steps = grouped(std::mem::take(&mut failure.schedule.steps).len() as u64);
            failure.notes.push(format!(
                "its schedule has {steps} steps, too many for this page; the command that replays it has them"
            ));
        }
        let steps = failure.trace.steps.len();
        if steps > MAX_STEPS {
            failure.trace.cut(MAX_STEPS);
            failure.trace.fold();
            failure.notes.push(format!(
                "the execution has {} steps: this page lists the first {}, and the story its end",
                grouped(steps as u64),
                grouped(MAX_STEPS as u64)
            ));
        }
    }
    Cow::Owned(report)
}

/// Extracts the summary from the first line of a document, so that a list of checks need not parse
/// the whole documents; `None` if the line is malformed.
pub(super) fn summary(first_line: &str) -> Option<&str> {
    let (after, _) = AFTER.split_once('\n')?;
    let line = first_line.trim_end().strip_suffix(after)?;
    line.strip_prefix(BEGINNING)
        .filter(|summary| summary.starts_with('{') && summary.ends_with('}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::report::Search;

    #[test]
    fn the_summary_is_on_the_first_line() {
        let report = Report::new(Search::new("exhaustive", 7));
        let document = Document {
            summary: Summary {
                test: "a \"b\"\nc".to_owned(),
                ..Summary::of(&report)
            },
            report: &report,
            excerpts: Excerpts::default(),
        };
        let json = document.to_json();
        let first = json.lines().next().unwrap();
        let found: serde_json::Value = serde_json::from_str(summary(first).unwrap()).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(whole["summary"], found);
        assert_eq!(found["test"], "a \"b\"\nc");
        for other in ["", "{}", "{\"summary\":{}", "{\"summary\":7,", "oops"] {
            assert_eq!(summary(other), None, "{other}");
        }
    }
}
