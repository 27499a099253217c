//! `cargo raddle replay`: runs one test on one schedule.

use std::ffi::OsString;
use std::fs;
use std::path::{self, Path, PathBuf};

use crate::arguments::subcommands::ReplayArguments;
use crate::commands::error::{Error, SCHEDULE_HEADER};
use crate::commands::native_process;
use crate::commands::near_names::near_names;
use crate::commands::verdict::Verdict;
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
    } = options;
    let given = schedule.map(given_schedule).transpose()?;
    let binary = match native {
        true => Some(native_binary(cargo, &test)?),
        false => {
            cargo.build_tests(&[])?;
            require(&test, &cargo.test_names()?)?;
            None
        }
    };
    let schedule = match given {
        Some(schedule) => schedule,
        None => saved_schedule(cargo, &test)?,
    };
    let mut environment = vec![("RADDLE_REPLAY", schedule)];
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
            // Skipping an ignored test that was asked for by name would look like a pass.
            let arguments = [&test, "--", "--exact", "--include-ignored", "--nocapture"];
            let status = cargo.run_tests(&arguments.map(OsString::from), &environment)?;
            Verdict::of_cargo_test(status)?
        }
    };
    if let Some(recording) = recording {
        recording.export(graphviz.as_deref(), std_trace.as_deref())?;
    }
    Ok(verdict)
}

/// The user's argument with an absolute path: cargo runs tests in the directories of their packages, where a
/// relative path would mean another file.
fn given_schedule(given: OsString) -> Result<OsString, Error> {
    if Path::new(&given).is_file() {
        let absolute =
            path::absolute(&given).map_err(|cause| Error::NoCurrentDirectory { cause })?;
        return Ok(absolute.into_os_string());
    }
    let is_schedule = |text: &str| text.starts_with(SCHEDULE_HEADER) || is_token(text);
    match given.to_str().is_some_and(is_schedule) {
        true => Ok(given),
        false => Err(Error::NotASchedule { given }),
    }
}

/// True when the text starts with the version of a token, such as `r1.`. The test reports any other error in it.
fn is_token(text: &str) -> bool {
    let version = text.strip_prefix('r').and_then(|rest| rest.split_once('.'));
    version.is_some_and(|(version, _)| version.parse::<u32>().is_ok())
}

/// The file in which a failing run of the test has saved its schedule. Each test binary has its own directory.
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

/// The binary with a native test of this name.
fn native_binary(cargo: &Cargo, test: &str) -> Result<TestBinary, Error> {
    let mut names = Vec::new();
    for binary in rust::build_tests(cargo, &[], false)? {
        let own = binary.tests(None, &["--include-ignored".into()])?;
        if own.iter().any(|name| name == test) {
            return Ok(binary);
        }
        names.extend(own);
    }
    Err(no_such_test(test, &names))
}

/// Fails for an unknown test, because `cargo test` succeeds if a filter matches nothing.
fn require(test: &str, names: &[String]) -> Result<(), Error> {
    match names.iter().any(|name| name == test) {
        true => Ok(()),
        false => Err(no_such_test(test, names)),
    }
}

fn no_such_test(test: &str, names: &[String]) -> Error {
    Error::NoSuchTest {
        name: test.to_owned(),
        near: near_names(test, names),
    }
}
