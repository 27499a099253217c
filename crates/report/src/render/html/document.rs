//! What is written down of a check: its report, its stories and the lines they are about.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use crate::data::failure::Failure;
use crate::data::place::Place;
use crate::data::report::Report;
use crate::data::trace::Trace;
use crate::render::json::to_json;

/// So many lines are shown before and after a place.
const AROUND: u32 = 4;
/// So many lines of source at most go into one document.
const MAX_LINES: usize = 4_000;
/// So many characters of a line.
const MAX_WIDTH: usize = 240;

/// A check in a few words, for lists of checks.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The program that ran it.
    pub program: String,
    /// The name of the test, or of the check.
    pub test: String,
    /// Which check of that name, counted from 1.
    pub number: u32,
    /// When it ended, in seconds since 1970.
    pub ended: u64,
    /// What failed: `deadlock`, `panic`.
    pub failures: Vec<String>,
    /// What may fail one day.
    pub warnings: Vec<String>,
    /// How far the check went, in one line.
    pub headline: String,
    /// What it promises: `Exhaustive`, `Sampled`.
    pub guarantee: String,
    /// How many classes it ran.
    pub classes: u64,
    /// How many executions.
    pub executions: u64,
    /// How many milliseconds it took.
    pub milliseconds: u64,
    /// The page of the run, from the page of the check; nothing if there is none.
    pub index: Option<String>,
}

impl Summary {
    /// The summary of a check, which still has no name.
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
            headline: report.summary().to_string(),
            guarantee: guarantee.to_owned(),
            classes: report.classes(),
            executions: report.executions,
            milliseconds: report.elapsed.as_millis() as u64,
            ..Summary::default()
        }
    }
}

/// Lines of source by their file and their number.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Excerpts(BTreeMap<String, BTreeMap<u32, String>>);

impl Excerpts {
    /// The lines around every place of a report; `source` gives the text of a file.
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

/// Every place that the page of a failure may show, the most important ones first.
fn places(failure: &Failure) -> impl Iterator<Item = &Place> {
    let marks = failure.marks.iter().map(|mark| &mark.place);
    let waits = failure.waits.iter();
    let waits = waits.flat_map(|wait| wait.place.iter().chain(&wait.taken));
    let told = [&failure.found, &failure.passing].into_iter().flatten();
    let told = told.flat_map(|told| places_of(&told.trace));
    marks
        .chain(waits)
        .chain(places_of(&failure.trace))
        .chain(told)
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
    /// In a few words.
    pub summary: Summary,
    /// What the check found.
    pub report: &'a Report,
    /// The lines that it is about.
    pub excerpts: Excerpts,
}

/// How the JSON of a document begins and goes on after its first line.
const BEGINNING: &str = "{\"summary\":";
const AFTER: &str = ",\n\"report\":";

impl Document<'_> {
    /// As JSON, with the summary on the first line.
    pub fn to_json(&self) -> String {
        let stories = self.report.failures.iter().chain(&self.report.warnings);
        let stories: Vec<String> = stories.map(ToString::to_string).collect();
        format!(
            "{BEGINNING}{}{AFTER}{},\n\"stories\":{},\n\"excerpts\":{}}}\n",
            to_json(&self.summary),
            to_json(self.report),
            to_json(&stories),
            to_json(&self.excerpts),
        )
    }
}

/// The JSON of the summary in the first line of a document, so that a list of many checks need not read
/// more; `None` if it is none.
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
