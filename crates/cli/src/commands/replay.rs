//! `cargo raddle replay`: runs one test on one schedule.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{self, Path, PathBuf};

use raddle_engine::{Schedule, ScheduleError, TokenError};

use crate::arguments::subcommands::ReplayArguments;
use crate::commands::error::Error;
use crate::commands::native_process;
use crate::commands::near_names::near_names;
use crate::commands::verdict::Verdict;
use crate::output;
use crate::output::export::Recording;
use crate::toolchain::binaries::TestBinary;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::{data_directory, rust};

pub fn run(cargo: &Cargo, options: ReplayArguments) -> Result<Verdict, Error> {
    let ReplayArguments {
        test,
        native,
        schedule,
        graphviz,
        std_trace,
        cargo: selection,
    } = options;
    let given = schedule.map(given_schedule).transpose()?;
    let for_cargo = selection.for_build();
    let (test, binary) = match native {
        true => {
            let (test, binary) = native_binary(cargo, &for_cargo, &test)?;
            (test, Some(binary))
        }
        false => {
            cargo.build_tests(&for_cargo)?;
            let names = cargo.test_names(&for_cargo)?;
            (unique(&test, &names)?, None)
        }
    };
    let schedule = match given {
        Some(schedule) => schedule,
        None => saved_schedule(cargo, &test)?,
    };
    let mut environment = vec![("RADDLE_REPLAY", schedule)];
    environment.extend(output::terminal_variables(selection.build.colours()));
    let recording = match graphviz.is_some() || std_trace.is_some() {
        true => {
            let directory = data_directory::within(&cargo.target_directory()?);
            Some(Recording::new(&directory)?)
        }
        false => None,
    };
    if let Some(recording) = &recording {
        environment.push(("RADDLE_EVENTS", recording.path().into()));
    }
    let verdict = match binary {
        Some(binary) => {
            environment.extend(data_directory::for_native_tests(&cargo.target_directory()?));
            let mut command = binary.test_command(&test);
            native_process::run(command.envs(environment))?
        }
        None => {
            // Skipping an ignored test that the user named would look like a pass.
            let test = [&test, "--", "--exact", "--include-ignored", "--nocapture"];
            let mut arguments = for_cargo;
            arguments.extend(test.map(OsString::from));
            let status = cargo.run_tests(&arguments, &environment)?;
            Verdict::of_cargo_test(status)?
        }
    };
    if let Some(recording) = recording {
        recording.export(graphviz.as_deref(), std_trace.as_deref())?;
    }
    Ok(verdict)
}

/// Returns the user's argument with an absolute path: cargo runs tests in the directories of their
/// packages, where a relative path would mean another file.
pub fn given_schedule(given: OsString) -> Result<OsString, Error> {
    let path = Path::new(&given);
    if path.is_file() {
        let content = fs::read_to_string(path).unwrap_or_default();
        examine(&content).map_err(|problem| Error::BadSchedule {
            problem: format!("{}: {problem}", path.display()),
        })?;
        let absolute = path::absolute(path).map_err(|cause| Error::NoCurrentDirectory { cause })?;
        return Ok(absolute.into_os_string());
    }
    match given.to_str().map(examine) {
        Some(Ok(())) => Ok(given),
        None | Some(Err(ScheduleError::NotASchedule)) => Err(Error::NotASchedule { given }),
        Some(Err(problem)) => Err(Error::BadSchedule {
            problem: problem.to_string(),
        }),
    }
}

/// Examines the text or the token of a schedule. Those of other versions are left to the test: its raddle may know them.
fn examine(text: &str) -> Result<(), ScheduleError> {
    match text.parse::<Schedule>() {
        Ok(_) | Err(ScheduleError::Version(_) | ScheduleError::Token(TokenError::Version(_))) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Returns the file in which a failing run of the test has saved its schedule. Each test binary has
/// its own directory.
fn saved_schedule(cargo: &Cargo, test: &str) -> Result<OsString, Error> {
    let file = format!("{}.schedule", test.replace("::", "."));
    let directory = data_directory::find(cargo)?;
    eprintln!(
        "no schedule given, looking for {file} in the subdirectories of {}",
        directory.display()
    );
    let mut found = saved_files(&directory, &file);
    match found.len() {
        0 => Err(Error::NoSavedSchedule {
            test: test.to_owned(),
            path: directory.join("*").join(file),
        }),
        1 => Ok(found.remove(0).into_os_string()),
        _ => Err(Error::SeveralSavedSchedules {
            test: test.to_owned(),
            found,
        }),
    }
}

fn saved_files(directory: &Path, file: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path().join(file))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found
}

/// Returns the native test with this name or part of it, and its binary.
pub(super) fn native_binary(
    cargo: &Cargo,
    for_cargo: &[OsString],
    test: &str,
) -> Result<(String, TestBinary), Error> {
    let mut tests = Vec::new();
    for binary in rust::build_tests(cargo, for_cargo, false)? {
        let own = binary.tests(None, &["--include-ignored".into()])?;
        tests.extend(own.into_iter().map(|name| (name, binary.clone())));
    }
    let names: Vec<String> = tests.iter().map(|(name, _)| name.clone()).collect();
    let wanted = unique(test, &names)?;
    let found = tests.into_iter().find(|(name, _)| *name == wanted);
    Ok(found.expect("the name is one of these"))
}

/// The test with this name, or the only one with this part in its name. Fails otherwise, because `cargo test` succeeds
/// if a filter matches nothing.
pub(super) fn unique(wanted: &str, names: &[String]) -> Result<String, Error> {
    if names.iter().any(|name| name == wanted) {
        return Ok(wanted.to_owned());
    }
    let candidates = names.iter().filter(|name| name.contains(wanted));
    let candidates: BTreeSet<&String> = candidates.collect();
    let mut candidates: Vec<String> = candidates.into_iter().cloned().collect();
    match candidates.len() {
        0 => Err(no_such_test(wanted, names)),
        1 => {
            let name = candidates.remove(0);
            eprintln!("`{wanted}` is `{name}`");
            Ok(name)
        }
        _ => Err(Error::SeveralTests {
            part: wanted.to_owned(),
            candidates,
        }),
    }
}

fn no_such_test(test: &str, names: &[String]) -> Error {
    Error::NoSuchTest {
        name: test.to_owned(),
        near: near_names(test, names),
    }
}
