//! `Reduction::Paths`: how many classes it leaves, what it refuses, and how a wrong declaration is noticed.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use raddle::sync::{Arc, Mutex};
use raddle::{
    Checker, FailureKind, Guarantee, Ignored, Memory, Reduction, Report, Strategy, thread,
};
use raddle_tests::races::Shared;

use Ordering::{Acquire, Relaxed, Release, SeqCst};

fn checker(memory: Memory) -> Checker {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    checker.memory(memory).keep_going(true).shorten(false)
}

/// The report of a check with the reduction, and the values that its executions return.
fn reduced<T: Ord + Send>(
    memory: Memory,
    program: impl Fn() -> T + Send + Sync,
) -> (Report, BTreeSet<T>) {
    run(checker(memory).reduce(Reduction::Paths), program)
}

fn run<T: Ord + Send>(
    checker: Checker,
    program: impl Fn() -> T + Send + Sync,
) -> (Report, BTreeSet<T>) {
    let seen = StdMutex::new(BTreeSet::new());
    let report = checker.run(|| {
        let outcome = program();
        seen.lock().unwrap().insert(outcome);
    });
    (report, seen.into_inner().unwrap())
}

/// Returns the numbers of classes without and with the reduction, which keeps all values.
fn classes<T: Ord + Send + std::fmt::Debug>(
    memory: Memory,
    program: impl Fn() -> T + Send + Sync,
) -> [u64; 2] {
    let (full, all) = run(checker(memory), &program);
    full.assert_ok();
    assert_eq!(full.guarantee(), Guarantee::Exhaustive);
    let (report, some) = reduced(memory, &program);
    report.assert_ok();
    assert_eq!(report.guarantee(), Guarantee::Paths);
    assert!(!report.exhausted, "values were left out");
    assert_eq!(some, all);
    [full.classes(), report.classes()]
}

const BOTH: [Memory; 2] = [Memory::Sc, Memory::Rc11];

/// Of three threads that count twice each, one of the orders is left: 6! / (2! · 2! · 2!) = 90.
#[test]
fn counters_have_one_class() {
    for memory in BOTH {
        let count = classes(memory, || {
            let hits = Ignored::new(AtomicU64::new(0));
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        hits.fetch_add(1, Relaxed);
                        hits.fetch_add(1, Relaxed);
                    });
                }
            });
        });
        assert_eq!(count, [90, 1], "{memory:?}");
    }
}

/// A pool whose workers take tasks by number, and count them. Without the counter there are as many classes as with the
/// counter ignored.
#[test]
fn statistics_of_a_pool_add_no_class() {
    let pool = |counts: bool| {
        move || {
            let (next, hits) = (AtomicU32::new(0), Ignored::new(AtomicU64::new(0)));
            let taken = StdMutex::new(Vec::new());
            thread::scope(|scope| {
                for worker in 0..2 {
                    let (next, hits, taken) = (&next, &hits, &taken);
                    scope.spawn(move || {
                        while let task @ 0..2 = next.fetch_add(1, SeqCst) {
                            taken.lock().unwrap().push((task, worker));
                            if counts {
                                hits.fetch_add(1, Relaxed);
                            }
                        }
                    });
                }
            });
            let mut taken = taken.into_inner().unwrap();
            taken.sort_unstable();
            taken
        }
    };
    for memory in BOTH {
        let [full, left] = classes(memory, pool(true));
        let [without, _] = classes(memory, pool(false));
        assert_eq!(left, without, "{memory:?}");
        assert!(full > left, "{memory:?}: {full}");
    }
}

/// Store buffering in which one read is not used. The other one still has both values, under the weak model also
/// together with any order of the rest.
#[test]
fn store_buffering_with_one_unused_read() {
    for memory in BOTH {
        let program = || {
            let (x, y) = (Ignored::new(AtomicU32::new(0)), AtomicU32::new(0));
            thread::scope(|scope| {
                let first = scope.spawn(|| {
                    x.store(1, Relaxed);
                    y.load(Relaxed)
                });
                scope.spawn(|| {
                    y.store(1, Relaxed);
                    x.load(Relaxed);
                });
                first.join().unwrap()
            })
        };
        let [full, left] = classes(memory, program);
        assert_eq!((full, left), (if memory == Memory::Sc { 3 } else { 4 }, 2));
    }
}

