//! `cargo raddle replay`: one test, on one schedule.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{self, Path, PathBuf};

use crate::arguments::ReplayArguments;
use crate::commands::error::Error;
use crate::commands::near_names::near_names;
use crate::commands::run as native;
use crate::output::export::Recording;
use crate::toolchain::binaries::Binary;
use crate::toolchain::cargo::{Cargo, Verdict};
use crate::toolchain::rust;

/// How the text of a schedule starts.
pub const SCHEDULE_HEADER: &str = "raddle schedule";

/// Where schedules are saved, if not in the target folder.
pub const FOLDER_VARIABLE: &str = "RADDLE_DIR";

/// Finds the schedule and the test, then runs the one on the other.
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
        true => Some(Recording::new(&cargo.target_directory()?.join("raddle"))?),
        false => None,
    };
    let events = recording
        .as_ref()
        .map(|it| it.file().as_os_str().to_owned());
    environment.extend(events.map(|file| ("RADDLE_EVENTS", file)));
    let verdict = match binary {
        Some(binary) => {
            environment.extend(native::folder(&cargo.target_directory()?));
            native::replay(&binary, &test, &environment)?
        }
        None => {
            // A test that is named is wanted, ignored or not; skipping it would look like a pass.
            let arguments = [&test, "--", "--exact", "--include-ignored", "--nocapture"];
            cargo.run_tests(&arguments.map(OsString::from), &environment)?
        }
    };
    if let Some(recording) = recording {
        recording.export(graphviz.as_deref(), std_trace.as_deref())?;
    }
    Ok(verdict)
}

/// What the user typed, as a test can use it: cargo runs tests in their package's directory, so a
/// relative path would be looked for in the wrong place.
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

/// Whether it starts as tokens do, `r1.`; the test says what is wrong with one.
fn is_token(text: &str) -> bool {
    let version = text.strip_prefix('r').and_then(|rest| rest.split_once('.'));
    version.is_some_and(|(version, _)| version.parse::<u32>().is_ok())
}

/// The file in which a failing run of the test left its schedule: every test binary has a folder.
fn saved_schedule(cargo: &Cargo, test: &str) -> Result<OsString, Error> {
    let file = format!("{}.schedule", test.replace("::", "."));
    let folder = match env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => cargo.target_directory()?.join("raddle"),
    };
    eprintln!(
        "no schedule given, looking for {file} in the folders of {}",
        folder.display()
    );
    let mut found = saved_files(&folder, &file);
    match found.len() {
        0 => Err(Error::NoSavedSchedule {
            test: test.to_owned(),
            path: folder.join("*").join(file),
        }),
        1 => Ok(found.remove(0).into_os_string()),
        _ => Err(Error::SeveralSavedSchedules {
            test: test.to_owned(),
            found,
        }),
    }
}

fn saved_files(folder: &Path, file: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path().join(file))
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found
}

/// The binary with a test that does not know of raddle.
fn native_binary(cargo: &Cargo, test: &str) -> Result<Binary, Error> {
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

/// `cargo test` is content with a filter that matches nothing; a replay of nothing is a mistake.
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
