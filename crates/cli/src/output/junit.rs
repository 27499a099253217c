//! Results as JUnit XML, for continuous integration.

use std::fs;
use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::commands::error::Error;
use crate::run::outcome::{Outcome, Verdict};
use crate::toolchain::binaries::{Binary, Test};

/// Writes what came of all tests: a suite for each binary.
pub fn write(
    path: &Path,
    binaries: &[Binary],
    tests: &[Test],
    outcomes: &[Outcome],
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
    let failed = |cause| Error::CannotWrite {
        path: path.to_owned(),
        cause,
    };
    let text = report
        .to_string()
        .map_err(|error| failed(std::io::Error::other(error)))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

fn case(binary: &Binary, test: &Test, outcome: &Outcome) -> TestCase {
    let status = match outcome.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::NotRun | Verdict::Interrupted => TestCaseStatus::skipped(),
        Verdict::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let first = outcome.failures.first();
            let kind = first.and_then(|told| told.failure["kind"].as_str());
            status.set_type(kind.unwrap_or("Failed"));
            status.set_message(first.map_or("failed", |told| told.headline()));
            let stories: Vec<_> = outcome.failures.iter().map(|told| &*told.story).collect();
            status.set_description(stories.join("\n\n"));
            status
        }
        Verdict::TooLong => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("TooLong");
            status.set_message(outcome.failures.first().map_or("", |told| told.headline()));
            status
        }
        Verdict::Broke => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(outcome.ending.as_deref().unwrap_or("broke"));
            status
        }
    };
    let mut case = TestCase::new(&test.name, status);
    case.set_classname(&binary.name);
    case.set_time(outcome.time);
    if let Some(summary) = &outcome.summary {
        case.set_system_out(summary);
    }
    if outcome.verdict != Verdict::Passed {
        case.set_system_err(&outcome.output);
    }
    case
}
