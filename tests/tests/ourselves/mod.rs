//! raddle's own concurrent parts, explored by raddle.
//!
//! Each of raddle's files that is built here takes its locks and atomics from `crate::own_sync`, and
//! uses nothing else of its crate. There these are std's types, here raddle's controlled ones. So the
//! tests explore the code that runs, and not a model of it.

pub(crate) mod own_sync {
    pub(crate) use raddle::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, atomic, mpsc};
    pub(crate) use raddle::thread;
}

#[path = "../../../crates/runs/src/aside.rs"]
mod aside;

#[allow(dead_code, reason = "tests need not call everything")]
#[path = "../../../crates/check/src/driver/work_pool/pool.rs"]
mod pool;

#[allow(dead_code, reason = "tests need not call everything")]
#[path = "../../../crates/check/src/runtime/watchdog/suspend_thread.rs"]
mod suspend_thread;

#[allow(dead_code, reason = "tests need not call everything")]
#[path = "../../../crates/check/src/runtime/watchdog/watch_list.rs"]
mod watch_list;

#[path = "../../../crates/check/src/runtime/interrupts/listeners.rs"]
mod listeners;

#[allow(dead_code, unexpected_cfgs, reason = "tests need not call everything")]
#[path = "../../../crates/raddle/src/plain/monitor.rs"]
mod monitor;

#[allow(dead_code, unexpected_cfgs, reason = "tests need not call everything")]
#[path = "../../../crates/raddle/src/plain/port.rs"]
mod port;

#[allow(dead_code, reason = "tests need not call everything")]
#[path = "../../../crates/raddle/src/plain/semaphore.rs"]
mod semaphore;

#[path = "../../../crates/cli/src/run/parallel.rs"]
mod parallel;

mod database;
mod interrupts;
mod plain;
mod runner;
mod watchdog;
mod workers;

use raddle::{Checker, Report, Strategy};

/// Runs every class of a program and asserts that none fails.
fn all(body: impl Fn() + Send + Sync) -> Report {
    let checker = Checker::new().strategy(Strategy::Exhaustive).workers(1);
    let report = checker.run(body);
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.exhausted, "{report}");
    report
}
