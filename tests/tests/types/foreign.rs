//! Threads that the check does not control: a use of a value of the check by one is a failure, and a
//! check in which they take part never claims every behaviour.

use std::sync::mpsc as std_mpsc;
use std::sync::{Arc, Mutex as StdMutex};

use raddle::cell::UnsafeCell;
use raddle::monitor::{Discipline, Monitor};
use raddle::port::Port;
use raddle::sync::atomic::*;
use raddle::sync::mpsc;
use raddle::sync::{
    Barrier, BinarySemaphore, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore,
    TrackedArc,
};
use raddle::{Checker, FailureKind, Guarantee, Report, Strategy, thread};

fn checker() -> Checker {
    Checker::new().strategy(Strategy::Exhaustive)
}

/// Who uses the value first.
#[derive(Clone, Copy, PartialEq, Debug)]
enum First {
    Controlled,
    Foreign,
}

/// The life of the foreign thread.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Life {
    /// It is joined in the same execution.
    Joined,
    /// It outlives its execution, and uses the value in the next one.
    Outlives,
}

/// Runs `work` in a thread that the check does not control.
fn start(work: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    let thread = std::thread::Builder::new().name("intruder".to_owned());
    thread.spawn(work).unwrap()
}

/// A foreign thread of the last execution, and how to let it go on.
type Left = StdMutex<Option<(std_mpsc::Sender<()>, std::thread::JoinHandle<()>)>>;

/// The body of a check with a foreign thread. Its result is ignored, as a careless test does.
fn body(
    first: First,
    life: Life,
    left: &Left,
    controlled: impl Fn(),
    foreign: impl FnOnce() + Send + 'static,
) {
    if first == First::Controlled {
        controlled();
    }
    match life {
        Life::Joined => _ = start(foreign).join(),
        Life::Outlives => {
            // Two executions or more.
            raddle::choose(0..3);
            let earlier = left.lock().unwrap().take();
            if let Some((go, thread)) = earlier {
                go.send(()).unwrap();
                _ = thread.join();
            }
            let (go, wait) = std_mpsc::channel();
            let thread = start(move || {
                if wait.recv().is_ok() {
                    foreign();
                }
            });
            *left.lock().unwrap() = Some((go, thread));
        }
    }
    if first == First::Foreign {
        controlled();
    }
}

fn assert_refused(name: &str, report: &Report) {
    let Some(failure) = report.failures.first() else {
        panic!("{name}: {report}");
    };
    assert_eq!(failure.kind, FailureKind::Uncontrolled, "{name}: {report}");
    let message = &failure.message;
    for part in [
        "thread `intruder`, which the check does not control, uses ",
        "help: start the thread inside the check, with `raddle::thread::spawn`",
    ] {
        assert!(message.contains(part), "{name}: {message}");
    }
    // Where the foreign thread used the value, and where the check used it or made it.
    let places = message.matches("tests/tests/types/foreign.rs:").count();
    assert!(places >= 2, "{name}: {message}");
    assert!(failure.marks.len() >= 2, "{name}: {:?}", failure.marks);
    assert!(!report.exhausted, "{name}");
    assert_eq!(report.guarantee(), Guarantee::Sampled, "{name}");
}

/// A cell that threads share.
struct Shared(UnsafeCell<u32>);
// SAFETY: the tests look for the failure, and read the value only.
unsafe impl Sync for Shared {}

macro_rules! cases {
    ($($name:ident: $type:ty = $new:expr, $use_it:expr;)*) => {
        const CASES: &[(&str, fn(First, Life, &Left), fn(First, Life, &Left))] = &[$(
            (
                stringify!($name),
                |first, life, left| {
                    let use_it: fn(&$type) = $use_it;
                    let value: Arc<$type> = Arc::new($new);
                    let other = Arc::clone(&value);
                    body(first, life, left, || use_it(&value), move || use_it(&other));
                },
                |first, life, left| {
                    static VALUE: $type = $new;
                    let use_it: fn(&$type) = $use_it;
                    body(first, life, left, || use_it(&VALUE), move || use_it(&VALUE));
                },
            ),
        )*];
    };
}

