//! Memory that a thread frees while another one may still use it, although no execution of the search does: a
//! free is no operation, so the other order of the two is tried.

use std::fmt::Debug;
use std::sync::Arc as StdArc;
use std::sync::atomic::AtomicBool as StdAtomicBool;
use std::sync::atomic::Ordering::SeqCst as StdSeqCst;

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::Ordering::*;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
use raddle::sync::{
    Arc, BinarySemaphore, Condvar, Mutex, Once, OnceLock, RwLock, Semaphore, TrackedArc,
};
use raddle::{Checker, FailureKind, Guarantee, Memory, Report, Strategy, thread};

/// A pointer that threads share, whether or not they may.
struct Shared<T>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0)
    }
}

// SAFETY: the programs under test answer for their uses; executions run on one OS thread.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn new(value: T) -> Self {
        Shared(Box::into_raw(Box::new(value)))
    }

    fn get(&self) -> &T {
        // SAFETY: the memory is there, if only as that of a freed block in quarantine.
        unsafe { &*self.0 }
    }

    fn free(&self) {
        // SAFETY: each program frees it once.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// A cell that threads share.
struct SharedCell(UnsafeCell<u32>);

// SAFETY: only one thread uses it before it is freed.
unsafe impl Sync for SharedCell {}

type Program = Box<dyn Fn() + Send + Sync>;
/// The part of one thread, on a shared value.
type Part<T> = Box<dyn Fn(&Shared<T>) + Send + Sync>;

/// A kind of value and use, in programs that differ in how the free is ordered after the use.
struct Case {
    name: &'static str,
    /// Not at all.
    unordered: Program,
    /// By a count that the user gives up before its last use.
    given_up_before: Program,
    /// By a join of the user.
    joined: Program,
    /// By a count of users, of which the last frees.
    counted: Program,
    /// The same, with a fence.
    fenced: Program,
    /// By std's count, which is not controlled.
    arc: Program,
    /// By a flag of std's, which is not controlled either.
    flagged: Program,
    /// By a controlled count.
    tracked: Program,
}

impl Case {
    fn new<T: Send + Sync + 'static>(name: &'static str, make: fn() -> T, work: fn(&T)) -> Self {
        let both = |user: Part<T>, freer: Part<T>| {
            let (user, freer) = (StdArc::new(user), StdArc::new(freer));
            Box::new(move || {
                let value = Shared::new(make());
                let start = |body: &StdArc<Part<T>>| {
                    let (value, body) = (value.clone(), StdArc::clone(body));
                    thread::spawn(move || body(&value))
                };
                for thread in [start(&user), start(&freer)] {
                    thread.join().unwrap();
                }
            }) as Program
        };
        // The count is a value of its own, which lives long enough.
        let counting = |before: bool, after: bool, fenced: bool| {
            Box::new(move || {
                let value = Shared::new(make());
                let count = Arc::new(AtomicUsize::new(2));
                let threads = [true, false].map(|uses| {
                    let (value, count) = (value.clone(), Arc::clone(&count));
                    thread::spawn(move || {
                        if uses && !before {
                            work(value.get());
                        }
                        let ordering = if fenced { Release } else { AcqRel };
                        let is_last = count.fetch_sub(1, ordering) == 1;
                        if uses && before && !is_last {
                            work(value.get());
                        }
                        if is_last && (after || !uses) {
                            if fenced {
                                fence(Acquire);
                            }
                            value.free();
                        }
                    })
                });
                for thread in threads {
                    thread.join().unwrap();
                }
            }) as Program
        };
        Case {
            name,
            unordered: both(
                Box::new(move |value| work(value.get())),
                Box::new(|value| value.free()),
            ),
            given_up_before: counting(true, true, false),
            joined: Box::new(move || {
                let value = Shared::new(make());
                let user = value.clone();
                thread::spawn(move || work(user.get())).join().unwrap();
                thread::spawn(move || value.free()).join().unwrap();
            }),
            counted: counting(false, true, false),
            fenced: counting(false, true, true),
            arc: Box::new(move || {
                let mine = StdArc::new(make());
                let other = StdArc::clone(&mine);
                let user = thread::spawn(move || work(&other));
                let freer = thread::spawn(move || drop(mine));
                user.join().unwrap();
                freer.join().unwrap();
            }),
            flagged: Box::new(move || {
                let (value, done) = (Shared::new(make()), StdArc::new(StdAtomicBool::new(false)));
                let (user, set) = (value.clone(), StdArc::clone(&done));
                let user = thread::spawn(move || {
                    work(user.get());
                    set.store(true, StdSeqCst);
                });
                let freer = thread::spawn(move || {
                    if done.load(StdSeqCst) {
                        value.free();
                    }
                });
                user.join().unwrap();
                freer.join().unwrap();
            }),
            tracked: Box::new(move || {
                let mine = TrackedArc::new(make());
                let other = TrackedArc::clone(&mine);
                let user = thread::spawn(move || work(&other));
                let freer = thread::spawn(move || drop(mine));
                user.join().unwrap();
                freer.join().unwrap();
            }),
        }
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case::new("load", || AtomicU32::new(0), |it| _ = it.load(SeqCst)),
        Case::new(
            "relaxed load",
            || AtomicU64::new(0),
            |it| _ = it.load(Relaxed),
        ),
        Case::new("store", || AtomicU32::new(0), |it| it.store(1, Release)),
        Case::new(
            "update",
            || AtomicUsize::new(0),
            |it| _ = it.fetch_add(1, AcqRel),
        ),
        Case::new(
            "exchange",
            || AtomicBool::new(false),
            |it| _ = it.swap(true, SeqCst),
        ),
        Case::new(
            "compare-exchange",
            || AtomicU32::new(0),
            |it| {
                _ = it.compare_exchange(0, 1, SeqCst, Relaxed);
            },
        ),
        Case::new(
            "failing compare-exchange",
            || AtomicU32::new(0),
            |it| {
                _ = it.compare_exchange(3, 1, SeqCst, Relaxed);
            },
        ),
        Case::new(
            "pointer",
            || AtomicPtr::<u8>::new(std::ptr::null_mut()),
            |it| {
                _ = it.load(Acquire);
            },
        ),
        Case::new(
            "second field",
            || (1_u32, AtomicU32::new(0)),
            |it| _ = it.1.load(SeqCst),
        ),
        Case::new(
            "array",
            || [const { AtomicU32::new(0) }; 8],
            |it| _ = it[5].load(SeqCst),
        ),
        Case::new("lock", || Mutex::new(0), |it| drop(it.lock())),
        Case::new("try_lock", || Mutex::new(0), |it| drop(it.try_lock())),
        Case::new("read lock", || RwLock::new(0), |it| drop(it.read())),
        Case::new("write lock", || RwLock::new(0), |it| drop(it.write())),
        Case::new("notify_one", Condvar::new, Condvar::notify_one),
        Case::new("notify_all", Condvar::new, Condvar::notify_all),
        Case::new("release", || Semaphore::new(0), Semaphore::release),
        Case::new("acquire", || Semaphore::new(1), Semaphore::acquire),
        Case::new(
            "binary acquire",
            || BinarySemaphore::new(true),
            BinarySemaphore::acquire,
        ),
        Case::new("call_once", Once::new, |it| it.call_once(|| ())),
        Case::new("get_or_init", OnceLock::<u32>::new, |it| {
            _ = it.get_or_init(|| 1)
        }),
        Case::new(
            "cell",
            || SharedCell(UnsafeCell::new(1)),
            |it| it.0.with(|_| ()),
        ),
        Case::new(
            "written cell",
            || SharedCell(UnsafeCell::new(1)),
            |it| it.0.with_mut(|_| ()),
        ),
    ]
}

