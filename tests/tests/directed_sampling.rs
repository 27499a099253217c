//! Samplers that are directed at predicted failures: they find what random walks do not come to, report nothing that
//! no execution shows, and whatever they find is replayed.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Level, Report, Strategy, thread};

const DIRECTED: [Strategy; 3] = [
    Strategy::RaceDirected,
    Strategy::AtomicityDirected,
    Strategy::DeadlockDirected,
];

fn run(strategy: Strategy, seed: u64, executions: u64, program: impl Fn() + Send + Sync) -> Report {
    Checker::new()
        .strategy(strategy)
        .seed(seed)
        .max_executions(executions)
        .max_time(std::time::Duration::from_secs(3600))
        .shorten(false)
        // Else every check tries orders of locks at its end.
        .lock_order(Level::Allow)
        .run(program)
}

/// Steps that keep a thread away from what others do at their beginning: a random walk has them all before the
/// first of these in far less than one execution of a thousand.
fn work() {
    let private = AtomicU32::new(0);
    for _ in 0..60 {
        private.fetch_add(1, SeqCst);
    }
}

/// The strategy finds the failure soon from each seed, a random walk does not find it; the twin has none.
#[track_caller]
fn finds(strategy: &Strategy, kind: FailureKind, program: fn(), twin: fn()) {
    for seed in 0..5 {
        let report = run(strategy.clone(), seed, 40, program);
        let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [kind], "{strategy}, seed {seed}");
        let failure = &report.failures[0];
        assert_eq!(failure.search, format!("{strategy}, seed {seed}"));
        let again = run(Strategy::Replay(failure.schedule.clone()), 0, 1, program);
        assert_eq!(again.failures.len(), 1, "{strategy}, seed {seed}");
        assert_eq!(again.failures[0].kind, kind);
    }
    let random = run(Strategy::Random, 0, 1_000, program);
    assert!(random.failures.is_empty(), "a random walk finds it too");
    for strategy in DIRECTED {
        let report = run(strategy.clone(), 1, 1_000, twin);
        assert!(report.failures.is_empty(), "{strategy}: {report}");
        assert_eq!(report.executions, 1_000);
    }
}

fn late_increment(increment: fn(&AtomicU32)) {
    let count = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&count);
    let thread = thread::spawn(move || {
        increment(&other);
        work();
    });
    work();
    increment(&count);
    thread.join().unwrap();
    assert_eq!(count.load(SeqCst), 2, "an increment is lost");
}

#[test]
fn a_lost_update_is_found_by_directing_at_the_accesses() {
    finds(
        &Strategy::RaceDirected,
        FailureKind::Panic,
        || {
            late_increment(|count| {
                let old = count.load(SeqCst);
                count.store(old + 1, SeqCst);
            })
        },
        || {
            late_increment(|count| {
                count.fetch_add(1, SeqCst);
            })
        },
    );
}

#[derive(Default)]
struct Log {
    lock: Mutex<u32>,
    last: UnsafeCell<u32>,
}
// SAFETY: the programs are there to break this.
unsafe impl Sync for Log {}

/// Both threads write `last`, and take the lock: the one after, the other before.
fn ordered_by_accident(first_is_locked: bool, second_is_locked: bool) {
    let log = Arc::new(Log::default());
    let other = Arc::clone(&log);
    // SAFETY: the check says whether the accesses are exclusive.
    let write = |log: &Log, value| log.last.with_mut(|last| unsafe { *last = value });
    let writer = thread::spawn(move || {
        let held = first_is_locked.then(|| other.lock.lock().unwrap());
        write(&other, 1);
        drop(held);
        *other.lock.lock().unwrap() += 1;
        work();
    });
    work();
    *log.lock.lock().unwrap() += 1;
    let held = second_is_locked.then(|| log.lock.lock().unwrap());
    write(&log, 2);
    drop(held);
    writer.join().unwrap();
}

#[test]
fn a_data_race_is_found_by_directing_at_the_accesses() {
    finds(
        &Strategy::RaceDirected,
        FailureKind::DataRace,
        || ordered_by_accident(false, false),
        || ordered_by_accident(true, true),
    );
}

