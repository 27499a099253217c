//! The speed of checks of an ordinary Rust crate's tests: those of `benches/unit-tests`, next to
//! the same tests written for shuttle, for loom and for raddle's library, which control only their
//! own types.

use std::path::Path;

use raddle_gate::native::{build_unit_tests, check};

use super::peers::{self, TESTS};
use super::{ROUNDS, points, time_of};
use crate::measure::{geometric_mean, median, take_turns};

const EXECUTIONS: u64 = 20_000;
/// Executions of a check that hardly does more than load its program and read its symbols.
const FEW: u64 = 500;
/// The profiles of cargo: the default one, and that of the peers.
const PROFILES: [&str; 2] = ["debug", "release"];

/// Prints a line for each test and profile, then the means.
pub(super) fn run(library: &Path) {
    for profile in PROFILES {
        run_profile(library, profile);
    }
}

fn run_profile(library: &Path, profile: &str) {
    let binary = build_unit_tests(library, profile).unwrap_or_else(|problem| panic!("{problem}"));
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

/// Returns executions per second of processor time, without the work before the first one. The
/// peers, which are in this process, do not have that work either.
fn rate(binary: &Path, library: &Path, test: &str) -> f64 {
    let time = |executions| time_of(&mut check(binary, library, test, executions));
    EXECUTIONS as f64 / (time(FEW + EXECUTIONS) - time(FEW))
}
