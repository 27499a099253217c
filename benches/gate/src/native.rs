//! Executions of a Rust unit test in native mode, of `benches/unit-tests`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stepping;
pub use crate::symbols::{Profile, Row};

/// The flags with which `cargo raddle test --native` has the compiler instrument a crate.
const FLAGS: [&str; 9] = [
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cpasses=forceattrs",
    "-Cpasses=tsan-module",
    "-Cpasses=function(tsan)",
    "-Cllvm-args=-tsan-instrument-read-before-write",
    "-Cno-vectorize-loops",
    "-Cno-vectorize-slp",
    "-Cllvm-args=-inline-threshold=-1000000",
    "-Cllvm-args=-inlinehint-threshold=-1000000",
];
/// Those that it adds if the crate is optimised, before the folder for incremental compilation.
const OPTIMISED: [&str; 2] = ["-Clink-dead-code", "-Clink-arg=-Wl,--gc-sections"];
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Executions before those that are counted: all call sites are known then.
const BEFORE: u64 = 100;
/// Executions that are counted. Each takes fifteen seconds.
const COUNTED: u64 = 1;

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    match status.as_ref().is_ok_and(|status| status.success()) {
        true => Ok(()),
        false => Err(format!("{command:?}: {status:?}")),
    }
}

/// Builds the tests of the crate, which are linked with the library, and returns the program.
///
/// # Errors
///
/// The command that failed.
pub fn build_unit_tests(library: &Path, profile: &str) -> Result<PathBuf, String> {
    let target = library.with_file_name("native-unit-tests");
    let manifest = workspace().join("benches/unit-tests/Cargo.toml");
    let mut cargo = cargo();
    cargo.args(["test", "--no-run", "--quiet", "--target", TARGET]);
    if profile == "release" {
        cargo.arg("--release");
        // As `cargo raddle test --native` sets it: functions of std are told by their whole names.
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "2");
    }
    cargo.arg("--manifest-path").arg(manifest);
    cargo.arg("--target-dir").arg(&target);
    let link = format!("-Clink-arg={}", library.display());
    let incremental = format!("-Cincremental={}", target.join("incremental").display());
    let mut flags = [&FLAGS[..], &[&link]].concat();
    if profile == "release" {
        flags.extend(OPTIMISED);
        flags.push(&incremental);
    }
    succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")))?;
    let programs = target.join(TARGET).join(profile).join("deps");
    let found = std::fs::read_dir(&programs).map_err(|error| error.to_string())?;
    let found = found.flatten().map(|entry| entry.path());
    let is_program = |path: &PathBuf| path.extension().is_none();
    let newest = found
        .filter(is_program)
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    newest.ok_or_else(|| format!("{}: no tests", programs.display()))
}

/// Returns the command that checks one test, as `cargo raddle test --native` does.
pub fn check(program: &Path, library: &Path, test: &str, executions: u64) -> Command {
    let mut command = Command::new(program);
    let name = format!("tests::{test}");
    command
        .args([&name, "--exact", "--test-threads=1", "--nocapture"])
        .env("RADDLE_STRATEGY", "random")
        .env("RADDLE_MAX_EXECUTIONS", executions.to_string())
        .env("RADDLE_MAX_TIME", "10m")
        .env("RADDLE_NATIVE", "test")
        .env("LD_PRELOAD", library);
    command
}

/// Builds the library in the profile of this program.
fn build_library() -> Result<PathBuf, String> {
    let folder = std::env::current_exe().expect("a program has a file");
    let folder = folder.parent().expect("a file is in a folder");
    let target = folder.parent().expect("builds are in the target folder");
    let mut cargo = cargo();
    cargo.current_dir(workspace());
    cargo.args(["build", "--quiet"]);
    match cfg!(debug_assertions) {
        // As the tests of native mode build it: dependencies have the features that they had there, and
        // none is built again.
        true => cargo.args(["--lib", "--bin", "cargo-raddle", "--test", "native"]),
        false => cargo.args(["--package", "raddle-native", "--lib", "--release"]),
    };
    succeed(cargo.arg("--target-dir").arg(target))?;
    Ok(folder.join("libraddle_native.so"))
}

/// Returns the instructions of an execution of the test, built without optimisation.
///
/// # Errors
///
/// The reason why they could not be counted.
pub fn measure() -> Result<f64, String> {
    let instructions = stepping::count(counted()?, BEFORE, COUNTED)?;
    Ok(instructions as f64 / COUNTED as f64)
}

/// Returns the instructions of such an execution by functions.
///
/// # Errors
///
/// As for [`measure`].
pub fn profile() -> Result<Profile, String> {
    stepping::profile(counted()?, BEFORE, COUNTED)
}

/// Builds the library and the tests; returns the command that checks the counted one.
fn counted() -> Result<Command, String> {
    let library = build_library()?;
    let program = build_unit_tests(&library, "debug")?;
    Ok(check(&program, &library, "counted", 2 * (BEFORE + COUNTED)))
}