fn withdraw(is_one_section: bool) {
    let balance = Arc::new(Mutex::new(10));
    let other = Arc::clone(&balance);
    let thread = thread::spawn(move || {
        let mut account = other.lock().unwrap();
        if *account >= 10 {
            if !is_one_section {
                drop(account);
                account = other.lock().unwrap();
            }
            assert!(*account >= 10, "the balance has changed since");
            *account -= 10;
        }
        drop(account);
        work();
    });
    work();
    let mut account = balance.lock().unwrap();
    *account = 5;
    drop(account);
    thread.join().unwrap();
}

#[test]
fn a_check_that_is_out_of_date_is_found_by_directing_between_the_sections() {
    finds(
        &Strategy::AtomicityDirected,
        FailureKind::Panic,
        || withdraw(false),
        || withdraw(true),
    );
}

/// Two threads take two locks in different orders. If `guarded`, under a third one; if `late`, the second thread does so
/// only after it has seen that the first is done.
fn two_orders(guarded: bool, late: bool) {
    let locks = Arc::new([(); 3].map(|()| Mutex::new(0)));
    let done = Arc::new(AtomicU32::new(0));
    let (theirs, told) = (Arc::clone(&locks), Arc::clone(&done));
    let thread = thread::spawn(move || {
        let guard = guarded.then(|| theirs[2].lock().unwrap());
        let one = theirs[0].lock().unwrap();
        let two = theirs[1].lock().unwrap();
        drop((two, one, guard));
        told.store(1, SeqCst);
        work();
    });
    work();
    if !late || done.load(SeqCst) == 1 {
        let guard = guarded.then(|| locks[2].lock().unwrap());
        let one = locks[1].lock().unwrap();
        let two = locks[0].lock().unwrap();
        drop((two, one, guard));
    }
    thread.join().unwrap();
}

#[test]
fn a_deadlock_is_found_by_directing_at_the_second_locks() {
    let strategy = &Strategy::DeadlockDirected;
    let deadlock = FailureKind::Deadlock;
    finds(
        strategy,
        deadlock,
        || two_orders(false, false),
        || two_orders(true, false),
    );
    // Locks alone predict this deadlock, and no execution has it.
    finds(
        strategy,
        deadlock,
        || two_orders(false, false),
        || two_orders(false, true),
    );
}

/// Threads at a place of a target wait for each other, and not for ever.
#[test]
fn what_another_thread_waits_for_in_a_loop_is_not_held_for_ever() {
    for strategy in DIRECTED {
        let report = run(strategy.clone(), 0, 300, || {
            let shared = Arc::new((AtomicU32::new(0), Mutex::new(0)));
            let other = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                *other.1.lock().unwrap() += 1;
                other.0.store(1, SeqCst);
                other.0.store(2, SeqCst);
            });
            let mut rounds = 0_u64;
            while shared.0.load(SeqCst) != 2 {
                rounds = std::hint::black_box(rounds + 1);
            }
            *shared.1.lock().unwrap() += 1;
            thread.join().unwrap();
        });
        assert!(report.failures.is_empty(), "{strategy}: {report}");
        assert_eq!(report.executions, 300);
    }
}

#[test]
fn failures_of_stories_are_replayed() {
    let names = [
        "lost_update",
        "alarm_clock",
        "bank",
        "philosophers_5",
        "reorder",
        "string_buffer",
        "message",
    ];
    let mut found = 0;
    for story in raddle_stories::all() {
        if !names.contains(&story.name) {
            continue;
        }
        for strategy in DIRECTED {
            let report = run(strategy.clone(), 3, 3_000, story.buggy);
            let Some(failure) = report.failures.first() else {
                continue;
            };
            found += 1;
            assert_eq!(
                failure.kind, story.facts.kind,
                "{} by {strategy}",
                story.name
            );
            let again = run(
                Strategy::Replay(failure.schedule.clone()),
                0,
                1,
                story.buggy,
            );
            assert_eq!(again.failures.len(), 1, "{} by {strategy}", story.name);
            assert_eq!(again.failures[0].message, failure.message);
        }
    }
    assert!(found >= 3 * names.len() - 3, "{found}");
}

#[test]
fn names_are_those_of_the_settings() {
    for (name, strategy) in ["race-directed", "atomicity-directed", "deadlock-directed"]
        .iter()
        .zip(DIRECTED)
    {
        assert_eq!(name.parse(), Ok(strategy.clone()));
        assert_eq!(strategy.to_string(), *name);
        assert!(format!("{name}:1").parse::<Strategy>().is_err());
    }
}
