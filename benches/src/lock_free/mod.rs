//! Lock-free structures under loom and under raddle: the work of running every class.
//!
//! Two were written for loom and ported by search and replace; the others are one text for both.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use loom::model::Builder;
use raddle::{Checker, Strategy};
use raddle_tests::ported;

use crate::measure::processor_time;

#[path = "../../../tests/ported/queue.rs"]
#[allow(dead_code, reason = "the original has a test of its own")]
mod queue;
#[path = "../../../tests/ported/ring.rs"]
#[allow(dead_code, reason = "the original has a test of its own")]
mod ring;

mod for_loom;

mod for_raddle;

use for_loom::structures as looms;
use for_raddle::structures as ours;

/// A structure under both checkers: its name, for raddle, for loom.
type Structure = (&'static str, fn(), fn());

const STRUCTURES: [Structure; 9] = [
    ("spsc_ring", ported::ring::in_order, ring::in_order),
    (
        "mpmc_queue",
        ported::queue::nothing_twice,
        queue::nothing_twice,
    ),
    ("treiber_stack", ours::treiber_stack, looms::treiber_stack),
    ("spin_lock", ours::spin_lock, looms::spin_lock),
    ("ticket_lock", ours::ticket_lock, looms::ticket_lock),
    ("seqlock", ours::seqlock, looms::seqlock),
    (
        "reference_count",
        ours::reference_count,
        looms::reference_count,
    ),
    ("publish", ours::publish, looms::publish),
    ("peterson", ours::peterson, looms::peterson),
];

/// Prints a line for each structure.
pub(crate) fn run(cut: Duration) {
    for (name, ours, looms) in STRUCTURES {
        line(name, cut, ours, looms);
    }
}

/// Minimum duration of a measurement; a shorter search is repeated for as long.
const LONG_ENOUGH: Duration = Duration::from_millis(100);

/// Returns the time of one search, and its result. Only the first may take longer than that.
fn measured<T>(mut search: impl FnMut() -> T) -> (f64, T) {
    let start = processor_time();
    let mut found = search();
    let mut searches = 1;
    while processor_time() - start < LONG_ENOUGH {
        found = search();
        searches += 1;
    }
    let each = (processor_time() - start).as_secs_f64() / f64::from(searches);
    (each, found)
}

fn line(name: &str, cut: Duration, ours: fn(), looms: fn()) {
    let (raddle_s, report) = measured(|| {
        let report = Checker::new().strategy(Strategy::Exhaustive).run(ours);
        report.assert_ok();
        report
    });
    let (loom_s, (loom_execs, passed)) = measured(|| {
        let executions = Arc::new(AtomicU64::new(0));
        let mut builder = Builder::new();
        builder.max_duration = Some(cut);
        let counter = Arc::clone(&executions);
        let checked = catch_unwind(AssertUnwindSafe(|| {
            builder.check(move || {
                counter.fetch_add(1, Relaxed);
                looms();
            });
        }));
        (executions.load(Relaxed), checked.is_ok())
    });
    let classes = report.classes();
    // All of these programs are correct, and every class takes an execution.
    let loom = match passed {
        false => "false_alarm",
        true if loom_execs < classes => "misses_classes",
        true => "ok",
    };
    println!(
        "exhaust {name} classes={classes} raddle_s={raddle_s:.6} loom_execs={loom_execs} \
         loom_s={loom_s:.6} loom={loom} ratio={:.1}",
        loom_s / raddle_s,
    );
}
