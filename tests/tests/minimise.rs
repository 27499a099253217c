//! However a failure was found, its story has no more context switches than it takes.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, Failure, FailureKind, Strategy, thread};
use raddle_tests::programs::philosophers;

/// How often the thread changes in the schedule.
fn switches(failure: &Failure) -> usize {
    let steps = failure.schedule.steps.windows(2);
    steps
        .filter(|pair| pair[0].thread != pair[1].thread)
        .count()
}

/// Finds the failure by random walks from many seeds; each story must have this many switches, and
/// must be what a replay shows. Says how many the worst of the walks had.
fn always(expected: usize, kind: FailureKind, program: impl Fn() + Send + Sync) -> usize {
    let mut longest = 0;
    for seed in 0..20 {
        let search = |shorten| {
            let checker = Checker::new().strategy(Strategy::Random).seed(seed);
            let mut report = checker.shorten(shorten).run(&program);
            report.failures.swap_remove(0)
        };
        longest = longest.max(switches(&search(false)));
        let failure = search(true);
        assert_eq!(failure.kind, kind);
        assert_eq!(switches(&failure), expected, "seed {seed}\n{failure}");
        let replay = Checker::new()
            .strategy(Strategy::Replay(failure.schedule.clone()))
            .run(&program);
        assert_eq!(replay.failures[0].message, failure.message);
        let steps = |failure: &Failure| -> Vec<_> {
            let steps = failure.trace.steps.iter();
            steps.map(|step| (step.thread, step.what.clone())).collect()
        };
        assert_eq!(steps(&replay.failures[0]), steps(&failure));
    }
    longest
}

#[test]
fn a_lost_update() {
    // To main.1, to main.2 and back, or the other way round; then to main.
    let walked = always(4, FailureKind::Panic, || {
        let counter = Arc::new(AtomicU32::new(0));
        let threads = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || counter.store(counter.load(SeqCst) + 1, SeqCst))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2);
    });
    assert!(walked > 4, "there was something to do");
}

#[test]
fn a_lost_update_among_threads_that_have_nothing_to_do_with_it() {
    // The three bystanders run as a whole, each once.
    let walked = always(4 + 3, FailureKind::Panic, || {
        let counter = Arc::new(AtomicU32::new(0));
        let noise = Arc::new(AtomicU32::new(0));
        let update = |counter: Arc<AtomicU32>| {
            move || {
                counter.store(counter.load(SeqCst) + 1, SeqCst);
            }
        };
        let count = |noise: Arc<AtomicU32>| {
            move || {
                for _ in 0..3 {
                    noise.fetch_add(1, SeqCst);
                }
            }
        };
        let mut threads = Vec::new();
        for _ in 0..2 {
            threads.push(thread::spawn(update(Arc::clone(&counter))));
        }
        for _ in 0..3 {
            threads.push(thread::spawn(count(Arc::clone(&noise))));
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2);
    });
    assert!(walked > 4, "there was something to do");
}

#[test]
fn philosophers_each_with_one_fork() {
    // Each takes one fork, one after the other; then nobody goes on.
    always(3, FailureKind::Deadlock, || philosophers(3));
}

#[test]
fn a_wake_up_that_is_lost() {
    // Main finds the flag down; the other raises it and notifies nobody; main waits.
    always(2, FailureKind::LostWakeup, || {
        let shared = Arc::new((AtomicU32::new(0), Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&shared);
        thread::spawn(move || {
            other.0.store(1, SeqCst);
            other.2.notify_one();
        });
        let (flag, lock, condition) = &*shared;
        if flag.load(SeqCst) == 0 {
            drop(condition.wait(lock.lock().unwrap()).unwrap());
        }
    });
}
