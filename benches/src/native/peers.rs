//! The tests of `benches/unit-tests` again, with the types of other checkers, and of raddle's library.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::measure::Batch;

/// The names of the tests.
pub(super) const TESTS: [&str; 4] = ["counter", "mutex", "condvar", "channel"];

/// Number of runs of a test: loom does not report it.
static RUNS: AtomicU64 = AtomicU64::new(0);

fn note_run() {
    // Not an atomic addition: one OS thread runs everything, and this should cost nothing.
    RUNS.store(RUNS.load(Relaxed) + 1, Relaxed);
}

/// The tests' text, over the crate that has `sync` and `thread`. Without `Arc`, which is std's for all; see
/// `programs!`.
macro_rules! tests {
    ($checker:ident) => {
        use std::collections::VecDeque;
        use std::sync::Arc;

        use ::$checker::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        use ::$checker::sync::{Condvar, Mutex, mpsc};
        use ::$checker::thread;

        use super::note_run;

        fn find(name: &str) -> fn() {
            match name {
                "counter" => counter,
                "mutex" => mutex,
                "condvar" => condvar,
                _ => channel,
            }
        }

        fn counter() {
            note_run();
            let counter = Arc::new(AtomicUsize::new(0));
            let threads = [(); 2].map(|()| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || counter.fetch_add(1, SeqCst))
            });
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(counter.load(SeqCst), 2);
        }

        fn mutex() {
            note_run();
            let counter = Arc::new(Mutex::new(0));
            let threads = [(); 2].map(|()| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || *counter.lock().unwrap() += 1)
            });
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(*counter.lock().unwrap(), 2);
        }

        fn condvar() {
            note_run();
            let queue = Arc::new((Mutex::new(VecDeque::new()), Condvar::new()));
            let other = Arc::clone(&queue);
            let producer = thread::spawn(move || {
                for item in 1..=2 {
                    other.0.lock().unwrap().push_back(item);
                    other.1.notify_one();
                }
            });
            let mut sum = 0;
            for _ in 0..2 {
                let mut items = queue.0.lock().unwrap();
                while items.is_empty() {
                    items = queue.1.wait(items).unwrap();
                }
                sum += items.pop_front().unwrap();
            }
            producer.join().unwrap();
            assert_eq!(sum, 3);
        }

        fn channel() {
            note_run();
            let (sender, receiver) = mpsc::channel();
            let threads = [1, 2].map(|item| {
                let sender = sender.clone();
                thread::spawn(move || sender.send(item).unwrap())
            });
            let sum = receiver.recv().unwrap() + receiver.recv().unwrap();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(sum, 3);
        }
    };
}

pub(super) mod shuttle {
    use ::shuttle::scheduler::RandomScheduler;
    use ::shuttle::{Config, Runner};

    use super::Batch;

    tests!(shuttle);

    /// Batches of random executions, each from another seed.
    pub(in crate::native) fn random(test: &str) -> Batch<'static> {
        let (body, mut seed) = (find(test), 0);
        Box::new(move |executions| {
            let mut config = Config::new();
            config.silence_warnings = true;
            seed += 1;
            let scheduler = RandomScheduler::new_from_seed(seed, executions as usize);
            Runner::new(scheduler, config).run(body) as u64
        })
    }
}

pub(super) mod loom {
    use std::sync::atomic::Ordering::Relaxed;

    use ::loom::model::Builder;

    use super::{Batch, RUNS};

    tests!(loom);

    /// Batches of the search, which starts again when it has ended.
    pub(in crate::native) fn search(test: &str) -> Batch<'static> {
        let body = find(test);
        Box::new(move |executions| {
            let before = RUNS.load(Relaxed);
            let end = before + executions;
            while RUNS.load(Relaxed) < end {
                let too_many = (end - RUNS.load(Relaxed)) as usize + 1;
                let mut builder = Builder::new();
                builder.max_permutations = Some(too_many);
                builder.checkpoint_interval = too_many;
                builder.check(body);
            }
            RUNS.load(Relaxed) - before
        })
    }
}

pub(super) mod library {
    use std::time::Duration;

    use ::raddle::{Checker, Memory, Strategy};

    use super::Batch;

    tests!(raddle);

    /// Batches of random executions, each from another seed.
    pub(in crate::native) fn random(test: &str) -> Batch<'static> {
        let (body, mut seed) = (find(test), 0);
        Box::new(move |executions| {
            seed += 1;
            let checker = Checker::new().strategy(Strategy::Random).memory(Memory::Sc);
            let checker = checker.max_time(Duration::from_secs(600)).seed(seed);
            let report = checker.max_executions(executions).run(body);
            report.assert_ok();
            report.executions
        })
    }
}
