//! Accuracy of the estimated number of classes, on programs where it is known.

use raddle::Checker;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle_tests::programs::{mutex_counter, run_threads};
use raddle_tests::published::{self, Published};

/// Default number of runs of an estimate.
pub(crate) const EXECUTIONS: u64 = 4_000;

/// Programs whose classes can be counted on paper: every order of the additions, or of the locks.
const COUNTED: [Published; 3] = [
    ("add 6", 720, || add(6)),
    ("mutex 4x2", 2_520, || mutex_counter(4, 2)),
    ("add 8", 40_320, || add(8)),
];

/// Each thread adds to a counter once.
fn add(threads: usize) {
    let counter = AtomicUsize::new(0);
    run_threads(threads, move |_| {
        counter.fetch_add(1, SeqCst);
    });
}

/// Prints a line for each program, and the number of estimates whose interval has the true number.
pub(crate) fn run(executions: u64, seed: u64) {
    let mut programs: Vec<_> = published::PROGRAMS.into_iter().chain(COUNTED).collect();
    programs.sort_by_key(|&(_, classes, _)| classes);
    let (mut inside, mut known, mut width) = (0, 0_u32, 0.0);
    for &(name, classes, body) in &programs {
        let report = Checker::new()
            .seed(seed)
            .max_executions(executions)
            .keep_going(true)
            .shorten(false)
            .estimate(body);
        let Some(estimate) = report.estimate() else {
            println!("estimate {} true={classes} unknown", name.replace(' ', "_"));
            continue;
        };
        known += 1;
        let is_inside = (estimate.low..=estimate.high).contains(&classes);
        inside += u32::from(is_inside);
        width += (estimate.high as f64 / estimate.low as f64).ln();
        println!(
            "estimate {} true={classes} estimate={} low={} high={} inside={} runs={}",
            name.replace(' ', "_"),
            estimate.classes,
            estimate.low,
            estimate.high,
            if is_inside { "yes" } else { "no" },
            estimate.samples,
        );
    }
    let width = (width / f64::from(known.max(1))).exp();
    println!("estimate inside={inside}/{known} high/low={width:.2}");
}
