//! `RwLock`: its classes counted on paper, its deadlocks, poisoning, and std's behaviour.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex as StdMutex;

use raddle::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::parity::text;
use raddle_tests::programs::run_threads;
use raddle_tests::same;
use raddle_tests::{classes, exhaust};

/// What a thread does with the lock, and leaves at once.
#[derive(Clone, Copy)]
enum Section {
    Read,
    TryRead,
    Write,
    TryWrite,
    WriteThenRead,
}
use Section::*;

fn enter(lock: &RwLock<()>, section: Section) {
    match section {
        Read => drop(lock.read().unwrap()),
        TryRead => drop(lock.try_read()),
        Write => drop(lock.write().unwrap()),
        TryWrite => drop(lock.try_write()),
        WriteThenRead => drop(RwLockWriteGuard::downgrade(lock.write().unwrap())),
    }
}

/// The classes of a program whose threads enter one section each.
fn sections<const N: usize>(sections: [Section; N]) -> u64 {
    classes(move || {
        let lock = RwLock::new(());
        run_threads(N, move |number| enter(&lock, sections[number]));
    })
}

#[test]
fn writers_come_in_every_order() {
    assert_eq!(sections([Write; 2]), 2);
    assert_eq!(sections([Write; 3]), 6);
    assert_eq!(sections([Write; 4]), 24);
}

#[test]
fn readers_overlap() {
    // Any interleaving of r1 u1, r2 u2, …: (2n)! / 2^n.
    assert_eq!(sections([Read; 2]), 6);
    assert_eq!(sections([Read; 3]), 90);
}

#[test]
fn a_writer_is_alone() {
    // w uw r ur, or r ur w uw.
    assert_eq!(sections([Read, Write]), 2);
    // The six interleavings of two readers with the writer before or behind all of it, and the
    // writer between two readers that do not overlap, who come in two orders.
    assert_eq!(sections([Read, Read, Write]), 6 + 6 + 2);
    // Without a reader inside, the two writers come in two orders; the reader has three places.
    assert_eq!(sections([Read, Write, Write]), 2 * 3);
}

#[test]
fn attempts_are_refused_while_another_is_inside() {
    // The attempt comes before, where it succeeds and ends first, inside, or behind.
    assert_eq!(sections([Write, TryWrite]), 3);
    assert_eq!(sections([Write, TryRead]), 3);
    assert_eq!(sections([Read, TryWrite]), 3);
    // A reader never stops another one.
    assert_eq!(sections([Read, TryRead]), 6);
    // t1 u1 t2 u2 and t1 t2 u1, with the roles exchanged too.
    assert_eq!(sections([TryWrite, TryWrite]), 4);
}

#[test]
fn downgrading_lets_readers_in_and_no_writer() {
    // w d ur as a whole before the other's w uw, or behind it.
    assert_eq!(sections([WriteThenRead, Write]), 2);
    // The reader before; or behind d, where r u and the downgraded reader's u interleave.
    assert_eq!(sections([WriteThenRead, Read]), 1 + 3);
    // t succeeds before w (and ends) or behind ur; it fails between w and d, and between d and ur.
    assert_eq!(sections([WriteThenRead, TryWrite]), 4);
}

#[test]
fn a_downgraded_writer_reads_what_it_wrote() {
    let report = exhaust(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() = 2);
        let mut guard = lock.write().unwrap();
        *guard = 1;
        let guard = RwLockWriteGuard::downgrade(guard);
        assert_eq!(*guard, 1);
        assert!(lock.try_write().is_err());
        assert!(lock.try_read().is_ok());
        drop(guard);
        thread.join().unwrap();
    });
    report.assert_ok();
}

