//! How evenly samplers draw executions, and how many classes they reach.
//!
//! Two numbers measure evenness: chi-square per degree of freedom over the orders of 5+5 and of
//! 3+4+5 events, which is about 1 if all are equally likely. One measures coverage: the reads-from
//! classes of a counter that loads and stores (three threads, twice each) which 1,000 executions
//! reach, identified by the source of each read. There are 2,343; a uniform draw would reach 814 of
//! them. For raddle's strategies, also the classes that the report counts, which differ by
//! coherence order too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use raddle::{Checker, Strategy};
use raddle_tests::orders::{Order, Tally, orders};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, Runner};

/// Default number of executions for each order.
pub(crate) const EACH: u64 = 200;
/// Executions of the counter.
const EXECUTIONS: u64 = 1_000;
/// No time limit.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);
const SEED: u64 = 0;

/// The source of each read of the counter: the number of a write, 0 for the initial value.
type ReadsFrom = [u8; 7];

/// The programs' text, over the crate that has `sync` and `thread`.
macro_rules! programs {
    ($module:ident, $checker:ident) => {
        mod $module {
            use std::sync::{Arc, Mutex};

            use ::$checker::sync::atomic::{AtomicU64, Ordering::SeqCst};
            use ::$checker::thread;

            use super::ReadsFrom;
            use raddle_tests::orders::Order;

            fn run_threads(threads: usize, body: impl Fn(usize) + Send + Sync + 'static) {
                let body = Arc::new(body);
                let start = |number| {
                    let body = Arc::clone(&body);
                    thread::spawn(move || body(number))
                };
                let threads: Vec<_> = (0..threads).map(start).collect();
                for thread in threads {
                    thread.join().unwrap();
                }
            }

            /// Threads with these numbers of events on one atomic.
            pub(super) fn interleave(events: &'static [usize], order: &Order) {
                let (shared, order) = (AtomicU64::new(0), order.clone());
                run_threads(events.len(), move |me| {
                    for _ in 0..events[me] {
                        shared.fetch_add(1, SeqCst);
                        order.note(me);
                    }
                });
            }

            /// Three threads load and store twice each; main loads the result. The high bits of a
            /// written value are the number of the write.
            pub(super) fn counter() -> ReadsFrom {
                let counter = Arc::new(AtomicU64::new(0));
                let seen = Arc::new(Mutex::new(ReadsFrom::default()));
                let (shared, reads) = (Arc::clone(&counter), Arc::clone(&seen));
                run_threads(3, move |me| {
                    for round in 0..2 {
                        let own = 2 * me + round;
                        let value = shared.load(SeqCst);
                        reads.lock().unwrap()[own] = (value >> 32) as u8;
                        let (number, count) = (own as u64 + 1, value as u32 + 1);
                        shared.store(number << 32 | u64::from(count), SeqCst);
                    }
                });
                let mut seen = *seen.lock().unwrap();
                seen[6] = (counter.load(SeqCst) >> 32) as u8;
                seen
            }
        }
    };
}

programs!(under_raddle, raddle);
programs!(under_shuttle, shuttle);

/// Counts the first executions up to a limit. A search may run the body more often than it counts,
/// for estimates.
struct First {
    left: AtomicU64,
}

impl First {
    fn new(executions: u64) -> Self {
        First {
            left: AtomicU64::new(executions),
        }
    }

    fn is_one(&self) -> bool {
        let left = self.left.load(Relaxed);
        self.left.store(left.saturating_sub(1), Relaxed);
        left > 0
    }
}

/// The results for one strategy.
struct Row {
    chi_5_5: f64,
    chi_3_4_5: f64,
    classes: usize,
    /// Classes by the report.
    reported: Option<u64>,
}

impl Row {
    fn print(&self, name: &str) {
        let Row {
            chi_5_5,
            chi_3_4_5,
            classes,
            reported,
        } = self;
        let reported = reported.map_or("-".to_owned(), |classes| classes.to_string());
        println!(
            "samplers {name} chi2_5_5={chi_5_5:.2} chi2_3_4_5={chi_3_4_5:.2} \
             classes_1000={classes} rf_co_1000={reported}"
        );
    }
}

fn with_raddle(strategy: &Strategy, each: u64) -> Row {
    let check = |executions| {
        Checker::new()
            .strategy(strategy.clone())
            .seed(SEED)
            .max_executions(executions)
            .max_time(NO_LIMIT)
            .checkpoint_every(Duration::ZERO)
    };
    let chi_square = |events: &'static [usize]| {
        let (all, tally) = (orders(events), Tally::default());
        let first = First::new(each * all);
        let report = check(each * all).run(|| {
            let order = Order::default();
            under_raddle::interleave(events, &order);
            if first.is_one() {
                tally.count(order.take());
            }
        });
        report.assert_ok();
        tally.chi_square(all)
    };
    let (tally, first) = (Tally::default(), First::new(EXECUTIONS));
    let report = check(EXECUTIONS).run(|| {
        let seen = under_raddle::counter();
        if first.is_one() {
            tally.count(seen);
        }
    });
    report.assert_ok();
    Row {
        chi_5_5: chi_square(&[5, 5]),
        chi_3_4_5: chi_square(&[3, 4, 5]),
        classes: tally.distinct(),
        reported: Some(report.classes()),
    }
}

fn with_shuttle<S: Scheduler + 'static>(scheduler: impl Fn(usize) -> S, each: u64) -> Row {
    let run = |executions: u64, body: Arc<dyn Fn() + Send + Sync>| {
        let mut config = Config::new();
        config.silence_warnings = true;
        Runner::new(scheduler(executions as usize), config).run(move || body());
    };
    let chi_square = |events: &'static [usize]| {
        let (all, tally) = (orders(events), Arc::new(Tally::default()));
        let counts = Arc::clone(&tally);
        let body = move || {
            let order = Order::default();
            under_shuttle::interleave(events, &order);
            counts.count(order.take());
        };
        run(each * all, Arc::new(body));
        tally.chi_square(all)
    };
    let tally = Arc::new(Tally::default());
    let counts = Arc::clone(&tally);
    run(
        EXECUTIONS,
        Arc::new(move || counts.count(under_shuttle::counter())),
    );
    Row {
        chi_5_5: chi_square(&[5, 5]),
        chi_3_4_5: chi_square(&[3, 4, 5]),
        classes: tally.distinct(),
        reported: None,
    }
}

/// Prints a line for each strategy, with this many executions for each order.
pub(crate) fn run(each: u64) {
    for strategy in [
        Strategy::Auto,
        Strategy::Exhaustive,
        Strategy::Random,
        Strategy::Pct { depth: 3 },
        Strategy::Pos,
        Strategy::Urw,
        Strategy::Surw,
        Strategy::History,
        Strategy::Noise { probability: 0.1 },
        Strategy::Delay { bound: 2 },
    ] {
        with_raddle(&strategy, each).print(&strategy.to_string());
    }
    let random = |executions| RandomScheduler::new_from_seed(SEED, executions);
    with_shuttle(random, each).print("shuttle_random");
    let pct = |executions| PctScheduler::new_from_seed(SEED, 3, executions);
    with_shuttle(pct, each).print("shuttle_pct3");
    let urw = |executions| UrwRandomScheduler::new_from_seed(SEED, executions);
    with_shuttle(urw, each).print("shuttle_urw");
}
