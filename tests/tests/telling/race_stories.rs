//! What is said of data races and of memory that is not there, and atomics that are too weak.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst},
    fence,
};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Failure, FailureKind, Memory, Strategy, thread};
use raddle_tests::races::{Shared, checker, is_clean, is_racy, races_in, two};

/// One thread publishes with a store, the other looks with a load.
fn publish(store: Ordering, load: Ordering) {
    two::<AtomicBool>(
        move |cell, flag| {
            cell.write();
            flag.store(true, store);
        },
        move |cell, flag| {
            if flag.load(load) {
                cell.read();
            }
        },
    );
}

#[test]
fn a_release_and_an_acquire() {
    for (store, load) in [(Release, Acquire), (SeqCst, Acquire), (SeqCst, SeqCst)] {
        assert_eq!(
            races_in(&checker(), move || publish(store, load)),
            [(0, 2); 2]
        );
    }
    for (store, load) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, SeqCst)] {
        assert_eq!(
            races_in(&checker(), move || publish(store, load)),
            [(1, 2); 2]
        );
    }
}

#[test]
fn fences() {
    let program = |release: bool, acquire: bool| {
        two::<AtomicBool>(
            move |cell, flag| {
                cell.write();
                if release {
                    fence(Release);
                }
                flag.store(true, Relaxed);
            },
            move |cell, flag| {
                if flag.load(Relaxed) {
                    if acquire {
                        fence(Acquire);
                    }
                    cell.read();
                }
            },
        );
    };
    assert_eq!(
        races_in(&checker(), move || program(true, true)),
        [(0, 2); 2]
    );
    assert_eq!(
        races_in(&checker(), move || program(true, false)),
        [(1, 2); 2]
    );
    assert_eq!(
        races_in(&checker(), move || program(false, true)),
        [(1, 2); 2]
    );
}

#[test]
fn an_update_passes_on_what_it_replaces_and_a_store_does_not() {
    let program = |updates: bool| {
        let shared = Arc::new((Shared::default(), AtomicU32::new(0)));
        let (first, second) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = [
            thread::spawn(move || {
                first.0.write();
                first.1.store(1, Release);
            }),
            thread::spawn(move || {
                if second.1.load(Relaxed) == 1 {
                    if updates {
                        second.1.fetch_add(1, Relaxed);
                    } else {
                        second.1.store(2, Relaxed);
                    }
                }
            }),
        ];
        if shared.1.load(Acquire) == 2 {
            shared.0.read();
        }
        for thread in threads {
            thread.join().unwrap();
        }
    };
    is_clean(move || program(true));
    is_racy(move || program(false));
}

#[test]
fn what_fails_to_exchange_has_the_other_ordering() {
    let program = |failure: Ordering| {
        two::<AtomicU32>(
            |cell, flag| {
                cell.write();
                flag.store(1, Release);
            },
            move |cell, flag| {
                if flag.compare_exchange(0, 2, AcqRel, failure) == Err(1) {
                    cell.read();
                }
            },
        );
    };
    is_clean(move || program(Acquire));
    is_racy(move || program(Relaxed));
}

