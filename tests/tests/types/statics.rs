//! Statics: every execution has its own, and code outside a check does not notice.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicBool as StdAtomicBool, Ordering};

use raddle::monitor::{Condition, Discipline, Monitor};
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{
    Arc, Barrier, BinarySemaphore, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore,
};
use raddle::{Checker, Schedule, Strategy, thread};
use raddle_engine::ClassEntry;
use raddle_tests::programs::run_threads;
use raddle_tests::{classes, executions, exhaust_undisturbed};

#[test]
fn a_mutex_starts_every_execution_with_its_initial_data() {
    static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    LIST.lock().unwrap().push(7);
    executions(3, || {
        let mut list = LIST.lock().unwrap();
        assert!(list.is_empty());
        list.push(1);
        drop(list);
        assert_eq!(*LIST.try_lock().unwrap(), [1]);
        assert_eq!(
            format!("{LIST:?}"),
            "Mutex { data: [1], poisoned: false, .. }"
        );
    });
    assert_eq!(*LIST.lock().unwrap(), [7], "outside nothing has changed");
}

#[test]
fn a_rwlock_starts_every_execution_with_its_initial_data() {
    static NAME: RwLock<Option<String>> = RwLock::new(None);
    *NAME.write().unwrap() = Some("outside".into());
    executions(3, || {
        assert_eq!(*NAME.read().unwrap(), None);
        *NAME.write().unwrap() = Some("inside".into());
        assert_eq!(NAME.try_read().unwrap().as_deref(), Some("inside"));
        NAME.try_write().unwrap().take();
    });
    assert_eq!(NAME.read().unwrap().as_deref(), Some("outside"));
}

#[test]
fn atomics_start_every_execution_with_their_initial_value() {
    static COUNT: AtomicUsize = AtomicUsize::new(5);
    static FLAG: AtomicBool = AtomicBool::new(false);
    static POINTER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    COUNT.store(6, SeqCst);
    FLAG.store(true, SeqCst);
    POINTER.store(&raw mut *Box::leak(Box::new(1)), SeqCst);
    executions(3, || {
        assert_eq!(COUNT.fetch_add(1, SeqCst), 5);
        assert_eq!(COUNT.load(SeqCst), 6);
        assert!(!FLAG.swap(true, SeqCst));
        assert!(POINTER.load(SeqCst).is_null());
    });
    assert_eq!((COUNT.load(SeqCst), FLAG.load(SeqCst)), (6, true));
    assert!(!POINTER.load(SeqCst).is_null());
}

#[test]
fn what_is_done_once_is_done_once_in_every_execution() {
    static DONE: Once = Once::new();
    static CELL: OnceLock<String> = OnceLock::new();
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![raddle::choose(0..3_u32)]);
    DONE.call_once(|| {});
    CELL.set("outside".into()).unwrap();
    let seen = StdMutex::new(BTreeSet::new());
    let count = classes(|| {
        assert!(!DONE.is_completed());
        DONE.call_once(|| {});
        assert_eq!(CELL.get(), None);
        assert_eq!(format!("{LAZY:?}"), "LazyLock(<uninit>)");
        let borrowed: &'static str = CELL.get_or_init(|| LAZY[0].to_string());
        assert_eq!(borrowed, format!("{}", LAZY[0]));
        assert_eq!(CELL.set("again".into()), Err("again".into()));
        assert!(DONE.is_completed());
        seen.lock().unwrap().insert(LAZY.clone());
    });
    assert_eq!(count, 3);
    assert_eq!(
        seen.into_inner().unwrap(),
        [0, 1, 2].map(|n| vec![n]).into()
    );
    assert_eq!(CELL.get().unwrap(), "outside");
    assert_eq!(
        format!("{LAZY:?}"),
        "LazyLock(<uninit>)",
        "never forced outside"
    );
}

#[test]
fn semaphores_start_every_execution_with_their_initial_permits() {
    static PERMITS: Semaphore = Semaphore::new(2);
    static TURN: BinarySemaphore = BinarySemaphore::new(true);
    PERMITS.acquire();
    TURN.acquire();
    executions(3, || {
        PERMITS.acquire();
        PERMITS.acquire();
        assert!(!PERMITS.try_acquire());
        assert!(TURN.try_acquire() && !TURN.try_acquire());
    });
    assert!(PERMITS.try_acquire() && !PERMITS.try_acquire());
}

