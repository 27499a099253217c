//! Coverage of guided search next to a random walk with as many executions, and the cost of
//! measuring it.

use raddle::{Checker, Metrics, Strategy};

use crate::collections::Collection;
use crate::measure::{Batch, geometric_mean, take_turns};
use crate::programs::raddle::{body, sampling};

/// Default number of executions.
pub(crate) const EXECUTIONS: u64 = 2_000;
/// Number of seeds, of which the median is taken.
const SEEDS: u64 = 3;
const ROUNDS: usize = 9;
/// Minimum executions of one check, so that work done once per check, such as its report, does not
/// matter.
const AT_LEAST: u64 = 10_000;

/// Returns the number of requirements of sync-pair and def-use, and of pairs of them in one
/// execution.
fn covered(program: Collection, strategy: &Strategy, executions: u64, seed: u64) -> u64 {
    let report = Checker::new()
        .strategy(strategy.clone())
        .coverage(Metrics::SYNC_PAIR_DEF_USE)
        .seed(seed)
        .max_executions(executions)
        .max_time(std::time::Duration::from_secs(600))
        .lock_order(raddle::Level::Allow)
        .run(move || program.run());
    report.assert_ok();
    let coverage = report.coverage();
    let metrics = Metrics::SYNC_PAIR_DEF_USE.iter();
    let requirements: u64 = metrics.map(|metric| coverage.counts(metric).covered).sum();
    requirements + coverage.combinations.covered
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// Prints a line for each program.
pub(crate) fn run(executions: u64) {
    let guided = Strategy::Coverage {
        metric: Metrics::SYNC_PAIR_DEF_USE,
    };
    for program in Collection::all() {
        let all = |strategy: &Strategy| {
            let counts = (0..SEEDS).map(|seed| covered(program, strategy, executions, seed));
            median(counts.collect())
        };
        let (random, guided) = (all(&Strategy::Random), all(&guided));
        println!(
            "coverage {program} executions={executions} random={random} guided={guided} \
             ratio={:.2}",
            guided as f64 / random as f64
        );
    }
}

fn batch<'a>(measures: bool, body: impl Fn() + Send + Sync + 'a) -> Batch<'a> {
    let mut seed = 0;
    Box::new(move |executions| {
        seed += 1;
        let report = sampling(executions.max(AT_LEAST))
            .coverage(measures)
            .seed(seed)
            .run(&body);
        report.assert_ok();
        report.executions
    })
}

/// Prints the cost of measuring: a line for each program, then the mean.
pub(crate) fn speed() {
    let mut ratios = Vec::new();
    let mut line = |name: String, batches: Vec<Batch<'_>>| {
        let rates = take_turns(ROUNDS, batches);
        let ratio = rates[0] / rates[1];
        ratios.push(ratio);
        println!(
            "speed coverage {name} measured={:.0} unmeasured={:.0} ratio={ratio:.2}",
            rates[0], rates[1]
        );
    };
    for program in crate::speed::PROGRAMS {
        let both = [true, false].map(|measures| batch(measures, body(program)));
        line(program.to_string(), both.into());
    }
    for program in Collection::all() {
        let both = [true, false].map(|measures| batch(measures, move || program.run()));
        line(program.to_string(), both.into());
    }
    println!("speed coverage mean ratio={:.2}", geometric_mean(&ratios));
}