#[test]
fn no_update_under_a_write_lock_is_lost_and_one_between_two_locks_is() {
    fn totals(body: fn(&RwLock<u32>)) -> BTreeSet<u32> {
        let seen = StdMutex::new(BTreeSet::new());
        exhaust(|| {
            let lock = Arc::new(RwLock::new(0));
            let shared = Arc::clone(&lock);
            run_threads(2, move |_| body(&shared));
            let total = *lock.read().unwrap();
            seen.lock().unwrap().insert(total);
        })
        .assert_ok();
        seen.into_inner().unwrap()
    }
    assert_eq!(
        totals(|lock| *lock.write().unwrap() += 1),
        BTreeSet::from([2])
    );
    let read_then_write = |lock: &RwLock<u32>| {
        let value = *lock.read().unwrap();
        *lock.write().unwrap() = value + 1;
    };
    assert_eq!(totals(read_then_write), BTreeSet::from([1, 2]));
}

#[test]
fn two_locks_taken_both_ways_round() {
    fn program(section: fn(&RwLock<()>, &RwLock<()>)) -> (u64, usize) {
        let report = exhaust(move || {
            let locks = [RwLock::new(()), RwLock::new(())];
            run_threads(2, move |number| section(&locks[number], &locks[1 - number]));
        });
        let deadlocks = &report.failures;
        assert!(deadlocks.iter().all(|f| f.kind == FailureKind::Deadlock));
        (report.classes(), deadlocks.len())
    }
    // As with two mutexes: two orders, and the deadlock between them.
    let (classes, deadlocks) = program(|first, second| {
        let _first = first.write().unwrap();
        let _second = second.write().unwrap();
    });
    assert_eq!((classes, deadlocks), (3, 1));
    let (_, deadlocks) = program(|first, second| {
        let _first = first.read().unwrap();
        let _second = second.read().unwrap();
    });
    assert_eq!(deadlocks, 0, "readers do not wait for each other");
    let (_, deadlocks) = program(|first, second| {
        let _first = first.read().unwrap();
        let _second = second.write().unwrap();
    });
    assert_eq!(deadlocks, 1);
}

#[test]
fn a_reader_that_wants_to_write_waits_for_itself() {
    let report = exhaust(|| {
        let lock = RwLock::new(0);
        let _reading = lock.read().unwrap();
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        drop(lock.write());
    });
    let failure = &report.failures[0];
    assert_eq!((failure.kind, report.classes()), (FailureKind::Deadlock, 1));
    let message = &failure.message;
    assert!(
        message.starts_with("main holds RwLock `lock` (since tests/tests/types/rwlock.rs:"),
        "{message}"
    );
    assert!(
        message.ends_with(" for RwLock `lock`, which it holds itself"),
        "{message}"
    );
}

#[test]
fn every_reader_of_a_deadlock_is_said_to_hold_the_lock() {
    let report = exhaust(|| {
        let lock = RwLock::new(0);
        run_threads(2, move |_| {
            let _reading = lock.read().unwrap();
            drop(lock.write());
        });
    });
    // Either reads first; in both cases neither can ever write.
    assert_eq!(report.classes(), 2);
    for failure in &report.failures {
        let message = &failure.message;
        for thread in ["main.1", "main.2"] {
            assert!(
                message.contains(&format!("{thread} holds RwLock `lock` (since ")),
                "{message}"
            );
        }
        assert!(message.contains("which it holds itself"), "{message}");
    }
}

#[test]
fn guards_are_released_one_after_the_other_while_unwinding() {
    // Between the two releases, the other thread may write under one lock and not the other.
    let seen = StdMutex::new(BTreeSet::new());
    exhaust(|| {
        let locks = Arc::new((RwLock::new(()), RwLock::new(())));
        let others = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _outer = others.0.read();
            let _inner = others.1.write();
            panic!("with both locks");
        });
        let inner = locks.1.try_read();
        let inner_first = matches!(inner, Err(TryLockError::Poisoned(_)));
        drop(inner);
        let outer = locks.0.try_write();
        let outer_free = !matches!(outer, Err(TryLockError::WouldBlock));
        drop(outer);
        assert!(thread.join().is_err());
        assert!(!locks.0.is_poisoned() && locks.1.is_poisoned());
        seen.lock().unwrap().insert((inner_first, outer_free));
    })
    .assert_ok();
    let seen = seen.into_inner().unwrap();
    assert!(
        seen.contains(&(true, false)),
        "the inner one first: {seen:?}"
    );
    assert!(seen.contains(&(true, true)), "then the outer one: {seen:?}");
}