cases! {
    atomic_bool: AtomicBool = AtomicBool::new(false), |it| it.store(true, Ordering::Relaxed);
    atomic_u8: AtomicU8 = AtomicU8::new(0), |it| _ = it.load(Ordering::Acquire);
    atomic_u16: AtomicU16 = AtomicU16::new(0), |it| _ = it.swap(1, Ordering::AcqRel);
    atomic_u32: AtomicU32 = AtomicU32::new(0), |it| _ = it.fetch_add(1, Ordering::SeqCst);
    atomic_u64: AtomicU64 = AtomicU64::new(0), |it| _ = it.fetch_max(1, Ordering::Relaxed);
    atomic_usize: AtomicUsize = AtomicUsize::new(0),
        |it| _ = it.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst);
    atomic_i8: AtomicI8 = AtomicI8::new(0),
        |it| _ = it.compare_exchange_weak(0, 1, Ordering::SeqCst, Ordering::SeqCst);
    atomic_i16: AtomicI16 = AtomicI16::new(0),
        |it| _ = it.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(old + 1));
    atomic_i32: AtomicI32 = AtomicI32::new(0), |it| _ = it.fetch_xor(1, Ordering::SeqCst);
    atomic_i64: AtomicI64 = AtomicI64::new(0), |it| _ = it.fetch_min(1, Ordering::SeqCst);
    atomic_isize: AtomicIsize = AtomicIsize::new(0), |it| _ = it.fetch_sub(1, Ordering::SeqCst);
    atomic_ptr: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut()),
        |it| it.store(std::ptr::null_mut(), Ordering::SeqCst);
    mutex: Mutex<u32> = Mutex::new(0), |it| *it.lock().unwrap() += 1;
    mutex_try: Mutex<u32> = Mutex::new(0), |it| _ = it.try_lock().map(|guard| *guard);
    mutex_poison: Mutex<u32> = Mutex::new(0), |it| _ = it.is_poisoned();
    mutex_clear: Mutex<u32> = Mutex::new(0), |it| it.clear_poison();
    rwlock_read: RwLock<u32> = RwLock::new(0), |it| _ = *it.read().unwrap();
    rwlock_write: RwLock<u32> = RwLock::new(0), |it| *it.write().unwrap() = 1;
    rwlock_try: RwLock<u32> = RwLock::new(0), |it| _ = it.try_write().map(|guard| *guard);
    rwlock_try_read: RwLock<u32> = RwLock::new(0), |it| _ = it.try_read().map(|guard| *guard);
    rwlock_poison: RwLock<u32> = RwLock::new(0), |it| _ = it.is_poisoned();
    condvar: Condvar = Condvar::new(), |it| it.notify_one();
    condvar_all: Condvar = Condvar::new(), |it| it.notify_all();
    once: Once = Once::new(), |it| it.call_once(|| ());
    once_completed: Once = Once::new(), |it| _ = it.is_completed();
    once_lock: OnceLock<u32> = OnceLock::new(), |it| _ = it.get_or_init(|| 1);
    once_lock_get: OnceLock<u32> = OnceLock::new(), |it| _ = it.get();
    lazy_lock: LazyLock<u32> = LazyLock::new(|| 1), |it| _ = **it;
    barrier: Barrier = Barrier::new(1), |it| _ = it.wait();
    semaphore: Semaphore = Semaphore::new(9), |it| it.acquire();
    semaphore_release: Semaphore = Semaphore::new(9), |it| it.release();
    semaphore_try: Semaphore = Semaphore::new(9), |it| _ = it.try_acquire();
    binary_semaphore: BinarySemaphore = BinarySemaphore::new(true), |it| _ = it.try_acquire();
    monitor: Monitor<u32> = Monitor::new(Discipline::SignalContinue, 0), |it| *it.enter() += 1;
    // SAFETY: no other thread writes at the same time.
    cell: Shared = Shared(UnsafeCell::new(0)), |it| it.0.with(|value| _ = unsafe { *value });
    cell_get: Shared = Shared(UnsafeCell::new(0)), |it| _ = it.0.get();
}

const LIVES: [Life; 2] = [Life::Joined, Life::Outlives];

#[test]
fn a_value_made_in_the_execution_is_not_for_foreign_threads() {
    for (name, inside, _) in CASES {
        for first in [First::Controlled, First::Foreign] {
            // In the next execution, the controlled thread has its own value.
            let lives = if first == First::Controlled {
                &LIVES[..]
            } else {
                &LIVES[..1]
            };
            for life in lives {
                let left = Left::default();
                let report = checker().run(|| inside(first, *life, &left));
                assert_refused(&format!("{name}, {first:?} first, {life:?}"), &report);
            }
        }
    }
}