fn exhaustive(program: &Program) -> Report {
    Checker::new().strategy(Strategy::Exhaustive).run(program)
}

fn assert_found(report: &Report, what: &dyn Debug, program: &Program) {
    assert_eq!(report.failures.len(), 1, "{what:?}: {report}");
    let failure = &report.failures[0];
    assert_eq!(
        failure.kind,
        FailureKind::UseAfterFree,
        "{what:?}: {failure}"
    );
    // The same again, from the schedule.
    let replay = Strategy::Replay(failure.schedule.clone());
    let again = Checker::new().strategy(replay).run(program);
    assert_eq!(again.failures[0].message, failure.message, "{what:?}");
}

fn assert_clean(program: &Program, what: &dyn Debug) {
    let report = exhaustive(program);
    assert!(report.failures.is_empty(), "{what:?}: {report}");
    assert_eq!(report.guarantee(), Guarantee::Exhaustive, "{what:?}");
    assert_eq!(report.executions, report.classes(), "{what:?}");
}

#[test]
fn a_free_that_nothing_orders_after_the_use_is_found() {
    let cases = cases();
    assert_eq!(cases.len(), 23);
    for Case {
        name, unordered, ..
    } in &cases
    {
        assert_found(&exhaustive(unordered), name, unordered);
    }
}

#[test]
fn a_count_that_is_given_up_before_the_last_use_is_found() {
    for Case {
        name,
        given_up_before,
        ..
    } in &cases()
    {
        // An access of a cell is no scheduling point, so it comes with the operation before it.
        match name.contains("cell") {
            true => assert_clean(given_up_before, name),
            false => assert_found(&exhaustive(given_up_before), name, given_up_before),
        }
    }
}

#[test]
fn what_is_ordered_is_not_reported() {
    for case in &cases() {
        assert_clean(&case.joined, &(case.name, "joined"));
        assert_clean(&case.counted, &(case.name, "counted"));
        assert_clean(&case.fenced, &(case.name, "fenced"));
        assert_clean(&case.tracked, &(case.name, "tracked"));
    }
}

/// Counts that are not controlled keep the memory when the other order is tried.
#[test]
fn what_std_orders_is_not_reported() {
    for case in &cases() {
        assert_clean(&case.arc, &(case.name, "arc"));
        assert_clean(&case.flagged, &(case.name, "flagged"));
    }
}

#[test]
fn other_strategies_and_several_workers_find_it_too() {
    let cases = cases();
    let program = &cases[0].unordered;
    for checker in [
        Checker::new(),
        Checker::new().strategy(Strategy::Exhaustive).workers(2),
        Checker::new()
            .strategy(Strategy::Exhaustive)
            .memory(Memory::Sc),
        Checker::new()
            .strategy(Strategy::Exhaustive)
            .keep_going(true),
    ] {
        assert_found(&checker.run(program), &"settings", program);
    }
}

#[test]
fn the_message_has_both_sides() {
    let report = exhaustive(&cases()[0].unordered);
    let message = &report.failures[0].message;
    assert!(
        message.starts_with("main.1 uses an atomic variable at tests/tests/freed_early.rs:"),
        "{message}"
    );
    assert!(message.contains("it was freed by main.2"), "{message}");
}

/// A check that does not shorten runs only the executions of the search.
#[test]
fn without_shortening_the_other_order_is_not_tried() {
    let checker = Checker::new().strategy(Strategy::Exhaustive).shorten(false);
    let report = checker.run(&cases()[0].unordered);
    assert_eq!((report.failures.len(), report.executions), (0, 1));
}
