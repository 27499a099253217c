//! Results as JUnit XML, for CI servers.

use std::fs;
use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::output::error::Error;
use crate::run::outcome::{TestOutcome, TestVerdict};
use crate::toolchain::binaries::{Test, TestBinary};

/// Writes the outcomes of all tests, with a suite for each binary.
pub fn write(
    path: &Path,
    binaries: &[TestBinary],
    tests: &[Test],
    outcomes: &[TestOutcome],
) -> Result<(), Error> {
    let mut report = Report::new("raddle");
    for (index, binary) in binaries.iter().enumerate() {
        let mut suite = TestSuite::new(&binary.name);
        let own = tests.iter().zip(outcomes);
        for (test, outcome) in own.filter(|(test, _)| test.binary == index) {
            suite.add_test_case(case(binary, test, outcome));
        }
        if suite.tests > 0 {
            report.add_test_suite(suite);
        }
    }
    let failed = Error::cannot_write(path);
    let text = report
        .to_string()
        .map_err(|error| failed(std::io::Error::other(error)))?;
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(&failed)?;
    }
    fs::write(path, text).map_err(failed)
}

fn case(binary: &TestBinary, test: &Test, outcome: &TestOutcome) -> TestCase {
    let status = match outcome.verdict {
        TestVerdict::Passed => TestCaseStatus::success(),
        TestVerdict::NotRun | TestVerdict::Interrupted => TestCaseStatus::skipped(),
        TestVerdict::Unchanged => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(outcome.brief());
            status
        }
        TestVerdict::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let first = outcome.failures.first();
            let kind = first.and_then(|finding| finding.failure["kind"].as_str());
            status.set_type(kind.unwrap_or("Failed"));
            status.set_message(first.map_or("failed", |finding| finding.headline()));
            let stories: Vec<_> = outcome
                .failures
                .iter()
                .map(|finding| &*finding.story)
                .collect();
            status.set_description(stories.join("\n\n"));
            status
        }
        TestVerdict::TooLong => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("TooLong");
            status.set_message(
                outcome
                    .failures
                    .first()
                    .map_or("", |finding| finding.headline()),
            );
            status
        }
        TestVerdict::Broke => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(outcome.ending.as_deref().unwrap_or("broke"));
            status
        }
    };
    let mut case = TestCase::new(&test.name, status);
    case.set_classname(&binary.name);
    case.set_time(outcome.time);
    if let Some(weakest) = outcome.weakest() {
        case.add_property(("guarantee".to_owned(), weakest.guarantee()));
        let summaries = outcome.results.iter().map(|result| &*result.summary);
        case.set_system_out(summaries.collect::<Vec<_>>().join("\n"));
    }
    if outcome.verdict != TestVerdict::Passed {
        case.set_system_err(&outcome.output);
    }
    case
}