#[test]
fn what_an_abandoned_thread_has_is_given_back() {
    struct Write(Arc<RwLock<u32>>);
    impl Drop for Write {
        fn drop(&mut self) {
            *self.0.write().unwrap() += 1;
        }
    }
    // Wherever the others are when the execution is given up: in `write`, in `downgrade`, reading.
    let report = exhaust(|| {
        let lock = Arc::new(RwLock::new(0));
        let downgrades = Arc::clone(&lock);
        thread::spawn(move || {
            let guard = RwLockWriteGuard::downgrade(downgrades.write().unwrap());
            let _again = downgrades.read();
            drop(guard);
        });
        let _write = Write(Arc::clone(&lock));
        let reading = lock.read();
        drop(lock.write());
        drop(reading);
    });
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!(report.failures[0].notes, Vec::<String>::new());
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let lock = Arc::new(RwLock::new(0));
        let downgrades = Arc::clone(&lock);
        thread::spawn(move || {
            drop(RwLockWriteGuard::downgrade(downgrades.write().unwrap()));
        });
        let _write = Write(lock);
        raddle::assume(false);
    });
    assert_eq!(report.failures.len(), 0, "{report}");
}

#[test]
fn what_is_locked_outside_is_not_shared_with_a_check() {
    fn fails(lock: &RwLock<i32>, program: fn(&RwLock<i32>)) -> bool {
        let report = Checker::new().run(|| program(lock));
        for failure in &report.failures {
            let message = &failure.message;
            assert!(
                message.contains("raddle: the RwLock made at tests/tests/types/rwlock.rs:"),
                "{message}"
            );
            assert!(
                message.contains("is held outside this execution"),
                "{message}"
            );
        }
        !report.failures.is_empty()
    }
    let lock = RwLock::new(0);
    let both = || {
        [
            fails(&lock, |l| drop(l.read())),
            fails(&lock, |l| drop(l.write())),
        ]
    };
    assert_eq!(both(), [false, false]);
    let reading = lock.read().unwrap();
    assert_eq!(both(), [false, true], "readers outside and inside agree");
    drop(reading);
    let writing = lock.write().unwrap();
    assert_eq!(both(), [true, true]);
    drop(RwLockWriteGuard::downgrade(writing));
    assert_eq!(both(), [false, false]);
}

#[test]
fn poison_from_outside_is_there_inside_and_does_not_come_back() {
    let lock = RwLock::new(0);
    let poison = |lock: &RwLock<i32>| {
        let body = || {
            let _writing = lock.write();
            panic!("while it writes");
        };
        assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    };
    poison(&lock);
    exhaust(|| {
        assert!(lock.is_poisoned() && lock.read().is_err());
        lock.clear_poison();
        assert!(lock.write().is_ok());
    })
    .assert_ok();
    assert!(lock.is_poisoned(), "what a check does to it stays inside");
    lock.clear_poison();
    exhaust(|| poison(&lock)).assert_ok();
    assert!(!lock.is_poisoned());
}