/// The initial bytes of statics, and the threads that a check starts, are known on Linux.
#[cfg(target_os = "linux")]
#[test]
fn a_static_of_the_execution_is_not_for_threads_that_it_starts() {
    for (name, _, of_static) in CASES {
        for first in [First::Controlled, First::Foreign] {
            for life in LIVES {
                let left = Left::default();
                let report = checker().run(|| of_static(first, life, &left));
                let name = format!("static {name}, {first:?} first, {life:?}");
                assert_refused(&name, &report);
                // Let the threads that are left go.
                drop(left);
            }
        }
    }
}

/// A value with a use that takes it, and one that lets a foreign thread have a part of it.
macro_rules! parts {
    ($($name:ident: $make:expr, $foreign:expr;)*) => {
        const PARTS: &[(&str, fn())] = &[$(
            (stringify!($name), || {
                let (_mine, theirs) = $make;
                _ = start(move || $foreign(theirs)).join();
            }),
        )*];
    };
}

fn used<T>(value: T, use_it: impl FnOnce(&T)) -> ((), T) {
    use_it(&value);
    ((), value)
}

parts! {
    sender: mpsc::channel::<u32>(), |it: mpsc::Receiver<u32>| _ = it.try_recv();
    receiver: { let (s, r) = mpsc::channel::<u32>(); (r, s) }, |it: mpsc::Sender<u32>| _ = it.send(1);
    sender_cloned: { let (s, r) = mpsc::channel::<u32>(); (r, s) },
        |it: mpsc::Sender<u32>| _ = it.clone();
    sender_dropped: { let (s, r) = mpsc::channel::<u32>(); (r, s) }, |it: mpsc::Sender<u32>| drop(it);
    receiver_dropped: mpsc::channel::<u32>(), |it: mpsc::Receiver<u32>| drop(it);
    received: mpsc::channel::<u32>(), |it: mpsc::Receiver<u32>| _ = it.recv();
    bounded_sent: { let (s, r) = mpsc::sync_channel::<u32>(1); (r, s) },
        |it: mpsc::SyncSender<u32>| _ = it.send(1);
    bounded_tried: { let (s, r) = mpsc::sync_channel::<u32>(1); (r, s) },
        |it: mpsc::SyncSender<u32>| _ = it.try_send(1);
    bounded_dropped: { let (s, r) = mpsc::sync_channel::<u32>(1); (r, s) },
        |it: mpsc::SyncSender<u32>| drop(it);
    bounded_received: mpsc::sync_channel::<u32>(1), |it: mpsc::Receiver<u32>| _ = it.try_recv();
    port: { let port = Port::<u32>::asynchronous(); let s = port.sender(); (port, s) },
        |it: raddle::port::Sender<u32>| it.send(1);
    port_received: ((), Port::<u32>::asynchronous()), |it: Port<u32>| _ = it.receive();
    port_selected: ((), Port::<u32>::asynchronous()),
        |it: Port<u32>| raddle::select! { _ = it.receive() => () };
    tracked_cloned: used(TrackedArc::new(1), |it| _ = it.clone()),
        |it: TrackedArc<u32>| _ = it.clone();
    tracked_counted: used(TrackedArc::new(1), |it| _ = it.clone()),
        |it: TrackedArc<u32>| _ = TrackedArc::strong_count(&it);
    tracked_dropped: { let it = TrackedArc::new(1); (it.clone(), it) },
        |it: TrackedArc<u32>| drop(it);
    tracked_weak: { let it = TrackedArc::new(1); let weak = TrackedArc::downgrade(&it); (it, weak) },
        |it: raddle::sync::TrackedWeak<u32>| _ = it.upgrade();
    joined: ((), thread::spawn(|| ())), |it: thread::JoinHandle<()>| _ = it.join();
    asked: ((), thread::spawn(|| ())), |it: thread::JoinHandle<()>| _ = it.is_finished();
    unparked: ((), thread::current()), |it: thread::Thread| it.unpark();
    leader: ((), Barrier::new(1).wait()),
        |it: raddle::sync::BarrierWaitResult| _ = it.is_leader();
    atomic_taken: used(AtomicU32::new(0), |it| it.store(1, Ordering::SeqCst)),
        |it: AtomicU32| _ = it.into_inner();
    atomic_owned: used(AtomicU32::new(0), |it| it.store(1, Ordering::SeqCst)),
        |mut it: AtomicU32| *it.get_mut() = 2;
    mutex_taken: used(Mutex::new(0), |it| *it.lock().unwrap() = 1),
        |it: Mutex<u32>| _ = it.into_inner();
    mutex_owned: used(Mutex::new(0), |it| *it.lock().unwrap() = 1),
        |mut it: Mutex<u32>| *it.get_mut().unwrap() = 2;
    rwlock_taken: used(RwLock::new(0), |it| *it.write().unwrap() = 1),
        |it: RwLock<u32>| _ = it.into_inner();
    once_lock_taken: used(OnceLock::new(), |it| _ = it.set(1)), |it: OnceLock<u32>| _ = it.into_inner();
    once_lock_owned: used(OnceLock::new(), |it| _ = it.set(1)),
        |mut it: OnceLock<u32>| _ = it.get_mut();
    monitor_taken: used(Monitor::new(Discipline::SignalContinue, 0), |it| *it.enter() = 1),
        |it: Monitor<u32>| _ = it.into_inner();
    cell_taken: used(UnsafeCell::new(0), |it| it.with(|_| ())),
        |it: UnsafeCell<u32>| _ = it.into_inner();
    cell_dropped: used(UnsafeCell::new(0), |it| it.with(|_| ())), |it: UnsafeCell<u32>| drop(it);
}

