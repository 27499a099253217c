//! Panics inside checks: an unwinding thread is scheduled like any other, and what one thread's
//! panic does never shows in another.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex as StdMutex;

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, BinarySemaphore, Mutex};
use raddle::thread::{self, JoinHandle};
use raddle::{Checker, FailureKind, Report, Strategy};
use raddle_tests::compare::outcomes;
use raddle_tests::exhaust;

fn first_failure(report: &Report) -> (FailureKind, &str) {
    let failure = report.failures.first().expect("a failure");
    (failure.kind, &failure.message)
}

#[test]
fn guards_are_released_one_after_the_other_while_unwinding() {
    // Between the two releases, the other thread may find one lock free and the other taken.
    let (seen, _) = outcomes(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let others = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _outer = others.0.lock();
            let _inner = others.1.lock();
            panic!("with both locks");
        });
        let inner_first = locks.1.try_lock().is_err_and(|error| is_poisoned(&error));
        let outer = locks.0.try_lock();
        let outer_free = !matches!(outer, Err(std::sync::TryLockError::WouldBlock));
        drop(outer);
        assert!(thread.join().is_err());
        (inner_first, outer_free)
    });
    assert!(
        seen.contains(&(true, false)),
        "the inner one was released first: {seen:?}"
    );
    assert!(seen.contains(&(true, true)), "then the outer one: {seen:?}");
}

fn is_poisoned<T>(error: &std::sync::TryLockError<T>) -> bool {
    matches!(error, std::sync::TryLockError::Poisoned(_))
}

#[test]
fn a_thread_that_waits_to_give_a_permit_back_is_unwound() {
    struct Counts<'a>(&'a StdMutex<u32>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let dropped = StdMutex::new(0);
    let report = exhaust(|| {
        let _counts = Counts(&dropped);
        BinarySemaphore::new(true).release();
    });
    assert_eq!(first_failure(&report).0, FailureKind::Deadlock);
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
    assert!(*dropped.lock().unwrap() > 0);
}

/// Joins its threads when dropped, as pools do.
struct Pool(Vec<JoinHandle<()>>);

impl Drop for Pool {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_pool_joins_its_threads_while_its_owner_unwinds() {
    let done = Arc::new(StdMutex::new(BTreeSet::new()));
    let seen = Arc::clone(&done);
    let report = exhaust(move || {
        let counter = Arc::new(AtomicU32::new(0));
        let shared = Arc::clone(&counter);
        let owner = thread::spawn(move || {
            let work = |_| {
                let counter = Arc::clone(&shared);
                thread::spawn(move || {
                    counter.fetch_add(1, SeqCst);
                })
            };
            let _pool = Pool((0..2).map(work).collect());
            panic!("the owner fails");
        });
        assert!(owner.join().is_err());
        seen.lock().unwrap().insert(counter.load(SeqCst));
    });
    report.assert_ok();
    assert_eq!(
        *done.lock().unwrap(),
        BTreeSet::from([2]),
        "every worker was waited for"
    );
    assert_eq!(report.classes(), 2, "the workers come in two orders");
}

#[test]
fn panicking_is_a_matter_of_one_thread() {
    struct Watch(Arc<AtomicBool>);
    impl Drop for Watch {
        fn drop(&mut self) {
            assert!(thread::panicking());
            self.0.store(true, SeqCst);
            // A scheduling point in the middle of unwinding: others run now.
            self.0.load(SeqCst);
            assert!(thread::panicking());
        }
    }
    exhaust(|| {
        let unwinding = Arc::new(AtomicBool::new(false));
        let watch = Arc::clone(&unwinding);
        let thread = thread::spawn(move || {
            let _watch = Watch(watch);
            panic!("unwinds slowly");
        });
        let lock = Mutex::new(());
        let guard = lock.lock().unwrap();
        unwinding.load(SeqCst);
        assert!(!thread::panicking(), "another thread panics, not this one");
        drop(guard);
        assert!(
            !lock.is_poisoned(),
            "the panic of another thread poisons nothing here"
        );
        assert!(thread.join().is_err());
    })
    .assert_ok();
}

#[test]
fn two_threads_may_unwind_at_the_same_time() {
    let report = exhaust(|| {
        let lock = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let lock = Arc::clone(&lock);
                thread::spawn(move || {
                    let _guard = lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    panic!("thread {number}");
                })
            })
            .collect();
        for thread in threads {
            assert!(thread.join().is_err());
        }
        assert!(lock.is_poisoned());
    });
    report.assert_ok();
    assert_eq!(report.classes(), 2);
}

