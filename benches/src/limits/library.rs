//! Programs of the library whose checks run beyond all limits.

use std::hint::black_box;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use raddle::sync::atomic::{AtomicUsize, Ordering, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, mpsc};
use raddle::{Checker, Strategy, thread};

use super::{Case, Excess};

/// Settings of a check, before those of the environment.
type Settings = fn(Checker) -> Checker;

/// A program with the settings of its check.
struct Program {
    name: &'static str,
    excess: Excess,
    settings: Settings,
    body: fn(),
}

const fn program(name: &'static str, excess: Excess, settings: Settings, body: fn()) -> Program {
    Program {
        name,
        excess,
        settings,
        body,
    }
}

const STEP: Duration = Duration::from_millis(20);
const LONG_CALL: Duration = Duration::from_millis(1_500);

fn random(checker: Checker) -> Checker {
    long(checker).strategy(Strategy::Random)
}

fn auto(checker: Checker) -> Checker {
    long(checker).strategy(Strategy::Auto)
}

fn exhaustive(checker: Checker) -> Checker {
    checker
        .strategy(Strategy::Exhaustive)
        .max_events(10_000_000)
}

/// Neither the number of executions nor that of events ends the check.
fn long(checker: Checker) -> Checker {
    checker.max_executions(u64::MAX).max_events(20_000_000)
}

const PROGRAMS: [Program; 30] = [
    program(
        "sleeping_steps",
        Excess::Calls(STEP),
        random,
        sleeping_steps,
    ),
    program(
        "sleeping_steps_auto",
        Excess::Calls(STEP),
        auto,
        sleeping_steps,
    ),
    program(
        "sleeping_steps_exhaustive",
        Excess::Calls(STEP),
        exhaustive,
        sleeping_steps,
    ),
    program(
        "sleeping_threads",
        Excess::Calls(STEP),
        auto,
        sleeping_threads,
    ),
    program("long_sleep", Excess::Calls(LONG_CALL), random, long_sleep),
    program(
        "short_then_slow",
        Excess::Calls(STEP),
        random,
        short_then_slow,
    ),
    program("computing_steps", Excess::Points, random, computing_steps),
    program(
        "computing_executions",
        Excess::Points,
        auto,
        computing_executions,
    ),
    program(
        "polling_recv_timeout",
        Excess::Points,
        random,
        polling_recv_timeout,
    ),
    program(
        "polling_wait_timeout",
        Excess::Points,
        auto,
        polling_wait_timeout,
    ),
    program(
        "polling_and_retrying",
        Excess::Calls(STEP),
        auto,
        polling_and_retrying,
    ),
    program(
        "polling_is_finished",
        Excess::Points,
        exhaustive,
        polling_is_finished,
    ),
    program("endless_updates", Excess::Points, random, endless_updates),
    program(
        "endless_updates_auto",
        Excess::Points,
        auto,
        endless_updates,
    ),
    program(
        "endless_updates_exhaustive",
        Excess::Points,
        exhaustive,
        endless_updates,
    ),
    program("endless_yields", Excess::Points, auto, endless_yields),
    program("endless_spawns", Excess::Points, random, endless_spawns),
    program(
        "endless_unwinding",
        Excess::Points,
        random,
        endless_unwinding,
    ),
    program("threads_1000", Excess::Points, random, threads_1000),
    program("threads_1000_auto", Excess::Points, auto, threads_1000),
    program(
        "threads_1000_exhaustive",
        Excess::Points,
        exhaustive,
        threads_1000,
    ),
    program("events_1000000", Excess::Points, random, events_1000000),
    program(
        "events_1000000_exhaustive",
        Excess::Points,
        exhaustive,
        events_1000000,
    ),
    program("many_classes", Excess::Points, auto, many_classes),
    program(
        "many_classes_exhaustive",
        Excess::Points,
        exhaustive,
        many_classes,
    ),
    program("fails_slowly", Excess::Fails, random, fails_slowly),
    program(
        "fails_after_1000000",
        Excess::Fails,
        random,
        fails_after_1000000,
    ),
    program("fails_weakly", Excess::Fails, random, fails_weakly),
    program("hangs_in_a_lock", Excess::Hangs, random, hangs_in_a_lock),
    program("hangs_computing", Excess::Hangs, random, hangs_computing),
];

