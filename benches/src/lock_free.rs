//! Lock-free structures written for loom, and the same by search and replace for raddle: how much work
//! it is to run everything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use loom::model::Builder;
use raddle::{Checker, Strategy};
use raddle_tests::ported;

use crate::measure::processor_time;

#[path = "../../tests/ported/queue.rs"]
#[allow(dead_code, reason = "the original has a test of its own")]
mod queue;
#[path = "../../tests/ported/ring.rs"]
#[allow(dead_code, reason = "the original has a test of its own")]
mod ring;

/// Prints a line for each structure.
pub(crate) fn run(cut: Duration) {
    line("spsc_ring", cut, ported::ring::in_order, ring::in_order);
    line(
        "mpmc_queue",
        cut,
        ported::queue::nothing_twice,
        queue::nothing_twice,
    );
}

fn line(name: &str, cut: Duration, ours: fn(), looms: fn()) {
    let start = processor_time();
    let check = Checker::new().strategy(Strategy::Exhaustive).max_time(cut);
    let report = check.run(ours);
    report.assert_ok();
    let raddle_s = (processor_time() - start).as_secs_f64();
    let classes = report.classes();
    let more = if report.exhausted { "" } else { ">" };
    let start = processor_time();
    let executions = Arc::new(AtomicU64::new(0));
    let mut builder = Builder::new();
    builder.max_duration = Some(cut);
    let counter = Arc::clone(&executions);
    builder.check(move || {
        counter.fetch_add(1, Relaxed);
        looms();
    });
    let loom_s = (processor_time() - start).as_secs_f64();
    println!(
        "exhaust {name} classes={more}{classes} raddle_s={raddle_s:.4} loom_execs={} \
         loom_s={loom_s:.4} ratio={:.1}",
        executions.load(Relaxed),
        loom_s / raddle_s,
    );
}