#[test]
fn a_panic_that_join_returned_is_the_programs_business() {
    exhaust(|| {
        let result = thread::spawn(|| panic!("expected")).join();
        assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "expected");
    })
    .assert_ok();
}

#[test]
fn a_panic_nobody_looked_at_is_a_failure() {
    let report = exhaust(|| {
        thread::Builder::new()
            .name("worker".into())
            .spawn(|| panic!("unseen"))
            .unwrap();
    });
    let (kind, message) = first_failure(&report);
    assert_eq!(kind, FailureKind::Panic);
    assert!(
        message.starts_with("worker panicked at tests/tests/types/unwinding.rs:"),
        "{message}"
    );
    assert!(message.ends_with(":\nunseen"), "{message}");
}

#[test]
fn the_first_panic_is_reported_not_the_unwrap_of_its_join() {
    let report = exhaust(|| {
        thread::spawn(|| panic!("the cause")).join().unwrap();
    });
    let (_, message) = first_failure(&report);
    assert!(
        message.contains("the cause\nand main, which joined it, panicked in turn"),
        "{message}"
    );
}

#[test]
fn abandoned_threads_run_their_destructors() {
    let dropped = Arc::new(StdMutex::new(0));
    let count = Arc::clone(&dropped);
    struct Counts(Arc<StdMutex<u32>>);
    impl Drop for Counts {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let report = exhaust(move || {
        let lock = Arc::new(Mutex::new(()));
        let _held = lock.lock();
        let (again, counts) = (Arc::clone(&lock), Counts(Arc::clone(&count)));
        let thread = thread::spawn(move || {
            let _counts = counts;
            drop(again.lock());
        });
        thread.join().unwrap();
    });
    assert_eq!(first_failure(&report).0, FailureKind::Deadlock);
    assert_eq!(*dropped.lock().unwrap(), report.executions as u32);
}

#[test]
fn destructors_may_lock_and_join_while_they_are_abandoned() {
    struct Flush(Arc<Mutex<u32>>, Option<JoinHandle<()>>);
    impl Drop for Flush {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            if let Some(thread) = self.1.take() {
                let _ = thread.join();
            }
        }
    }
    let report = exhaust(|| {
        let stuck = Arc::new(Mutex::new(()));
        let log = Arc::new(Mutex::new(0));
        let _held = stuck.lock();
        let (again, shared) = (Arc::clone(&stuck), Arc::clone(&log));
        let thread = thread::spawn(move || {
            let _flush = Flush(shared, None);
            drop(again.lock());
        });
        let _flush = Flush(log, Some(thread));
        drop(stuck.lock());
    });
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Deadlock);
    assert_eq!(
        failure.notes,
        Vec::<String>::new(),
        "everything could be unwound"
    );
}

/// What pools do when they are dropped: an error there would be a panic while unwinding.
#[test]
fn destructors_may_expect_that_abandoned_threads_have_ended_well() {
    struct Worker(Arc<AtomicBool>, Option<JoinHandle<()>>);
    impl Drop for Worker {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
            self.1.take().unwrap().join().unwrap();
        }
    }
    let report = exhaust(|| {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let worker = thread::spawn(move || while !seen.load(SeqCst) {});
        let _worker = Worker(stop, Some(worker));
        raddle::assume(raddle::choose(0..2) == 0);
    });
    report.assert_ok();
    assert!(report.discarded > 0);
}