/// The first failure of a program, and the lines that its message names.
fn failure(program: impl Fn() + Send + Sync) -> (Failure, Vec<u32>) {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.run(program);
    let failure = report.failures[0].clone();
    let lines = failure.message.split("race_stories.rs:").skip(1);
    let number = |text: &str| {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    let lines = lines.map(number).collect();
    (failure, lines)
}

#[test]
fn both_lines_are_named_and_the_pair_that_is_too_weak() {
    let first = line!() + 5;
    let (failure, lines) = failure(|| {
        two::<AtomicBool>(
            |cell, flag| {
                raddle::label!("value", &cell.0);
                cell.write();
                flag.store(true, Relaxed);
            },
            |cell, flag| {
                if flag.load(Acquire) {
                    cell.read();
                }
            },
        );
    });
    assert_eq!(failure.kind, FailureKind::DataRace);
    assert_eq!(
        lines,
        [first, first + 5, first + 4, first + 1, first + 1, first + 1]
    );
    let message = failure
        .message
        .replace("tests/tests/telling/race_stories.rs:", ":");
    let (store, load) = (first + 1, first + 4);
    assert_eq!(
        message,
        format!(
            "main.1 writes value at :{first}\n\
             main reads value at :{}, and nothing orders the two\n\
             main's load of AtomicBool at :{load} takes the value that main.1 wrote at :{store}, but \
             does not synchronize with it\n\
             help: the store at :{store} is Relaxed, but must be at least Release\n\
             help: with `Release` instead of `Relaxed` at :{store} this does not happen in any of its \
             2 classes",
            first + 5
        )
    );
    let steps = failure.trace.steps.iter().map(|step| &*step.what);
    let steps: Vec<_> = steps.filter(|&what| what != "end").collect();
    let end = &steps[steps.len() - 4..];
    let expected = [
        "write value",
        "store true to AtomicBool",
        "load AtomicBool = true",
        "read value",
    ];
    assert_eq!(end, expected);
}

/// Of a compare-exchange that fails, the second ordering counts.
#[test]
fn an_exchange_that_fails_has_an_ordering_of_its_own() {
    for success in [Acquire, AcqRel, SeqCst] {
        let exchange = line!() + 8;
        let (failure, _) = failure(move || {
            two::<AtomicU32>(
                |cell, state| {
                    cell.write();
                    state.store(2, Release);
                },
                move |cell, state| {
                    if state.compare_exchange(0, 1, success, Relaxed) == Err(2) {
                        cell.read();
                    }
                },
            );
        });
        let message = failure
            .message
            .replace("tests/tests/telling/race_stories.rs:", ":");
        let help: Vec<&str> = message
            .lines()
            .filter(|it| it.starts_with("help"))
            .collect();
        // It succeeds, or it fails.
        let expected = [
            format!(
                "help: the failed compare-exchange at :{exchange} is Relaxed, but must be at least \
                 Acquire"
            ),
            format!(
                "help: with `{success:?}, {}` instead of `{success:?}, Relaxed` at :{exchange} this does \
                 not happen in any of its 2 classes",
                if success == SeqCst {
                    "SeqCst"
                } else {
                    "Acquire"
                },
            ),
        ];
        assert_eq!(help, expected, "{message}");
    }
}

#[test]
fn a_race_is_replayed() {
    let program = || publish(Relaxed, Relaxed);
    let report = Checker::new().run(program);
    let found = &report.failures[0];
    assert_eq!(found.kind, FailureKind::DataRace);
    let replay = Strategy::Replay(found.schedule.clone());
    let again = Checker::new().strategy(replay).run(program);
    // What would help was found out by searching, which a replay does not do.
    let told = &again.failures[0].message;
    let help = found.message.strip_prefix(&**told).expect("the same story");
    assert!(help.starts_with("\nhelp: with `Release`"), "{help}");
}

#[test]
fn a_panic_that_came_first_is_told_first_and_one_that_followed_is_not() {
    let kind = |program: fn()| failure(program).0.kind;
    let racy_then_panics = || {
        two::<()>(|cell, ()| cell.write(), |cell, ()| cell.write());
        panic!("because of it");
    };
    assert_eq!(kind(racy_then_panics), FailureKind::DataRace);
    assert_eq!(
        kind(|| two::<()>(|_, ()| panic!("first"), |_, ()| {})),
        FailureKind::Panic
    );
}

#[test]
fn accesses_that_overlap() {
    // The lock orders them, and yet the first is not over.
    let (failure, lines) = failure(|| {
        two::<Mutex<()>>(
            |cell, lock| {
                cell.0.with_mut(|_| drop(lock.lock()));
            },
            |cell, lock| {
                drop(lock.lock());
                cell.0.with_mut(|_| ());
            },
        );
    });
    assert_eq!((failure.kind, lines.len()), (FailureKind::DataRace, 2));
    // Within one thread nothing is unordered, but the two are in each other's way.
    let nested = |outer: bool, inner: bool| {
        let program = move || {
            let cell = UnsafeCell::new(0);
            let again = |_| match inner {
                true => cell.with_mut(|_| ()),
                false => cell.with(|_| ()),
            };
            match outer {
                true => cell.with_mut(|value| again(value.cast_const())),
                false => cell.with(again),
            }
        };
        let report = Checker::new().run(program);
        report
            .failures
            .first()
            .map(|failure| failure.message.clone())
    };
    assert_eq!(nested(false, false), None);
    for (outer, inner) in [(true, true), (true, false), (false, true)] {
        let message = nested(outer, inner).unwrap();
        assert!(
            message.contains("before the first access has ended"),
            "{message}"
        );
    }
    // One after the other is fine.
    is_clean(|| {
        let cell = Shared::default();
        cell.write();
        cell.write();
    });
}

#[test]
fn an_access_lasts_until_it_is_over() {
    // main writes before the lock is given back, and the other reads after taking it: only what main
    // still does afterwards is unordered.
    is_racy(|| {
        two::<(Mutex<()>, AtomicBool)>(
            |cell, (lock, go)| {
                if go.load(Relaxed) {
                    drop(lock.lock());
                    cell.read();
                }
            },
            |cell, (lock, go)| {
                cell.0.with_mut(|_| {
                    let held = lock.lock();
                    go.store(true, Relaxed);
                    drop(held);
                });
            },
        );
    });
}

#[test]
fn use_of_a_cell_that_was_dropped() {
    struct Slot(*const UnsafeCell<u32>);
    // SAFETY: one OS thread runs everything, and what is pointed to is never given back.
    unsafe impl Send for Slot {}
    let program = |early: bool| {
        let place = Box::leak(Box::new(std::mem::ManuallyDrop::new(UnsafeCell::new(0))));
        let slot = Slot(&raw const **place);
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            let slot = slot;
            drop(other.lock());
            // SAFETY: the memory is there, though the cell may not be.
            unsafe { &*slot.0 }.with(|_| ());
        });
        if !early {
            thread.join().unwrap();
            // SAFETY: the only other user has been joined.
            unsafe { std::mem::ManuallyDrop::drop(place) };
            return;
        }
        drop(lock.lock());
        // SAFETY: none, the other thread may still use it, which is the bug under test.
        unsafe { std::mem::ManuallyDrop::drop(place) };
        thread.join().unwrap();
    };
    let (failure, lines) = failure(move || program(true));
    assert_eq!(failure.kind, FailureKind::UseAfterFree);
    let message = &failure.message;
    assert!(
        message.starts_with("main.1 uses an UnsafeCell at "),
        "{message}"
    );
    assert!(
        message.contains("it was dropped by main, after `unlock lock`"),
        "{message}"
    );
    assert_eq!(lines.len(), 2, "{message}");
    is_clean(move || program(false));
}