#[test]
fn handles_and_ends_of_channels_are_not_for_foreign_threads() {
    for (name, body) in PARTS {
        let report = checker().run(body);
        let Some(failure) = report.failures.first() else {
            panic!("{name}: {report}");
        };
        assert_eq!(failure.kind, FailureKind::Uncontrolled, "{name}: {report}");
        let message = &failure.message;
        assert!(
            message.contains("thread `intruder`, which"),
            "{name}: {message}"
        );
        assert!(message.contains("types/foreign.rs:"), "{name}: {message}");
    }
}

#[test]
fn a_scope_of_a_check_is_not_for_foreign_threads() {
    let report = checker().run(|| {
        thread::scope(|scope| {
            std::thread::scope(|foreign| {
                _ = foreign.spawn(|| scope.spawn(|| ())).join();
            });
        });
    });
    assert_eq!(
        report.failures[0].kind,
        FailureKind::Uncontrolled,
        "{report}"
    );
}

/// A condition variable cannot wait for real: the foreign thread is not left behind.
#[test]
fn a_foreign_thread_that_would_wait_gets_a_panic() {
    let report = checker().run(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        *shared.0.lock().unwrap() = false;
        let other = Arc::clone(&shared);
        let foreign = start(move || {
            let guard = other.0.lock().unwrap();
            _ = other.1.wait_while(guard, |ready| !*ready);
        });
        let panic = foreign.join().unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("belongs to a running check"), "{text}");
        assert!(
            text.contains("start the thread with `raddle::thread::spawn`"),
            "{text}"
        );
    });
    assert_refused("waits", &report);
}

/// The foreign thread waits already when the check uses the lock: the execution stops there.
#[test]
fn a_foreign_thread_that_waits_for_the_check_does_not_keep_it_waiting() {
    let report = checker().run(|| {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let (waits, is_waiting) = std_mpsc::channel();
        let foreign = start(move || {
            let guard = other.0.lock().unwrap();
            waits.send(()).unwrap();
            _ = other.1.wait_while(guard, |ready| !*ready);
        });
        is_waiting.recv().unwrap();
        *shared.0.lock().unwrap() = true;
        shared.1.notify_one();
        foreign.join().unwrap();
    });
    assert_refused("waits first", &report);
}

#[test]
fn both_places_and_the_thread_are_reported() {
    let report = checker().run(|| {
        let counter = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&counter);
        counter.store(1, Ordering::SeqCst);
        let foreign = start(move || other.store(2, Ordering::SeqCst));
        assert!(foreign.join().is_err());
    });
    let message = &report.failures[0].message;
    let file = file!();
    let lines = message.split(file).skip(1).map(|at| {
        let digits = at[1..].split(|c: char| !c.is_ascii_digit()).next();
        digits.unwrap().parse::<u32>().unwrap()
    });
    let lines: Vec<u32> = lines.collect();
    let made = lines[1];
    assert_eq!(lines, [made + 3, made, made + 2], "{message}");
    assert!(message.contains("\nmain uses it at "), "{message}");
}

/// A pool that was made before the check.
#[test]
fn a_thread_from_outside_must_not_use_values_of_the_check() {
    let (jobs, work) = std_mpsc::channel::<Box<dyn FnOnce() + Send>>();
    let pool = start(move || {
        for job in work {
            _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        }
    });
    for first in [First::Controlled, First::Foreign] {
        let jobs = StdMutex::new(jobs.clone());
        let report = checker().run(|| {
            let flag = Arc::new(AtomicBool::new(false));
            let other = Arc::clone(&flag);
            if first == First::Controlled {
                flag.store(false, Ordering::SeqCst);
            }
            let (done, is_done) = std_mpsc::channel::<()>();
            let job = move || {
                let _done = done;
                other.store(true, Ordering::SeqCst);
            };
            jobs.lock().unwrap().send(Box::new(job)).unwrap();
            _ = is_done.recv();
            _ = flag.load(Ordering::SeqCst);
        });
        assert_refused(&format!("pool, {first:?} first"), &report);
    }
    drop(jobs);
    pool.join().unwrap();
}