#[test]
fn a_lock_is_given_back_even_when_the_execution_stops_at_that_point() {
    struct LockAtTheEnd(Arc<Mutex<u32>>);
    impl Drop for LockAtTheEnd {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let checker = Checker::new().strategy(Strategy::Random).max_events(20);
    let report = checker.max_executions(500).keep_going(true).run(|| {
        let lock = Arc::new(Mutex::new(0));
        for _ in 0..2 {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                let end = LockAtTheEnd(lock);
                loop {
                    drop(end.0.lock());
                }
            });
        }
    });
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::TooLong);
    assert_eq!(
        report.failures[0].notes,
        Vec::<String>::new(),
        "everything could be unwound"
    );
}

#[test]
fn a_panic_in_a_scope_that_leaves_another_thread_blocked_is_the_failure() {
    let report = raddle::Checker::new()
        .strategy(raddle::Strategy::Exhaustive)
        .run(|| {
            let (sender, receiver) = raddle::sync::mpsc::channel::<()>();
            thread::scope(|scope| {
                // The scope waits for the last thread first.
                scope.spawn(move || receiver.recv());
                scope.spawn(|| panic!("never sends"));
            });
            drop(sender);
        });
    let kinds: Vec<_> = report.failures.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [raddle::FailureKind::Panic], "{report}");
    assert!(
        report.failures[0].message.contains("never sends"),
        "{report}"
    );
}

#[test]
fn scoped_threads_are_waited_for_even_when_the_execution_is_abandoned() {
    let report = exhaust(|| {
        let data = [1, 2, 3];
        let lock = Mutex::new(0);
        thread::scope(|scope| {
            scope.spawn(|| *lock.lock().unwrap() += data[0]);
            scope.spawn(|| {
                let _one = lock.lock().unwrap();
                let _two = lock.lock().unwrap();
            });
        });
    });
    assert_eq!(first_failure(&report).0, FailureKind::Deadlock);
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
}

#[test]
fn an_abandoned_thread_that_catches_everything_is_dropped_after_a_while() {
    let caught = Arc::new(StdMutex::new(0));
    let count = Arc::clone(&caught);
    let program = move || {
        let lock = Arc::new(Mutex::new(()));
        let _held = lock.lock();
        let (again, count) = (Arc::clone(&lock), Arc::clone(&count));
        thread::spawn(move || {
            loop {
                let locked = catch_unwind(AssertUnwindSafe(|| drop(again.lock())));
                *count.lock().unwrap() += u32::from(locked.is_err());
            }
        });
        drop(lock.lock());
    };
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .shorten(false)
        .run(program);
    assert_eq!(first_failure(&report).0, FailureKind::Deadlock);
    assert_eq!(
        *caught.lock().unwrap(),
        100,
        "raised again at every operation, 100 times"
    );
    assert_eq!(
        report.failures[0].notes,
        [
            "1 thread was left by dropping the stack without unwinding, because destructors or \
          `catch_unwind` kept it from ending; its memory is not given back"
        ]
    );
}

#[test]
fn an_error_returned_by_an_abandoned_thread_does_not_stop_the_search() {
    let mut failing = 0;
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true);
    let report = raddle::__private::run_observed(
        checker,
        || {
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let others = Arc::clone(&locks);
            let thread = thread::spawn(move || {
                let _one = others.0.lock().unwrap();
                let _two = others.1.lock().unwrap();
            });
            {
                let _two = locks.1.lock().unwrap();
                let _one = locks.0.lock().unwrap();
            }
            thread.join().unwrap();
        },
        &mut |execution| failing += usize::from(!execution.pending.is_empty()),
    );
    assert!(report.exhausted);
    assert_eq!(
        (report.classes(), failing),
        (3, 1),
        "two orders and the deadlock between them"
    );
}