/// What a fence orders may be read by others: three threads, of which the second would order the first before the third
/// only by the value that it reads, and fences. So the program is refused, and not explored without that order.
#[test]
fn fences_beside_ignored_values_are_refused() {
    for first in [true, false] {
        let (report, _) = reduced(Memory::Rc11, || {
            let (flag, data) = (Ignored::new(AtomicU32::new(0)), Shared::default());
            if first {
                fence(SeqCst);
            }
            flag.store(1, Relaxed);
            data.read();
            if !first {
                fence(SeqCst);
            }
        });
        let failure = &report.failures[0];
        assert_eq!(failure.kind, FailureKind::Panic);
        assert!(failure.message.contains("must have no fence"), "{failure}");
        // The search has ended, and yet there is more behind what was refused, also if the program goes on.
        assert_eq!(report.guarantee(), Guarantee::Sampled);
    }
}

/// Message passing: the flag synchronizes, though its value is not used. As an ignored value it is refused; as one that
/// is relaxed it orders nothing, and there is a race with the reduction and without.
#[test]
fn message_passing_with_an_unused_flag() {
    let program = |store: Ordering, load: Ordering| {
        move || {
            let (flag, data) = (Ignored::new(AtomicBool::new(false)), Shared::default());
            thread::scope(|scope| {
                scope.spawn(|| {
                    data.write();
                    flag.store(true, store);
                });
                scope.spawn(|| {
                    flag.load(load);
                    data.read();
                });
            });
        }
    };
    for memory in BOTH {
        let (refused, _) = reduced(memory, program(Release, Acquire));
        let failure = &refused.failures[0];
        assert_eq!(failure.kind, FailureKind::Panic, "{refused}");
        assert!(
            failure.message.contains("accessed with `Relaxed` only"),
            "{failure}"
        );
        // Without the reduction the type is the atomic.
        let (plain, _) = run(checker(memory), program(Release, Acquire));
        assert_eq!(plain.failures[0].kind, FailureKind::DataRace);
        let (racy, _) = reduced(memory, program(Relaxed, Relaxed));
        let kinds: Vec<_> = racy.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [FailureKind::DataRace], "{racy}");
        assert_eq!(racy.classes(), 1);
    }
}

/// A lock that protects only statistics still has an order of its holders: what they do before they take it happens
/// before what the next holder does.
#[test]
fn locks_keep_their_orders() {
    let count = classes(Memory::Sc, || {
        let (lock, hits) = (Mutex::new(()), Ignored::new(AtomicU64::new(0)));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let _inside = lock.lock().unwrap();
                    hits.fetch_add(1, Relaxed);
                });
            }
        });
    });
    assert_eq!(count, [6, 6]);
}

/// A loop that waits for a flag, and one that also looks at a statistic, which is not stopped while it waits: its
/// executions are too long.
#[test]
fn waiting_loops() {
    let wait = |looks: bool| {
        move || {
            let (flag, hits) = (AtomicBool::new(false), Ignored::new(AtomicU64::new(0)));
            thread::scope(|scope| {
                scope.spawn(|| {
                    hits.fetch_add(1, Relaxed);
                    flag.store(true, SeqCst);
                });
                scope.spawn(|| {
                    hits.load(Relaxed);
                    while !flag.load(SeqCst) {
                        if looks {
                            hits.load(Relaxed);
                        }
                        raddle::hint::spin_loop();
                    }
                });
            });
        }
    };
    assert_eq!(classes(Memory::Sc, wait(false)), [2, 1]);
    let (report, _) = run(
        checker(Memory::Sc)
            .reduce(Reduction::Paths)
            .max_events(2_000),
        wait(true),
    );
    assert_eq!(report.guarantee(), Guarantee::Sampled, "{report}");
}

