//! The page of a run with `--since`: its tests, and the requirements that differ at the lines of the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use raddle_report::html::changes::{ChangedFile, ChangedLine, Mark, Note};
use raddle_report::html::since::{Elsewhere, TestRow, page};

use super::{beginning, in_words, summary};
use crate::output::error::Error;
use crate::run::outcome::{TestOutcome, TestVerdict};
use crate::run::since::news::News;
use crate::run::since::record::Goal;
use crate::run::since::{Conclusion, Since};
use crate::toolchain::binaries::{Test, TestBinary};

/// Kinds of requirements that have a line of this version: their heading, and those of them in a test.
type Kind = (&'static str, Mark, fn(&News) -> &BTreeSet<Goal>);

const HERE: [Kind; 3] = [
    ("new, not covered yet", Mark::Open, |news| &news.open),
    ("new, covered", Mark::Good, |news| &news.covered),
    ("covered before and not in this run", Mark::Bad, |news| {
        &news.not_again
    }),
];

/// Writes the page.
pub fn write(
    path: &Path,
    conclusion: &Conclusion,
    since: &Since,
    binaries: &[TestBinary],
    tests: &[Test],
    outcomes: &[TestOutcome],
) -> Result<(), Error> {
    let name = |index: usize| {
        let test = &tests[index];
        format!("{} {}", binaries[test.binary].name, test.name)
    };
    let row = |(index, outcome): (usize, &TestOutcome)| TestRow {
        name: name(index),
        mark: mark(outcome.verdict),
        result: outcome.brief(),
        news: (conclusion.news.iter())
            .find(|(of, _)| *of == index)
            .map_or_else(String::new, |(_, news)| summary(news)),
    };
    let rows: Vec<_> = outcomes.iter().enumerate().map(row).collect();
    let (files, mut elsewhere) = at_lines(since.sources(), conclusion, &name);
    elsewhere.push(group("gone", conclusion, &name, |news| &news.gone));
    let failed = Error::cannot_write(path);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(&failed)?;
    }
    fs::write(path, page(&beginning(since), &rows, &files, &elsewhere)).map_err(failed)
}

fn mark(verdict: TestVerdict) -> Mark {
    match verdict {
        TestVerdict::Passed => Mark::Good,
        TestVerdict::Failed => Mark::Bad,
        TestVerdict::Unchanged | TestVerdict::NotRun => Mark::None,
        TestVerdict::Interrupted | TestVerdict::TooLong | TestVerdict::Broke => Mark::Open,
    }
}

/// The requirements of a kind, each with the tests that have it.
fn with_tests<'a>(
    conclusion: &'a Conclusion,
    name: &dyn Fn(usize) -> String,
    of: fn(&News) -> &BTreeSet<Goal>,
) -> BTreeMap<&'a Goal, String> {
    let mut all: BTreeMap<&Goal, String> = BTreeMap::new();
    for (index, news) in &conclusion.news {
        for goal in of(news) {
            let tests = all.entry(goal).or_default();
            if !tests.is_empty() {
                tests.push_str(", ");
            }
            tests.push_str(&name(*index));
        }
    }
    all
}

fn group(
    heading: &str,
    conclusion: &Conclusion,
    name: &dyn Fn(usize) -> String,
    of: fn(&News) -> &BTreeSet<Goal>,
) -> Elsewhere {
    let all = with_tests(conclusion, name, of);
    let text = |(goal, tests): (&Goal, String)| format!("{} in {tests}", in_words(goal));
    Elsewhere {
        heading: heading.to_owned(),
        requirements: all.into_iter().map(text).collect(),
    }
}

/// Returns the sources with the requirements at their first lines, and those whose sources cannot be read.
fn at_lines(
    root: &Path,
    conclusion: &Conclusion,
    name: &dyn Fn(usize) -> String,
) -> (Vec<ChangedFile>, Vec<Elsewhere>) {
    let mut files: BTreeMap<String, ChangedFile> = BTreeMap::new();
    let mut elsewhere = Vec::new();
    for (heading, mark, of) in HERE {
        let mut requirements = Vec::new();
        for (goal, tests) in with_tests(conclusion, name, of) {
            let Some(line) = line_of(&goal.first, root, &mut files) else {
                requirements.push(format!("{} in {tests}", in_words(goal)));
                continue;
            };
            line.notes.push(Note {
                mark,
                outcome: heading.to_owned(),
                change: match &goal.second {
                    Some(second) => format!("{} -> {second}", goal.metric),
                    None => goal.metric.clone(),
                },
                explanation: tests,
                difference: None,
            });
        }
        elsewhere.push(Elsewhere {
            heading: format!("{heading}, outside the repository"),
            requirements,
        });
    }
    let mut files: Vec<_> = files.into_values().collect();
    files.retain(|file| file.lines.iter().any(|line| !line.notes.is_empty()));
    (files, elsewhere)
}

/// Returns the line of a place, whose file is read if it was not.
fn line_of<'a>(
    place: &str,
    root: &Path,
    files: &'a mut BTreeMap<String, ChangedFile>,
) -> Option<&'a mut ChangedLine> {
    let mut parts = place.rsplitn(3, ':');
    let number: usize = parts.nth(1)?.parse().ok()?;
    let name = parts.next()?;
    let file = files.entry(name.to_owned()).or_insert_with(|| {
        let source = fs::read_to_string(root.join(name)).unwrap_or_default();
        let lines = source.lines().map(|text| ChangedLine {
            text: text.to_owned(),
            notes: Vec::new(),
        });
        ChangedFile {
            name: name.to_owned(),
            lines: lines.collect(),
        }
    });
    file.lines.get_mut(number.checked_sub(1)?)
}
