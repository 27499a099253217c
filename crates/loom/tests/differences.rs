//! Differences from loom, each as in the table of the book: the program, and why the result is right.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering, Ordering::*};
use loom::sync::{Arc, Condvar, Mutex, mpsc};
use loom::thread;

/// The results of all executions.
fn results<R: Ord + Send + 'static>(body: impl Fn() -> R + Send + Sync + 'static) -> BTreeSet<R> {
    let all = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let results = std::sync::Arc::clone(&all);
    loom::model(move || {
        let result = body();
        results.lock().unwrap().insert(result);
    });
    std::mem::take(&mut all.lock().unwrap())
}

/// The message of the failure of a model.
fn failure(body: impl Fn() + Send + Sync + 'static) -> String {
    let payload = catch_unwind(AssertUnwindSafe(|| loom::model(body)));
    *payload.unwrap_err().downcast().expect("a text")
}

/// Two threads that each store 1 and then read the variable of the other.
fn store_buffering(order: Ordering) -> (usize, usize) {
    let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let other = Arc::clone(&shared);
    let th = thread::spawn(move || {
        other.0.store(1, order);
        other.1.load(order)
    });
    shared.1.store(1, order);
    let seen = shared.0.load(order);
    (seen, th.join().unwrap())
}

/// `std` allows it, and processors with load-linked and store-conditional do it.
#[test]
fn a_weak_compare_exchange_may_fail_spuriously() {
    let weak = |a: &AtomicUsize| a.compare_exchange_weak(0, 1, AcqRel, Acquire).is_ok();
    let strong = |a: &AtomicUsize| a.compare_exchange(0, 1, AcqRel, Acquire).is_ok();
    assert_eq!(
        results(move || weak(&AtomicUsize::new(0))),
        [false, true].into()
    );
    assert_eq!(results(move || strong(&AtomicUsize::new(0))), [true].into());
}

/// The documentation of `Condvar::wait` and of `park` says so.
#[test]
fn waits_may_end_without_a_notification() {
    let waited = results(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let th = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut guard = shared.0.lock().unwrap();
        let mut waits = 0;
        while !*guard {
            guard = shared.1.wait(guard).unwrap();
            waits += 1;
        }
        drop(guard);
        th.join().unwrap();
        waits
    });
    assert_eq!(waited, [0, 1, 2].into());
}

/// A time that no thread may exceed is never long enough.
#[test]
fn waits_may_time_out() {
    let timed_out = results(|| {
        let (lock, changed) = (Mutex::new(()), Condvar::new());
        let guard = lock.lock().unwrap();
        let (guard, result) = changed.wait_timeout(guard, Duration::from_secs(1)).unwrap();
        drop(guard);
        result.timed_out()
    });
    assert!(timed_out.contains(&true));
}

/// `SeqCst` accesses have one order, so store buffering is impossible. (Loom: as `AcqRel`.)
#[test]
fn sequentially_consistent_accesses_have_one_order() {
    for (order, both_zero) in [(SeqCst, false), (Relaxed, true)] {
        let seen = results(move || store_buffering(order));
        assert_eq!(seen.contains(&(0, 0)), both_zero, "{order:?}");
    }
}

/// The coherence order need not be the order of execution: 2+2W. (Loom: never seen.)
#[test]
fn stores_may_be_ordered_against_their_execution() {
    let last = results(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let th = thread::spawn(move || {
            other.0.store(1, Relaxed);
            other.1.store(2, Relaxed);
        });
        shared.1.store(1, Relaxed);
        shared.0.store(2, Relaxed);
        th.join().unwrap();
        (shared.0.load(Relaxed), shared.1.load(Relaxed))
    });
    assert!(last.contains(&(1, 1)), "{last:?}");
}

/// No load takes a value that depends on itself, and none takes a store that program order has after it: RC11
/// forbids load buffering, as loom does not run it.
#[test]
fn there_is_no_load_buffering() {
    let seen = results(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let th = thread::spawn(move || {
            let seen = other.0.load(Relaxed);
            other.1.store(1, Relaxed);
            seen
        });
        let seen = shared.1.load(Relaxed);
        shared.0.store(1, Relaxed);
        (seen, th.join().unwrap())
    });
    assert_eq!(seen, [(0, 0), (0, 1), (1, 0)].into());
}