#[test]
fn a_monitor_starts_every_execution_with_its_initial_data_and_conditions() {
    static QUEUE: Monitor<Vec<u32>> = Monitor::new(Discipline::SignalUrgent, Vec::new());
    let outside: [Condition; 2] = [QUEUE.condition(), QUEUE.condition()];
    QUEUE.enter().push(1);
    executions(3, || {
        assert_eq!(QUEUE.condition(), outside[0]);
        let mut inside = QUEUE.enter();
        assert!(inside.is_empty());
        inside.push(2);
    });
    assert_eq!(*QUEUE.enter(), [1]);
}

#[test]
fn poison_lasts_for_one_execution() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    static SHARED: RwLock<u32> = RwLock::new(0);
    static LAZY: LazyLock<u32> = LazyLock::new(|| panic!("always"));
    executions(3, || {
        assert!(!LOCK.is_poisoned() && !SHARED.is_poisoned());
        let poisoner = thread::spawn(|| {
            let _both = (LOCK.lock().unwrap(), SHARED.write().unwrap());
            panic!("with both");
        });
        assert!(poisoner.join().is_err());
        assert!(LOCK.lock().is_err() && SHARED.read().is_err());
        assert!(thread::spawn(|| *LAZY).join().is_err());
        LOCK.clear_poison();
        assert!(!LOCK.is_poisoned());
    });
    assert!(!LOCK.is_poisoned() && !SHARED.is_poisoned());
}

#[test]
fn there_are_as_many_classes_as_with_locals() {
    static COUNT: Mutex<usize> = Mutex::new(0);
    static RACY: AtomicUsize = AtomicUsize::new(0);
    // One class for each order of the lock: 6! / 2!^3.
    let counted = classes(|| {
        run_threads(3, |_| {
            for _ in 0..2 {
                *COUNT.lock().unwrap() += 1;
            }
        });
        assert_eq!(*COUNT.lock().unwrap(), 6);
    });
    assert_eq!(counted, 90);
    // As many as `counts.rs` has for a local.
    let racy = classes(|| {
        run_threads(2, |_| {
            for _ in 0..2 {
                RACY.store(RACY.load(SeqCst) + 1, SeqCst);
            }
        });
    });
    assert_eq!(racy, 34);
}

#[test]
fn a_static_condvar_is_the_same_as_a_local_one() {
    static READY: Mutex<bool> = Mutex::new(false);
    static CHANGED: Condvar = Condvar::new();
    fn program(ready: &Mutex<bool>, changed: &Condvar) {
        thread::scope(|scope| {
            scope.spawn(|| {
                *ready.lock().unwrap() = true;
                changed.notify_one();
            });
            let guard = ready.lock().unwrap();
            let guard = changed.wait_while(guard, |ready| !*ready).unwrap();
            assert!(*guard);
        });
    }
    let with_statics = exhaust_undisturbed(|| program(&READY, &CHANGED));
    let with_locals = exhaust_undisturbed(|| program(&Mutex::new(false), &Condvar::new()));
    with_statics.assert_ok();
    assert_eq!(with_statics.classes(), with_locals.classes());
}

struct Parts {
    first: Mutex<u32>,
    second: AtomicU32,
    rest: [Mutex<Vec<u32>>; 2],
}

#[test]
fn structures_and_arrays_are_virtual_part_by_part() {
    static PARTS: Parts = Parts {
        first: Mutex::new(1),
        second: AtomicU32::new(2),
        rest: [const { Mutex::new(Vec::new()) }; 2],
    };
    PARTS.rest[1].lock().unwrap().push(9);
    executions(3, || {
        assert_eq!(*PARTS.first.lock().unwrap(), 1);
        *PARTS.first.lock().unwrap() += 10;
        assert_eq!(PARTS.second.fetch_add(1, SeqCst), 2);
        for (number, part) in (0..).zip(&PARTS.rest) {
            assert!(part.lock().unwrap().is_empty());
            part.lock().unwrap().push(number);
        }
        assert_eq!(*PARTS.rest[1].lock().unwrap(), [1]);
    });
    assert_eq!(*PARTS.rest[1].lock().unwrap(), [9]);
}