/// Replays a failure that a reduced search has found.
#[test]
fn failures_are_replayed_with_and_without_the_reduction() {
    let program = || {
        let (hits, value) = (Ignored::new(AtomicU64::new(0)), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    hits.fetch_add(1, Relaxed);
                    value.store(value.load(SeqCst) + 1, SeqCst);
                    hits.fetch_add(1, Relaxed);
                });
            }
        });
        assert_eq!(value.into_inner(), 2, "an increment is lost");
    };
    let found = Checker::new()
        .strategy(Strategy::Exhaustive)
        .reduce(Reduction::Paths)
        .run(program);
    let schedule = found.failures[0].schedule.clone();
    for checker in [Checker::new(), Checker::new().reduce(Reduction::Paths)] {
        let report = checker
            .strategy(Strategy::Replay(schedule.clone()))
            .run(program);
        assert_eq!(report.failures[0].message, found.failures[0].message);
    }
}

/// Each wrong declaration, with the words by which it is noticed.
#[test]
fn wrong_declarations_are_failures() {
    type Case = (
        &'static str,
        fn(&Ignored<AtomicU32>, &AtomicU32),
        [&'static str; 2],
    );
    let cases: [Case; 5] = [
        (
            "a branch",
            |hits, value| {
                if hits.fetch_add(1, Relaxed) == 1 {
                    value.store(5, SeqCst);
                }
            },
            ["it depends on", "store"],
        ),
        (
            "an operand",
            |hits, value| value.store(hits.load(Relaxed), SeqCst),
            ["then: store", "with other values: store"],
        ),
        (
            "an operand of an update",
            |hits, value| {
                value.fetch_add(hits.swap(3, Relaxed), SeqCst);
            },
            ["then: fetch-add", "with other values: fetch-add"],
        ),
        (
            "an assertion",
            |hits, _| assert!(hits.fetch_add(1, Relaxed) != 1, "too many"),
            ["with other values: panics: too many", "help: "],
        ),
        (
            "a loop",
            |hits, value| {
                for _ in 0..hits.fetch_max(2, Relaxed) {
                    value.load(SeqCst);
                }
            },
            ["performs another operation", "help: "],
        ),
    ];
    for (what, access, words) in cases {
        let program = move || {
            let shared = Arc::new((Ignored::new(AtomicU32::new(0)), AtomicU32::new(0)));
            let threads = [(); 2].map(|()| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    access(&shared.0, &shared.1);
                    shared.0.fetch_or(8, Relaxed);
                })
            });
            for thread in threads {
                thread.join().unwrap();
            }
        };
        let (report, _) = reduced(Memory::Sc, program);
        let mut failures = report.failures.iter();
        let failure = failures.find(|failure| failure.kind == FailureKind::IgnoredValue);
        let failure = failure.unwrap_or_else(|| panic!("{what} is not noticed\n{report}"));
        assert!(failure.replay.is_none(), "{what}");
        assert_eq!(report.guarantee(), Guarantee::Sampled, "{what}");
        for word in words {
            assert!(failure.message.contains(word), "{what}\n{failure}");
        }
    }
}

/// Values that flow only into other ignored values decide nothing, and neither do addresses that differ from run to run.
#[test]
fn right_declarations_are_no_failures() {
    let program = || {
        let (hits, most) = (
            Ignored::new(AtomicU64::new(0)),
            Ignored::new(AtomicU64::new(0)),
        );
        let pointer = raddle::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut fresh = Box::new(0_u32);
                    pointer.store(&raw mut *fresh, SeqCst);
                    let before = hits.fetch_add(1, Relaxed);
                    most.fetch_max(before, Relaxed);
                    most.store(hits.load(Relaxed), Relaxed);
                    std::mem::forget(fresh);
                });
            }
        });
    };
    for memory in BOTH {
        let (report, _) = reduced(memory, program);
        report.assert_ok();
        assert_eq!(report.classes(), 2, "the stores of the pointer");
        assert!(
            report.runs() > report.executions,
            "no execution was run again"
        );
    }
}
