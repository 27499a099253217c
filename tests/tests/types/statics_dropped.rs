//! What becomes of the statics of an execution when it is over.

use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize as StdAtomicUsize, Ordering};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{LazyLock, Mutex, OnceLock, RwLock};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::child::ignored_test;
use raddle_tests::{classes, exhaust, test_name};

/// Runs the program `n` times.
fn executions(n: u32, program: impl Fn() + Send + Sync) {
    let count = classes(|| {
        raddle::choose(0..n);
        program();
    });
    assert_eq!(count, u64::from(n));
}

/// Counts how often it is made and dropped.
struct Counted(&'static StdAtomicUsize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn data_is_dropped_once_in_every_execution() {
    static DROPS: StdAtomicUsize = StdAtomicUsize::new(0);
    static BUILT: Mutex<Counted> = Mutex::new(Counted(&DROPS));
    static FILLED: RwLock<Vec<Counted>> = RwLock::new(Vec::new());
    static MADE: LazyLock<Counted> = LazyLock::new(|| Counted(&DROPS));
    static EMPTY: OnceLock<Counted> = OnceLock::new();
    executions(10, || {
        assert_eq!(
            DROPS.load(Ordering::Relaxed) % 4,
            0,
            "nothing before the end"
        );
        drop(BUILT.lock().unwrap());
        FILLED
            .write()
            .unwrap()
            .extend([Counted(&DROPS), Counted(&DROPS)]);
        LazyLock::force(&MADE);
        assert_eq!(DROPS.load(Ordering::Relaxed) % 4, 0);
        assert!(EMPTY.get().is_none());
    });
    // One in `BUILT`, two in `FILLED`, one in `MADE`.
    assert_eq!(DROPS.load(Ordering::Relaxed), 40);
}

#[test]
fn destructors_may_use_everything() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    static COUNT: AtomicU32 = AtomicU32::new(0);
    static SEEN: StdMutex<Vec<(u32, u32)>> = StdMutex::new(Vec::new());
    static CONFIGURATION: LazyLock<String> = LazyLock::new(|| "kept".into());
    static POOL: LazyLock<Pool> = LazyLock::new(|| Pool(&CONFIGURATION));
    struct Pool(&'static str);
    impl Drop for Pool {
        fn drop(&mut self) {
            assert_eq!(self.0, "kept", "made before, so dropped after");
            *LOCK.lock().unwrap() += 1;
            let seen = (*LOCK.lock().unwrap(), COUNT.fetch_add(1, SeqCst));
            thread::spawn(|| unreachable!("nothing is started any more"));
            SEEN.lock().unwrap().push(seen);
        }
    }
    executions(2, || {
        *LOCK.lock().unwrap() = 10;
        COUNT.store(20, SeqCst);
        assert_eq!(POOL.0, "kept");
    });
    assert_eq!(*SEEN.lock().unwrap(), [(11, 20), (11, 20)]);
}

#[test]
fn a_destructor_may_use_a_static_that_is_gone() {
    static ROUNDS: StdAtomicUsize = StdAtomicUsize::new(0);
    static LIST: Mutex<Vec<Pusher>> = Mutex::new(Vec::new());
    struct Pusher;
    impl Drop for Pusher {
        fn drop(&mut self) {
            let round = ROUNDS.fetch_add(1, Ordering::Relaxed);
            let mut list = LIST.lock().unwrap();
            assert!(list.is_empty(), "made anew");
            if round % 3 != 2 {
                list.push(Pusher);
            }
        }
    }
    executions(2, || LIST.lock().unwrap().push(Pusher));
    assert_eq!(ROUNDS.load(Ordering::Relaxed), 6);
}

#[test]
fn a_panic_of_a_destructor_is_a_failure() {
    static LIST: Mutex<Vec<Panics>> = Mutex::new(Vec::new());
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("not to be dropped");
        }
    }
    let report = exhaust(|| {
        if raddle::any() {
            LIST.lock().unwrap().push(Panics);
        }
    });
    assert_eq!((report.classes(), report.failures.len()), (2, 1));
    assert_eq!(report.failures[0].kind, FailureKind::Panic);
    assert!(report.failures[0].message.contains("not to be dropped"));
}

#[test]
fn executions_that_stop_early_leave_nothing_behind() {
    static DROPS: StdAtomicUsize = StdAtomicUsize::new(0);
    static LOCK: Mutex<Vec<Counted>> = Mutex::new(Vec::new());
    let report = exhaust(|| {
        let mut guard = LOCK.lock().unwrap();
        assert!(guard.is_empty());
        guard.push(Counted(&DROPS));
        match raddle::choose(0..3) {
            0 => drop(LOCK.lock()),
            1 => raddle::assume(false),
            _ => {}
        }
    });
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    assert_eq!((report.executions, report.discarded), (2, 1));
    assert_eq!(DROPS.load(Ordering::Relaxed), 3);
}

#[test]
fn a_guard_that_is_kept_keeps_its_data() {
    static DROPS: StdAtomicUsize = StdAtomicUsize::new(0);
    static LOCK: Mutex<Vec<Counted>> = Mutex::new(Vec::new());
    static KEPT: StdMutex<Vec<&'static Counted>> = StdMutex::new(Vec::new());
    executions(3, || {
        let guard = Box::leak(Box::new(LOCK.lock().unwrap()));
        assert!(guard.is_empty());
        guard.push(Counted(&DROPS));
        KEPT.lock().unwrap().push(&guard[0]);
    });
    assert_eq!(DROPS.load(Ordering::Relaxed), 0);
    assert_eq!(KEPT.lock().unwrap().len(), 3);
    assert!(LOCK.lock().unwrap().is_empty());
}

/// Resident memory of the process, in kilobytes.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Runs in a process of its own: the other tests of this binary have executions of a hundred megabytes.
#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow() {
    let mut child = ignored_test(&test_name!("memory_of_many_executions"));
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by memory_does_not_grow"]
#[cfg(target_os = "linux")]
fn memory_of_many_executions() {
    static LIST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    static CELL: OnceLock<Vec<u8>> = OnceLock::new();
    static LAZY: LazyLock<[u64; 64]> = LazyLock::new(|| [COUNT.load(SeqCst); 64]);
    static COUNT: raddle::sync::atomic::AtomicU64 = raddle::sync::atomic::AtomicU64::new(1);
    let run = |executions: u64| {
        let report = Checker::new()
            .strategy(Strategy::Random)
            .max_executions(executions)
            .max_time(std::time::Duration::from_secs(600))
            .run(|| {
                LIST.lock().unwrap().resize(1_000, 1);
                CELL.get_or_init(|| vec![1; 1_000]);
                assert_eq!(LAZY[63], 1);
            });
        report.assert_ok();
        assert_eq!(report.executions, executions);
    };
    run(1_000);
    let before = resident();
    run(100_000);
    // One kilobyte for each execution would be a hundred megabytes.
    assert!(
        resident() < before + 10_000,
        "{before} became {}",
        resident()
    );
}

#[test]
fn a_destructor_that_waits_for_ever_is_given_up() {
    static HELD: Mutex<u32> = Mutex::new(0);
    static LIST: Mutex<Vec<Waits>> = Mutex::new(Vec::new());
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            let held = HELD.lock();
            unreachable!("{held:?}");
        }
    }
    executions(3, || {
        std::mem::forget(HELD.lock().unwrap());
        let mut list = LIST.lock().unwrap();
        assert!(list.is_empty());
        list.push(Waits);
    });
}