#[test]
fn what_is_inside_a_static_is_its_own_in_every_execution() {
    static OUTER: Mutex<(Mutex<u32>, AtomicU32)> = Mutex::new((Mutex::new(1), AtomicU32::new(2)));
    static SHARED: OnceLock<Arc<Mutex<u32>>> = OnceLock::new();
    executions(3, || {
        let outer = OUTER.lock().unwrap();
        *outer.0.lock().unwrap() += 1;
        assert_eq!((*outer.0.lock().unwrap(), outer.1.swap(5, SeqCst)), (2, 2));
        assert_eq!(outer.1.load(SeqCst), 5);
        let shared = Arc::clone(SHARED.get_or_init(Arc::default));
        thread::spawn(move || *shared.lock().unwrap() += 1)
            .join()
            .unwrap();
        assert_eq!(*SHARED.get().unwrap().lock().unwrap(), 1);
    });
    let outer = OUTER.lock().unwrap();
    assert_eq!((*outer.0.lock().unwrap(), outer.1.load(SeqCst)), (1, 2));
    assert!(SHARED.get().is_none());
}

#[test]
fn a_static_can_be_seen_as_unsized() {
    static BYTES: Mutex<[u8; 4]> = Mutex::new([1, 2, 3, 4]);
    static ANY: RwLock<Vec<u8>> = RwLock::new(Vec::new());
    executions(3, || {
        let slice: &'static Mutex<[u8]> = &BYTES;
        slice.lock().unwrap().reverse();
        assert_eq!(*BYTES.lock().unwrap(), [4, 3, 2, 1]);
        let text: &'static RwLock<dyn std::fmt::Debug + Send + Sync> = &ANY;
        assert_eq!(format!("{:?}", &*text.read().unwrap()), "[]");
        ANY.write().unwrap().push(1);
        assert_eq!(format!("{:?}", &*text.read().unwrap()), "[1]");
    });
}

#[test]
fn what_the_program_puts_into_a_static_of_its_own_making_is_no_static() {
    // Not built by the compiler, though it is where statics are: copying its bytes would free the
    // vector twice.
    static LATE: std::sync::OnceLock<Mutex<Vec<u32>>> = std::sync::OnceLock::new();
    static CELL: OnceLock<Mutex<Vec<u32>>> = OnceLock::new();
    let late = LATE.get_or_init(|| Mutex::new(vec![0]));
    let inner = CELL.get_or_init(|| Mutex::new(vec![0]));
    executions(3, || {
        late.lock().unwrap().push(1);
        inner.lock().unwrap().push(1);
    });
    assert_eq!(
        *late.lock().unwrap(),
        [0, 1, 1, 1],
        "as if it were captured"
    );
    assert_eq!(*inner.lock().unwrap(), [0, 1, 1, 1]);
}

#[test]
fn checks_side_by_side_do_not_meet_in_a_static() {
    static LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static LAZY: LazyLock<String> = LazyLock::new(|| COUNT.load(SeqCst).to_string());
    let stop = StdAtomicBool::new(false);
    std::thread::scope(|scope| {
        let checks: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    classes(|| {
                        run_threads(3, |number| {
                            COUNT.fetch_add(1, SeqCst);
                            LIST.lock().unwrap().push(number);
                        });
                        assert_eq!(LIST.lock().unwrap().len(), 3);
                        assert_eq!(*LAZY, "3");
                    })
                })
            })
            .collect();
        // Beside them a thread outside any check that uses the same statics.
        let beside = scope.spawn(|| {
            let mut pushed = 0;
            while !stop.load(Ordering::Relaxed) {
                COUNT.fetch_add(1, SeqCst);
                LIST.lock().unwrap().push(0);
                pushed += 1;
            }
            pushed
        });
        // The orders of three increments times those of three pushes that some run has.
        let counts: Vec<u64> = checks
            .into_iter()
            .map(|check| check.join().unwrap())
            .collect();
        stop.store(true, Ordering::Relaxed);
        let pushed = beside.join().unwrap();
        assert_eq!(counts, [36, 36]);
        assert_eq!(LIST.lock().unwrap().len(), pushed);
        assert_eq!(COUNT.load(SeqCst), pushed);
    });
}

