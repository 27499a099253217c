//! Changes as JUnit XML: a suite for each file, a case for each change.

use std::fs;
use std::path::Path;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Outcome, Tried};
use crate::output::error::Error;

/// Writes the changes. One that no test notices is a failure, and one without a verdict an error.
pub fn write(path: &Path, tried: &[Tried]) -> Result<(), Error> {
    let failed = Error::cannot_write(path);
    let text = report(tried)
        .to_string()
        .map_err(|error| failed(std::io::Error::other(error)))?;
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(&failed)?;
    }
    fs::write(path, text).map_err(failed)
}

fn report(tried: &[Tried]) -> Report {
    let mut files: Vec<&str> = tried.iter().map(|it| it.change.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let mut report = Report::new("raddle mutants");
    for file in files {
        let mut suite = TestSuite::new(file);
        for one in tried.iter().filter(|it| it.change.file == file) {
            suite.add_test_case(case(one));
        }
        report.add_test_suite(suite);
    }
    report
}

fn case(tried: &Tried) -> TestCase {
    let Tried { change, outcome } = tried;
    let with_message = |mut status: TestCaseStatus| {
        status.set_message(format!("{}: {}", outcome.word(), outcome.explanation()));
        status.set_type(outcome.word());
        if let Some(difference) = &change.difference {
            status.set_description(difference.as_str());
        }
        status
    };
    let status = match outcome {
        Outcome::Noticed { .. } => TestCaseStatus::success(),
        Outcome::NotNoticed { .. } | Outcome::Unreached => {
            with_message(TestCaseStatus::non_success(NonSuccessKind::Failure))
        }
        Outcome::TimedOut { .. } | Outcome::Undecided { .. } => {
            with_message(TestCaseStatus::non_success(NonSuccessKind::Error))
        }
        Outcome::Unbuildable { .. } => with_message(TestCaseStatus::skipped()),
    };
    let name = format!("{}:{} {}", change.line, change.column, change.what());
    let mut case = TestCase::new(name, status);
    case.set_classname(change.file.as_str());
    if let Outcome::Noticed { .. } = outcome {
        case.set_system_out(outcome.explanation());
    }
    case
}
