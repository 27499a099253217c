//! Reporting a failure.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::panic::panic_any;
use std::path::{Path, PathBuf};

use raddle::{Failure, FailureKind, Report, Wait};
use raddle_check::runtime::{FOUND_AT_END, panicked_literal};

use crate::config::{Config, FailurePersistence, MaxSteps};

/// Panics if the test has failed; prints the result if it has not.
///
/// A panic of the program is raised again with its own text, as shuttle does, after the story was printed to standard
/// error. Other failures have the story as their text.
#[track_caller]
pub(crate) fn conclude(report: &Report, config: &Config) {
    let Some(failure) = report.failures.first() else {
        return report.assert_ok();
    };
    let text = text(failure, config);
    let Some(panic) = panic_of(failure) else {
        panic!("{text}")
    };
    if config.failure_persistence != FailurePersistence::None {
        eprintln!("{text}");
    }
    match panicked_literal(panic) {
        Some(literal) => panic_any(literal),
        None => panic_any(panic.to_owned()),
    }
}

/// Returns the text of the panic of the program that is the failure.
fn panic_of(failure: &Failure) -> Option<&str> {
    let (_, panic) = (failure.kind == FailureKind::Panic)
        .then(|| failure.message.split_once(":\n"))
        .flatten()?;
    // Lines about threads that panicked in turn follow.
    match panic.split_once("\nand ") {
        Some((first, _)) if panicked_literal(panic).is_none() => Some(first),
        _ => Some(panic),
    }
}

fn text(failure: &Failure, config: &Config) -> String {
    let mut text = in_words_of_shuttle(failure, config).unwrap_or_default();
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

/// Returns a line with the words of shuttle for a failure, which tests may expect.
fn in_words_of_shuttle(failure: &Failure, config: &Config) -> Option<String> {
    let is_at_end = failure.notes.iter().any(|note| note == FOUND_AT_END);
    match (failure.kind, config.max_steps) {
        (FailureKind::TooLong, MaxSteps::FailAfter(most)) => Some(match is_at_end {
            true => format!(
                "a task exceeded the step bound ({most}) while it was being dropped at the end of the execution\n"
            ),
            false => format!("exceeded max_steps bound {most}\n"),
        }),
        (FailureKind::Deadlock, _) if is_at_end => {
            let is_main = failure.waits.first().is_some_and(|wait| wait.thread == 0);
            let which = match is_main {
                true => "\nA static's destructor, dropped as main-thread, blocked",
                false => "",
            };
            Some(format!(
                "deadlock while dropping the tasks that were unfinished at the end of the execution{which}\n"
            ))
        }
        (FailureKind::Deadlock, _) => {
            let mut waits = failure.waits.iter();
            let own = waits.find(|wait| holds_it(failure, wait))?;
            let mut kinds = ["Mutex", "RwLock"].into_iter();
            let kind = kinds.find(|kind| own.what.starts_with(kind))?;
            let thread = failure.trace.threads[own.thread].title();
            Some(format!(
                "{thread} tried to acquire a {kind} it already holds\n"
            ))
        }
        // Shuttle's word for it, which suites expect.
        (FailureKind::LostWakeup, _) => Some("deadlock! a wake-up is lost\n".to_owned()),
        _ => None,
    }
}

/// True when a thread waits for a lock that it holds itself.
fn holds_it(failure: &Failure, wait: &Wait) -> bool {
    let (holds, waits) = (
        format!(" holds {} (", wait.what),
        format!(" for {}", wait.what),
    );
    let thread = failure.trace.threads[wait.thread].title();
    let mut lines = failure.message.lines();
    lines.any(|line| line.starts_with(thread) && line.contains(&holds) && line.contains(&waits))
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