#[test]
fn use_of_a_cell_that_was_never_made() {
    let (failure, _) = failure(|| {
        let zeroes = [0_u64; 8];
        let cell = zeroes.as_ptr().cast::<UnsafeCell<u32>>();
        // SAFETY: it is not, but the identity is looked at first.
        unsafe { &*cell }.with(|_| ());
    });
    assert_eq!(failure.kind, FailureKind::UseAfterFree);
    assert!(failure.message.contains("that was never initialised"));
}

#[test]
fn a_compare_exchange_that_fails_has_written_nothing_that_a_read_could_miss() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Rc11)
        .page(false)
        .run(|| {
            let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            let there = (x.clone(), y.clone());
            let writer = thread::spawn(move || {
                there.0.store(1, Relaxed);
                there.1.store(1, Relaxed);
            });
            let failed = x.compare_exchange(7, 8, Relaxed, Relaxed) == Err(0);
            let stale = y.load(Relaxed) == 1 && x.load(Relaxed) == 0;
            writer.join().unwrap();
            assert!(!failed || !stale);
        });
    let message = &report.failures[0].message;
    let stale = message.lines().filter(|line| line.starts_with("stale: "));
    let wrote = stale.map(|line| line.contains(" did not see what main.1 had written to x at "));
    let wrote: Vec<bool> = wrote.collect();
    assert!(!wrote.is_empty() && wrote.iter().all(|it| *it), "{message}");
}