static COUNTER: AtomicU32 = AtomicU32::new(0);
static LOG: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// An ordinary test: its own values, and the same statics, at every point of the check.
#[test]
fn ordinary_tests_beside_a_check_are_unaffected() {
    let (requests, work) = std_mpsc::channel::<std_mpsc::Sender<()>>();
    let ordinary = std::thread::spawn(move || {
        let own = (
            AtomicU32::new(0),
            Mutex::new(0),
            RwLock::new(0),
            UnsafeCell::new(0),
        );
        for done in work {
            COUNTER.fetch_add(1, Ordering::SeqCst);
            LOG.lock().unwrap().push(1);
            own.0.fetch_add(1, Ordering::SeqCst);
            *own.1.lock().unwrap() += 1;
            *own.2.write().unwrap() += 1;
            own.3.with(|_| ());
            done.send(()).unwrap();
        }
        own.0.into_inner()
    });
    let requests = StdMutex::new(requests);
    let beside = || {
        let (done, is_done) = std_mpsc::channel();
        requests.lock().unwrap().send(done).unwrap();
        is_done.recv().unwrap();
    };
    let report = checker().run(|| {
        beside();
        let adds = || {
            COUNTER.fetch_add(1, Ordering::SeqCst);
            beside();
            LOG.lock().unwrap().push(2);
        };
        let other = thread::spawn(move || COUNTER.fetch_add(1, Ordering::SeqCst));
        adds();
        other.join().unwrap();
        assert_eq!(COUNTER.load(Ordering::SeqCst), 2);
        assert_eq!(*LOG.lock().unwrap(), [2]);
    });
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.exhausted, "{report}");
    assert_eq!(report.classes(), 2);
    drop(requests);
    assert_eq!(ordinary.join().unwrap(), 4, "two in each of two executions");
}

/// What an ordinary thread did before the execution is the state that it starts with.
#[test]
fn a_value_from_outside_may_have_been_used_before() {
    let value = AtomicU32::new(0);
    // A check that runs at the same time, so that uses outside checks leave marks.
    checker().run(|| {
        std::thread::scope(|scope| {
            let used = scope.spawn(|| {
                value.store(7, Ordering::SeqCst);
                // Inside a check of its own, beginning after the use.
                let report = checker().run(|| assert_eq!(value.load(Ordering::SeqCst), 7));
                assert!(report.exhausted, "{report}");
            });
            used.join().unwrap();
        });
    });
}

/// Their own values are no failure, but the result says that their order was not explored.
#[cfg(target_os = "linux")]
#[test]
fn a_check_with_foreign_threads_does_not_claim_every_behaviour() {
    let with = |work: fn()| {
        checker().run(move || {
            let here = AtomicU32::new(0);
            start(work).join().unwrap();
            here.store(1, Ordering::SeqCst);
        })
    };
    let report = with(|| {
        let own = Arc::new(Mutex::new(0));
        let other = Arc::clone(&own);
        let nested = std::thread::spawn(move || *other.lock().unwrap() += 1);
        *own.lock().unwrap() += 1;
        nested.join().unwrap();
    });
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.guarantee(), Guarantee::Sampled);
    assert!(!report.exhausted);
    let text = report.to_string();
    assert!(
        text.starts_with("not every behaviour was run: 1 class in 1 run; threads that"),
        "{text}"
    );
    let report = with(|| _ = thread::spawn(|| ()).join());
    assert_eq!(report.guarantee(), Guarantee::Sampled, "{report}");
    // A thread that uses nothing of raddle's cannot matter.
    let report = with(|| ());
    assert_eq!(report.guarantee(), Guarantee::Exhaustive, "{report}");
}

#[test]
fn every_worker_looks_for_foreign_threads() {
    let report = checker().workers(4).run(|| {
        let shared = Arc::new(AtomicU32::new(0));
        let number = raddle::choose(0..40_u32);
        shared.store(number, Ordering::SeqCst);
        let other = Arc::clone(&shared);
        _ = start(move || other.store(1, Ordering::SeqCst)).join();
    });
    assert_refused("workers", &report);
}