pub(super) fn cases() -> Vec<Case> {
    let case = |program: &'static Program| Case {
        name: format!("library_{}", program.name),
        excess: program.excess,
        command: Box::new(|| {
            let own = std::env::current_exe().expect("a program has a file");
            let mut command = Command::new(own);
            command.args(["limits-of", program.name]);
            command
        }),
    };
    static ALL: [Program; 30] = PROGRAMS;
    ALL.iter().map(case).collect()
}

/// Checks a program in this process; returns false if there is none of that name.
pub(crate) fn run_here(name: &str) -> bool {
    let Some(program) = PROGRAMS.into_iter().find(|program| program.name == name) else {
        return false;
    };
    let report = (program.settings)(Checker::new()).run(program.body);
    for failure in &report.failures {
        let headline = failure.message.lines().next().unwrap_or_default();
        println!("RESULT {:?}: {headline}", failure.kind);
    }
    println!("RESULT {}", report.summary());
    true
}

fn sleeping_steps() {
    let value = AtomicUsize::new(0);
    for _ in 0..100_000 {
        std::thread::sleep(STEP);
        value.fetch_add(1, SeqCst);
    }
}

fn sleeping_threads() {
    let value = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..20)
        .map(|_| {
            let value = Arc::clone(&value);
            thread::spawn(move || {
                for _ in 0..10_000 {
                    std::thread::sleep(STEP);
                    value.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

fn long_sleep() {
    let value = AtomicUsize::new(0);
    for _ in 0..100 {
        std::thread::sleep(LONG_CALL);
        value.fetch_add(1, SeqCst);
    }
}

fn short_then_slow() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    if RUNS.fetch_add(1, Relaxed) >= 50_000 {
        std::thread::sleep(STEP);
    }
}

/// Computes for about this time.
fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        for number in 0..1_000_u64 {
            black_box(number);
        }
    }
}

fn computing_steps() {
    let value = AtomicUsize::new(0);
    loop {
        compute(Duration::from_millis(50));
        value.fetch_add(1, SeqCst);
    }
}

fn computing_executions() {
    compute(Duration::from_millis(300));
    raddle::choose(0..1_000);
}

fn polling_recv_timeout() {
    let (sender, receiver) = mpsc::channel::<u32>();
    let thread = thread::spawn(move || {
        let mut rounds = 0_u64;
        while receiver.recv_timeout(Duration::from_millis(1)).is_err() {
            rounds += 1;
            black_box(rounds);
        }
    });
    thread.join().unwrap();
    drop(sender);
}

fn polling_wait_timeout() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let shared = Arc::clone(&pair);
    let _thread = thread::spawn(move || {
        let mut ready = shared.0.lock().unwrap();
        while !*ready {
            ready = (shared.1.wait_timeout(ready, Duration::from_millis(1)))
                .unwrap()
                .0;
        }
    });
    let mut rounds = 0_u64;
    while !*pair.0.lock().unwrap() {
        rounds += 1;
        black_box(rounds);
        thread::sleep(Duration::from_millis(1));
    }
}

fn polling_and_retrying() {
    let (sender, receiver) = mpsc::sync_channel::<u32>(1);
    let _thread = thread::spawn(move || {
        let mut tries = 0_u32;
        loop {
            std::thread::sleep(STEP);
            tries += 1;
            if receiver.recv_timeout(Duration::from_millis(5)) == Ok(u32::MAX) {
                break;
            }
            black_box(tries);
        }
    });
    for number in 0.. {
        let _ = sender.try_send(number % 7);
        thread::sleep(Duration::from_millis(1));
    }
}

fn polling_is_finished() {
    let value = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&value);
    let other = thread::spawn(move || {
        loop {
            shared.fetch_add(1, SeqCst);
        }
    });
    while !other.is_finished() {
        thread::yield_now();
    }
}