#[test]
fn there_may_be_more_than_five_threads() {
    let sums = results(|| {
        let sum = Arc::new(AtomicUsize::new(0));
        let start = || {
            let sum = Arc::clone(&sum);
            thread::spawn(move || sum.load(Relaxed))
        };
        let threads: Vec<_> = (0..loom::MAX_THREADS + 2).map(|_| start()).collect();
        threads
            .into_iter()
            .map(|th| th.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(sums, [0].into());
}

#[test]
fn loops_that_wait_need_no_yield() {
    let seen = results(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let th = thread::spawn(move || other.store(1, Release));
        while flag.load(Acquire) == 0 {}
        th.join().unwrap();
    });
    assert_eq!(seen.len(), 1);
}

/// As a receiver of std: without senders it ends. (Loom: waits for ever.)
#[test]
fn a_receiver_without_senders_ends() {
    let received = results(|| {
        let (sender, receiver) = mpsc::channel::<u8>();
        let th = thread::spawn(move || drop(sender));
        let received = receiver.recv();
        th.join().unwrap();
        received.is_err()
    });
    assert_eq!(received, [true].into());
}

/// A static of Rust is never dropped, so a thread may use it after the body of the test has ended. (Loom drops it at
/// the end of the body: `lazy_static_arc_shutdown` of its tests expects a panic.)
#[test]
fn a_static_outlives_the_body() {
    loom::lazy_static! {
        static ref ZERO: Arc<usize> = Arc::new(0);
    }
    loom::model(|| {
        thread::spawn(|| assert_eq!(**ZERO, 0));
    });
}

/// As the first thread of a program. (Loom: no name, which `initial_thread` of its tests expects.)
#[test]
fn the_first_thread_is_called_main() {
    let name = results(|| thread::current().name().map(str::to_owned));
    assert_eq!(name, [Some("main".to_owned())].into());
}

/// The second `try_lock` of a held lock fails as in std. (Loom: an assertion inside loom may fail.)
#[test]
fn a_held_lock_refuses_every_attempt() {
    loom::model(|| {
        let lock = Mutex::new(());
        let guard = lock.lock().unwrap();
        assert!(lock.try_lock().is_err() && lock.try_lock().is_err());
        drop(guard);
        assert!(lock.try_lock().is_ok());
    });
}

/// A guard that is dropped by a panic poisons its lock, as in std.
#[test]
fn locks_are_poisoned() {
    let poisoned = results(|| {
        let lock = Mutex::new(());
        let with_the_lock = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.lock().unwrap();
            panic!("with the lock");
        }));
        (with_the_lock.is_err(), lock.lock().is_err())
    });
    assert_eq!(poisoned, [(true, true)].into());
}

/// A token ends a wait; so may nothing, once.
#[test]
fn parking_may_end_without_a_token() {
    let waits = results(|| {
        let ready = Arc::new(AtomicUsize::new(0));
        let (other, main) = (Arc::clone(&ready), thread::current());
        let th = thread::spawn(move || {
            other.store(1, Release);
            main.unpark();
        });
        let mut waits = 0;
        while ready.load(Acquire) == 0 {
            thread::park();
            waits += 1;
        }
        th.join().unwrap();
        waits
    });
    // Not at all; once, by the token or by nothing with the store seen; by nothing, and then by the token.
    assert_eq!(waits, [0, 1, 2].into());
}

/// Store buffering has four classes: each thread sees the store of the other or does not.
#[test]
fn every_class_is_run_once() {
    let runs = std::sync::Arc::new(StdMutex::new(Vec::new()));
    let all = std::sync::Arc::clone(&runs);
    loom::model(move || {
        let seen = store_buffering(Relaxed);
        all.lock().unwrap().push(seen);
    });
    let mut runs = std::mem::take(&mut *runs.lock().unwrap());
    runs.sort_unstable();
    assert_eq!(runs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn a_deadlock_names_the_holders_and_the_lines() {
    let first = line!() + 1;
    let text = failure(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = Arc::clone(&locks);
        let th = thread::spawn(move || {
            let _second = other.1.lock().unwrap();
            let _first = other.0.lock().unwrap();
        });
        let _first = locks.0.lock().unwrap();
        let _second = locks.1.lock().unwrap();
        drop((_first, _second));
        th.join().unwrap();
    });
    let at = |line: u32| format!("crates/loom/tests/differences.rs:{}", first + line);
    let main = format!(
        "  main holds Mutex `locks.0` (since {}), waits at {} for Mutex `locks.1`, held by main.1\n",
        at(7),
        at(8)
    );
    let other = format!(
        "  main.1 holds Mutex `locks.1` (since {}), waits at {} for Mutex `locks.0`, held by main\n",
        at(4),
        at(5)
    );
    assert!(text.starts_with("deadlock after "), "{text}");
    assert!(text.contains(&(main + &other)), "{text}");
}

/// The table of the book has a test for each row, named here or in `surface.rs`. The row about guards is a pair of
/// examples in the documentation of `loom::sync`.
#[test]
fn every_row_of_the_table_is_a_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let tests = read("tests/differences.rs") + &read("tests/surface.rs");
    let book = read("../../docs/src/from-loom.md");
    let (_, table) = book.split_once("| | loom | raddle | test |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| !line.is_empty());
    let mut count = 0;
    for row in rows {
        let test = row.trim_end_matches(" |").rsplit("| ").next().unwrap();
        let name = test.trim_matches('`');
        let is_test = tests.contains(&format!("#[test]\nfn {name}()"));
        assert!(is_test || name == "loom::sync", "no test: {row}");
        count += 1;
    }
    assert!(count >= 19, "{count}");
}
