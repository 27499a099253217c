//! The speed of checks of an ordinary Rust crate's tests: those of `benches/unit-tests`, next to
//! the same tests written for shuttle, for loom and for raddle's library, which control only their
//! own types.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::peers::{self, TESTS};
use super::{ROUNDS, cargo, points, succeed, time_of, workspace};
use crate::measure::{geometric_mean, median, take_turns};

const EXECUTIONS: u64 = 20_000;
/// Executions of a check that hardly does more than load its program and read its symbols.
const FEW: u64 = 500;
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

/// The profiles of cargo: the default one, and that of the peers.
const PROFILES: [&str; 2] = ["debug", "release"];

/// Prints a line for each test and profile, then the means.
pub(super) fn run(library: &Path) {
    for profile in PROFILES {
        run_profile(library, profile);
    }
}

fn run_profile(library: &Path, profile: &str) {
    let binary = build(library, profile);
    let mut ratios = [Vec::new(), Vec::new()];
    for test in TESTS {
        let points = points(&mut check(&binary, library, test, FEW));
        let mut native = Vec::new();
        let mut others = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            native.push(rate(&binary, library, test));
            let batches = vec![
                peers::shuttle::random(test),
                peers::loom::search(test),
                peers::library::random(test),
            ];
            for (rates, rate) in others.iter_mut().zip(take_turns(1, batches)) {
                rates.push(rate);
            }
        }
        let native = median(native);
        let [shuttle, loom, own] = others.map(median);
        println!(
            "native rust {profile} {test} points={points:.0} execs_per_s={native:.0} shuttle={shuttle:.0} \
             loom={loom:.0} library={own:.0} x_shuttle={:.2} x_loom={:.2}",
            native / shuttle,
            native / loom,
        );
        ratios[0].push(native / shuttle);
        ratios[1].push(native / loom);
    }
    let [shuttle, loom] = ratios.map(|ratios| geometric_mean(&ratios));
    println!("native rust {profile} mean x_shuttle={shuttle:.2} x_loom={loom:.2}");
}

/// Builds the crate's tests and returns the program.
fn build(library: &Path, profile: &str) -> PathBuf {
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
    succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")));
    let programs = target.join(TARGET).join(profile).join("deps");
    let found = std::fs::read_dir(&programs).expect("cargo has just built there");
    let found = found.flatten().map(|entry| entry.path());
    let is_program = |path: &PathBuf| path.extension().is_none();
    let newest = found.filter(is_program).max_by_key(|path| {
        let data = path.metadata().and_then(|data| data.modified());
        data.expect("cargo has just built it")
    });
    newest.expect("the tests were built")
}

/// Returns executions per second of processor time, without the work before the first one. The
/// peers, which are in this process, do not have that work either.
fn rate(binary: &Path, library: &Path, test: &str) -> f64 {
    let time = |executions| time_of(&mut check(binary, library, test, executions));
    EXECUTIONS as f64 / (time(FEW + EXECUTIONS) - time(FEW))
}

/// Returns the command that checks one test, as `cargo raddle test --native` does.
fn check(binary: &Path, library: &Path, test: &str, executions: u64) -> Command {
    let mut command = super::check(binary, &[], executions);
    let name = format!("tests::{test}");
    command.args([&name, "--exact", "--test-threads=1", "--nocapture"]);
    command
        .env("RADDLE_NATIVE", "test")
        .env("LD_PRELOAD", library);
    command
}
