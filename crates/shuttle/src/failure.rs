//! Reporting a failure.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use raddle::{Failure, FailureKind, Report};

use crate::config::{Config, FailurePersistence, MaxSteps};

/// Panics if the test has failed; prints the result if it has not.
#[track_caller]
pub(crate) fn conclude(report: &Report, config: &Config) {
    match report.failures.first() {
        Some(failure) => panic!("{}", text(failure, config)),
        None => report.assert_ok(),
    }
}

fn text(failure: &Failure, config: &Config) -> String {
    let mut text = match (failure.kind, config.max_steps) {
        (FailureKind::TooLong, MaxSteps::FailAfter(most)) => {
            format!("exceeded max_steps bound {most}\n")
        }
        // Shuttle's word for it, which suites expect.
        (FailureKind::LostWakeup, _) => "deadlock! a wake-up is lost\n".to_owned(),
        _ => String::new(),
    };
    match &config.failure_persistence {
        FailurePersistence::None => text += &failure.message,
        FailurePersistence::Print => text += &(failure.to_string() + &printed(failure)),
        FailurePersistence::File(directory) => {
            text += &failure.to_string();
            text += &match write(&failure.schedule.to_string(), directory.as_deref()) {
                Ok(path) => format!(
                    "\nfailing schedule persisted to file: {}\npass that path to `shuttle::replay_from_file` \
                     to replay the failure",
                    path.display()
                ),
                Err(error) => {
                    format!(
                        "\nthe schedule cannot be written: {error}{}",
                        printed(failure)
                    )
                }
            };
        }
    }
    text
}

fn printed(failure: &Failure) -> String {
    format!(
        "\nfailing schedule:\n\"\n{}\n\"\npass that string to `shuttle::replay` to replay the failure",
        failure.schedule.to_token()
    )
}

/// Writes the schedule to a new file and returns its path.
fn write(schedule: &str, directory: Option<&Path>) -> std::io::Result<PathBuf> {
    let directory = directory.unwrap_or(Path::new("."));
    for number in 0.. {
        let path = directory.join(format!("schedule{number:03}.txt"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(schedule.as_bytes())?;
                return path.canonicalize();
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there is a number for a new file")
}