#[test]
fn a_failure_is_replayed() {
    static BALANCE: Mutex<u32> = Mutex::new(1);
    static LOG: OnceLock<String> = OnceLock::new();
    fn program() {
        run_threads(2, |number| {
            LOG.get_or_init(|| number.to_string());
            let enough = *BALANCE.lock().unwrap() > 0;
            if enough {
                let mut balance = BALANCE.lock().unwrap();
                *balance = balance.checked_sub(1).expect("overdrawn");
            }
        });
    }
    BALANCE.lock().unwrap().clone_from(&100);
    let report = Checker::new().strategy(Strategy::Exhaustive).run(program);
    assert_eq!(report.failures.len(), 1);
    assert!(report.failures[0].message.contains("overdrawn"));
    let schedule: Schedule = report.failures[0].schedule.to_string().parse().unwrap();
    let again = Checker::new()
        .strategy(Strategy::Replay(schedule))
        .run(program);
    assert_eq!(again.failures[0].message, report.failures[0].message);
}

/// Everything that threads can share, as a static or not.
struct Everything {
    lock: Mutex<Vec<usize>>,
    shared: RwLock<usize>,
    changed: Condvar,
    both: Barrier,
    once: Once,
    cell: OnceLock<usize>,
    permits: Semaphore,
    turn: BinarySemaphore,
    monitor: Monitor<usize>,
    count: AtomicUsize,
}

impl Everything {
    const fn new() -> Self {
        Everything {
            lock: Mutex::new(Vec::new()),
            shared: RwLock::new(0),
            changed: Condvar::new(),
            both: Barrier::new(2),
            once: Once::new(),
            cell: OnceLock::new(),
            permits: Semaphore::new(1),
            turn: BinarySemaphore::new(false),
            monitor: Monitor::new(Discipline::SignalContinue, 0),
            count: AtomicUsize::new(0),
        }
    }
}

/// What two threads can do with it, each with its number.
const USES: [fn(&Everything, usize); 6] = [
    |all, number| {
        let mut list = all.lock.lock().unwrap();
        list.push(number);
        all.changed.notify_all();
        drop(all.changed.wait_while(list, |list| list.len() < 2));
    },
    |all, number| {
        let seen = *all.shared.read().unwrap();
        *all.shared.write().unwrap() += seen + number;
    },
    |all, _| {
        if all.both.wait().is_leader() {
            all.count.fetch_add(1, SeqCst);
        }
        all.count.load(SeqCst);
    },
    |all, number| {
        all.once.call_once(|| all.count.store(number, SeqCst));
        assert!(*all.cell.get_or_init(|| number) < 2);
    },
    |all, number| {
        all.permits.acquire();
        all.count.store(all.count.load(SeqCst) + number, SeqCst);
        all.permits.release();
    },
    |all, number| match number {
        0 => all.turn.release(),
        _ => {
            all.turn.acquire();
            *all.monitor.enter() += 1;
        }
    },
];

/// The classes of a program.
fn observed(strategy: Strategy, program: impl Fn() + Send + Sync) -> BTreeSet<Vec<ClassEntry>> {
    let mut seen = BTreeSet::new();
    let checker = Checker::new().strategy(strategy);
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        seen.insert(execution.class());
    });
    report.assert_ok();
    assert!(report.exhausted);
    seen
}

#[test]
fn statics_have_the_classes_of_locals_and_of_brute_force() {
    static ALL: Everything = Everything::new();
    for use_it in USES {
        // Outside, so that the static is not what it was.
        if !ALL.once.is_completed() {
            ALL.once.call_once(|| {});
            ALL.lock.lock().unwrap().push(3);
            ALL.count.store(7, SeqCst);
            ALL.permits.acquire();
        }
        let with_static = || run_threads(2, move |number| use_it(&ALL, number));
        let with_local = || {
            let all = Arc::new(Everything::new());
            run_threads(2, move |number| use_it(&all, number));
        };
        let classes = observed(Strategy::Exhaustive, with_static);
        assert_eq!(classes, observed(Strategy::Exhaustive, with_local));
        assert_eq!(classes, observed(Strategy::Enumerate, with_static));
    }
}