fn surface() {
    same!(|sync| {
        let mut results = Vec::new();
        let lock = sync::RwLock::new(vec![1]);
        lock.write().unwrap().push(2);
        results.push(text(&lock));
        let reading = lock.read().unwrap();
        let again = lock.try_read().unwrap();
        results.push(text((&reading, &again, &lock)));
        results.push(text(lock.try_write()));
        drop((reading, again));
        let writing = lock.try_write().unwrap();
        results.push(text((&writing, &lock)));
        results.push(text((lock.try_read(), lock.try_write())));
        let reading = sync::RwLockWriteGuard::downgrade(writing);
        results.push(text((&reading, lock.try_read(), lock.try_write())));
        drop(reading);
        let mut lock = lock;
        lock.get_mut().unwrap().push(3);
        results.push(text(lock.into_inner()));
        results.push(text(sync::RwLock::<u8>::default()));
        results.push(text(sync::RwLock::from("x")));
        let unsized_lock: &sync::RwLock<[i32]> = &sync::RwLock::new([1, 2]);
        unsized_lock.write().unwrap()[0] = 5;
        results.push(text((unsized_lock, unsized_lock.read().unwrap().len())));
        let shown = sync::RwLock::new(4);
        results.push(format!("{:3}", shown.read().unwrap()));
        results.push(format!("{:3}", shown.write().unwrap()));
        results
    });
}

fn poisoning() {
    same!(|sync| {
        let mut results = Vec::new();
        let mut lock = sync::RwLock::new(0);
        let panics = |body: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
        panics(&|| {
            let _reading = lock.read();
            panic!("a reader");
        });
        results.push(text(&lock));
        panics(&|| {
            let _reading = sync::RwLockWriteGuard::downgrade(lock.write().unwrap());
            panic!("a reader that was a writer");
        });
        results.push(text(&lock));
        panics(&|| {
            let _writing = lock.write();
            panic!("a writer");
        });
        results.push(text((lock.is_poisoned(), lock.read(), &lock)));
        results.push(text((lock.try_read(), lock.try_read().is_err())));
        results.push(text(lock.write()));
        results.push(text(lock.try_write()));
        let writing = lock.write().unwrap_or_else(|error| error.into_inner());
        let reading = sync::RwLockWriteGuard::downgrade(writing);
        results.push(text((&reading, lock.try_write())));
        drop(reading);
        results.push(text(lock.get_mut()));
        lock.clear_poison();
        results.push(text((lock.is_poisoned(), lock.read())));
        panics(&|| {
            let _writing = lock.write();
            panic!("another writer");
        });
        results.push(text(lock.into_inner()));
        results
    });
}

fn writing_while_panicking() {
    same!(|sync| {
        struct WriteInDrop<'a>(&'a sync::RwLock<i32>);
        impl Drop for WriteInDrop<'_> {
            fn drop(&mut self) {
                *self.0.write().unwrap() += 1;
            }
        }
        let lock = sync::RwLock::new(0);
        let body = || {
            let _drop = WriteInDrop(&lock);
            panic!("unwinds");
        };
        assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
        (lock.is_poisoned(), lock.into_inner().unwrap())
    });
}

#[test]
fn outside_a_check_it_does_what_stds_does() {
    surface();
    poisoning();
    writing_while_panicking();
}

#[test]
fn inside_a_check_it_does_what_stds_does() {
    for program in [surface, poisoning, writing_while_panicking] {
        assert_eq!(classes(program), 1);
    }
}

#[test]
fn real_threads_share_it_outside_a_check() {
    let lock = RwLock::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    *lock.write().unwrap() += 1;
                    assert!(*lock.read().unwrap() > 0);
                }
            });
        }
    });
    assert_eq!(lock.into_inner().unwrap(), 4_000);
}

#[test]
fn a_static_can_be_made() {
    static LOCK: RwLock<Vec<u8>> = RwLock::new(Vec::new());
    LOCK.write().unwrap().push(1);
    assert_eq!(*LOCK.read().unwrap(), [1]);
}

/// As for std's guard: what is read for long may be used where it is needed for less.
#[allow(dead_code, reason = "it need only compile")]
fn a_readers_guard_is_covariant<'a, 'b>(
    guard: RwLockReadGuard<'a, &'static str>,
) -> RwLockReadGuard<'b, &'b str>
where
    'a: 'b,
{
    guard
}
