//! `cargo raddle test`: `cargo test` with raddle's settings from flags.

use std::ffi::OsString;

use crate::arguments::TestArguments;
use crate::cargo::{Cargo, Verdict};
use crate::error::Error;

/// Builds and runs the tests that were asked for.
pub fn run(cargo: &Cargo, options: TestArguments) -> Result<Verdict, Error> {
    let arguments = cargo_arguments(&options);
    if !only_doc_tests(&options) {
        cargo.build_tests(&arguments)?;
    }
    cargo.run_tests(&arguments, &environment(&options))
}

/// Cargo refuses to build doc tests without running them.
fn only_doc_tests(options: &TestArguments) -> bool {
    options
        .for_cargo
        .iter()
        .take_while(|argument| *argument != "--")
        .any(|argument| argument == "--doc")
}

/// The filter comes before the user's own arguments, which may end with some for the tests.
fn cargo_arguments(options: &TestArguments) -> Vec<OsString> {
    let packages = options
        .packages
        .iter()
        .flat_map(|package| ["--package", package]);
    let filter = options.filter.as_deref();
    let ours = packages.chain(filter).map(OsString::from);
    ours.chain(options.for_cargo.iter().cloned()).collect()
}

/// Tests say how far they are even where there is no terminal, unless the user wants otherwise.
fn progress() -> Option<String> {
    let is_set = std::env::var_os("RADDLE_LOG").is_some();
    (!is_set).then(|| "progress".to_owned())
}

fn environment(options: &TestArguments) -> Vec<(&'static str, OsString)> {
    let settings = [
        (
            "RADDLE_MAX_TIME",
            options.budget.as_ref().map(ToString::to_string),
        ),
        ("RADDLE_STRATEGY", options.strategy.clone()),
        (
            "RADDLE_MAX_EXECUTIONS",
            options.max_executions.map(|number| number.to_string()),
        ),
        ("RADDLE_SEED", options.seed.map(|seed| seed.to_string())),
        (
            "RADDLE_WORKERS",
            options.workers.map(|number| number.to_string()),
        ),
        ("RADDLE_RESUME", options.resume.then(|| "1".to_owned())),
        ("RADDLE_REMEMBER", options.remember.then(|| "1".to_owned())),
        ("RADDLE_LOG", progress()),
    ];
    settings
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?.into())))
        .collect()
}