fn endless_updates() {
    let value = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&value);
    let _other = thread::spawn(move || {
        loop {
            shared.fetch_add(1, SeqCst);
        }
    });
    loop {
        value.fetch_add(2, SeqCst);
    }
}

fn endless_yields() {
    let _other = thread::spawn(|| {
        for round in 0_u64.. {
            black_box(round);
            thread::yield_now();
        }
    });
    for round in 0_u64.. {
        black_box(round);
        thread::yield_now();
    }
}

fn endless_spawns() {
    loop {
        thread::spawn(|| {}).join().unwrap();
    }
}

/// Threads that catch the panic which unwinds them.
fn endless_unwinding() {
    let value = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        let value = Arc::clone(&value);
        thread::spawn(move || {
            loop {
                let round = || loop {
                    value.fetch_add(1, SeqCst);
                };
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(round));
            }
        });
    }
    loop {
        value.fetch_add(2, SeqCst);
    }
}

fn threads_1000() {
    let lock = Arc::new(Mutex::new(0_u64));
    let threads: Vec<_> = (0..1_000)
        .map(|_| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                for _ in 0..1_000 {
                    *lock.lock().unwrap() += 1;
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Two threads that read and write one atomic, 1,000,000 events in all.
fn events_1000000() {
    let value = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&value);
    let work = |value: &AtomicUsize| {
        for _ in 0..250_000 {
            value.store(value.load(SeqCst) + 1, SeqCst);
        }
    };
    let other = thread::spawn(move || work(&shared));
    work(&value);
    other.join().unwrap();
}

fn many_classes() {
    let locks: Arc<Vec<_>> = Arc::new((0..6).map(|_| Mutex::new(0)).collect());
    let threads: Vec<_> = (0..6)
        .map(|_| {
            let locks = Arc::clone(&locks);
            thread::spawn(move || locks.iter().for_each(|lock| *lock.lock().unwrap() += 1))
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// Fails late in the budget, and each run that explains the failure takes time.
fn fails_slowly() {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let is_late = START.get_or_init(Instant::now).elapsed() > super::BUDGET - 10 * STEP;
    compute(STEP);
    let value = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&value);
    let other = thread::spawn(move || {
        for _ in 0..50 {
            shared.fetch_add(1, SeqCst);
        }
    });
    for _ in 0..50 {
        value.fetch_add(1, SeqCst);
    }
    other.join().unwrap();
    assert!(!is_late, "it is late");
}

fn fails_after_1000000() {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let is_late = START.get_or_init(Instant::now).elapsed() > super::BUDGET - 10 * STEP;
    events_1000000();
    assert!(!is_late, "it is late");
}

/// Fails because orderings are too weak, late in the budget, with many places to strengthen.
fn fails_weakly() {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let is_late = START.get_or_init(Instant::now).elapsed() > super::BUDGET - 10 * STEP;
    compute(STEP / 10);
    let data: Arc<Vec<_>> = Arc::new((0..8).map(|_| AtomicUsize::new(0)).collect());
    let shared = Arc::clone(&data);
    let writer = thread::spawn(move || {
        for value in shared.iter() {
            value.store(1, Ordering::Relaxed);
        }
    });
    let last = data[7].load(Ordering::Relaxed);
    let first = data[0].load(Ordering::Relaxed);
    writer.join().unwrap();
    assert!(!is_late || last <= first, "the last came first");
}

fn hangs_in_a_lock() {
    let (controlled, plain) = (Mutex::new(()), std::sync::Mutex::new(()));
    drop(controlled.lock());
    let _held = plain.lock();
    drop(plain.lock());
}

fn hangs_computing() {
    let value = AtomicUsize::new(0);
    value.store(1, SeqCst);
    loop {
        std::hint::spin_loop();
    }
}
