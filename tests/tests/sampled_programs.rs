//! Strategies that draw at random, on programs with everything in them: they come to all that can
//! happen, do not hang, and do the same again with the same seed.

use std::collections::BTreeSet;
use std::hint::black_box;

use raddle::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{Relaxed, SeqCst},
};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use raddle::{Checker, FailureKind, Report, Strategy, thread};
use raddle_engine::Execution;
use raddle_tests::outcomes;
use raddle_tests::programs::{philosophers, racy_counter, run_threads};

fn samplers() -> [Strategy; 10] {
    [
        Strategy::Random,
        Strategy::Pct { depth: 4 },
        Strategy::Pos,
        Strategy::Urw,
        Strategy::Surw,
        Strategy::History,
        Strategy::Noise { probability: 0.3 },
        Strategy::RaceDirected,
        Strategy::AtomicityDirected,
        Strategy::DeadlockDirected,
    ]
}

fn checker(strategy: Strategy, executions: u64) -> Checker {
    Checker::new()
        .strategy(strategy)
        .max_executions(executions)
        .max_time(std::time::Duration::from_secs(3600))
        .shorten(false)
}

/// All samplers come to every outcome that the enumeration of schedules comes to, and to no other; how
/// many there are. The enumeration runs private events at once, or it would take too long.
fn reached_by_all<T: Ord + Send + std::fmt::Debug>(
    executions: u64,
    program: impl Fn() -> T + Send + Sync,
) -> usize {
    let everything = Checker::new().strategy(Strategy::EnumeratePrivateFirst);
    let (expected, _) = outcomes(|body| everything.clone().run(body), &program);
    for strategy in samplers() {
        let run = |body: &(dyn Fn() + Send + Sync)| checker(strategy.clone(), executions).run(body);
        let (found, _) = outcomes(run, &program);
        assert_eq!(found, expected, "{strategy}");
    }
    expected.len()
}

#[test]
fn increments_that_tear() {
    assert_eq!(reached_by_all(500, || racy_counter(3, 1)), 3);
}

/// Under weak memory both threads may miss what the other one wrote.
#[test]
fn stale_values() {
    let reached = reached_by_all(500, || {
        let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let (other_x, other_y) = (Arc::clone(&x), Arc::clone(&y));
        let other = thread::spawn(move || {
            other_x.store(1, Relaxed);
            other_y.load(Relaxed)
        });
        y.store(1, Relaxed);
        let mine = x.load(Relaxed);
        (mine, other.join().unwrap())
    });
    assert_eq!(reached, 4);
}

/// A weak exchange that may fail, and values that the program draws itself.
#[test]
fn choices_that_are_not_about_threads() {
    let reached = reached_by_all(500, || {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let failed = other.compare_exchange_weak(0, 1, SeqCst, SeqCst).is_err();
            (failed, raddle::choose(0..2))
        });
        shared.store(2, SeqCst);
        (thread.join().unwrap(), shared.load(SeqCst))
    });
    // Fails for no reason and 2, fails after 2 was written and 2, works and 2 follows.
    assert_eq!(reached, 2 * 2);
}

/// Children of children, made after others have begun.
#[test]
fn threads_that_make_threads() {
    let reached = reached_by_all(4_000, || {
        let line = Arc::new(Mutex::new(Vec::new()));
        let come = |who: u32| {
            let line = Arc::clone(&line);
            move || line.lock().unwrap().push(who)
        };
        let (one, two, three) = (come(1), come(2), come(3));
        let first = thread::spawn(one);
        let second = thread::spawn(move || {
            let child = thread::spawn(two);
            three();
            child.join().unwrap();
        });
        come(0)();
        first.join().unwrap();
        second.join().unwrap();
        Arc::into_inner(line).unwrap().into_inner().unwrap()
    });
    assert_eq!(reached, 24, "all orders of four");
}

#[test]
fn waiting_for_a_condition() {
    let reached = reached_by_all(4_000, || {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&pair);
        let producer = thread::spawn(move || {
            for _ in 0..2 {
                *other.0.lock().unwrap() += 1;
                other.1.notify_one();
            }
        });
        let (lock, condition) = &*pair;
        let mut wakes = 0;
        let mut count = lock.lock().unwrap();
        while *count == 0 {
            count = condition.wait(count).unwrap();
            wakes += 1;
        }
        let seen = *count;
        drop(count);
        producer.join().unwrap();
        (wakes, seen)
    });
    // Not waited, waited, and waited twice because the first time was for no reason; each with 1 or 2.
    assert_eq!(reached, 6);
}

#[test]
fn messages_from_two_threads() {
    let reached = reached_by_all(1_000, || {
        let (sender, receiver) = mpsc::channel();
        for who in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || (0..=who).for_each(|_| sender.send(who).unwrap()));
        }
        drop(sender);
        let order: Vec<_> = receiver.iter().collect();
        assert_eq!(order.len(), 3);
        order
    });
    assert_eq!(reached, 3, "the one is first, second or third");
}

/// Whether a thread has ended is asked after it has done the last that can be seen.
#[test]
fn threads_that_may_have_ended() {
    let reached = reached_by_all(1_000, || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(true, SeqCst));
        let seen = (flag.load(SeqCst), thread.is_finished());
        thread.join().unwrap();
        seen
    });
    // Before the store it may end before it is asked; after it, it may still not have ended.
    assert_eq!(reached, 4);
}

#[test]
fn readers_writers_and_barriers() {
    let reached = reached_by_all(1_000, || {
        let shared = Arc::new((RwLock::new(0), Barrier::new(2)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.write().unwrap() = 1;
            other.1.wait().is_leader()
        });
        let seen = *shared.0.read().unwrap();
        let leads = shared.1.wait().is_leader();
        assert_ne!(leads, thread.join().unwrap());
        (seen, leads)
    });
    assert_eq!(reached, 4);
}

/// A loop that looks until it sees something, with a hint that it does and without.
#[test]
fn loops_that_wait() {
    for hint in [true, false] {
        let reached = reached_by_all(500, || {
            let (flag, count) = (Arc::new(AtomicBool::new(false)), AtomicU32::new(0));
            let (flag, count) = (flag, Arc::new(count));
            let (their_flag, their_count) = (Arc::clone(&flag), Arc::clone(&count));
            let thread = thread::spawn(move || {
                their_count.fetch_add(1, SeqCst);
                their_flag.store(true, SeqCst);
                their_count.fetch_add(1, SeqCst);
            });
            while !flag.load(SeqCst) {
                if hint {
                    raddle::hint::spin_loop();
                }
            }
            let seen = count.load(SeqCst);
            thread.join().unwrap();
            seen
        });
        assert_eq!(reached, 2);
    }
}

/// A loop that counts its rounds is never in the same state twice, so its waiting is not detected.
/// Still no execution has very many events.
#[test]
fn loops_that_wait_in_secret() {
    let more = [1, 10].map(|depth| Strategy::Pct { depth });
    let little = Strategy::Noise { probability: 1e-6 };
    for strategy in samplers().into_iter().chain(more).chain([little]) {
        let checker = checker(strategy.clone(), 200).max_events(50_000);
        let report = checker.run(|| {
            let turn = Arc::new(AtomicU32::new(0));
            run_threads(3, move |me| {
                let mut rounds = 0_u64;
                while turn.load(SeqCst) != 2 - me as u32 {
                    rounds = black_box(rounds + 1);
                }
                turn.fetch_add(1, SeqCst);
            });
        });
        assert!(report.failures.is_empty(), "{strategy}: {report}");
        assert_eq!(report.executions, 200);
    }
}

#[test]
fn deadlocks_are_found() {
    for strategy in samplers() {
        let report = checker(strategy.clone(), 1_000).run(|| philosophers(3));
        let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [FailureKind::Deadlock], "{strategy}");
        let found = report.failures[0].search.clone();
        let name = strategy.to_string();
        let name = name.split(':').next().unwrap();
        assert_eq!(found, format!("{name}, seed 0"));
    }
}

type Steps = Vec<(usize, u32)>;

/// Every execution of a program whose threads loop until they have exchanged, one after the other.
fn schedules(strategy: Strategy, seed: u64) -> Vec<Steps> {
    let mut schedules = Vec::new();
    let mut see = |execution: &Execution| {
        let events = execution.events.iter();
        let steps = events.map(|event| (event.id.thread.index(), event.outcome.number()));
        schedules.push(steps.collect());
    };
    let checker = checker(strategy, 100).seed(seed);
    let report = raddle::__private::run_observed(
        checker,
        || {
            let shared = Arc::new(AtomicU32::new(0));
            run_threads(3, move |_| {
                let mut value = shared.load(Relaxed);
                while let Err(now) = shared.compare_exchange_weak(value, value + 1, SeqCst, Relaxed)
                {
                    value = now;
                }
            });
        },
        &mut see,
    );
    report.assert_ok();
    schedules
}

#[test]
fn the_same_seed_gives_the_same_schedules() {
    for strategy in samplers() {
        let first = schedules(strategy.clone(), 7);
        assert_eq!(first.len(), 100);
        assert_eq!(first, schedules(strategy.clone(), 7), "{strategy}");
        assert_ne!(first, schedules(strategy.clone(), 8), "{strategy}");
        let distinct: BTreeSet<_> = first.iter().collect();
        assert!(distinct.len() > 10, "{strategy}");
    }
}

#[test]
fn several_workers_share_the_executions() {
    for strategy in samplers() {
        let checker = checker(strategy.clone(), 999).workers(2);
        let report = checker.run(|| {
            racy_counter(2, 1);
        });
        assert_eq!(report.executions, 999, "{strategy}");
    }
}

#[test]
fn samplers_have_names() {
    for strategy in samplers() {
        let name = strategy.to_string();
        assert_eq!(name.parse(), Ok(strategy));
        assert_eq!(name.to_uppercase().parse::<Strategy>(), name.parse());
    }
    assert_eq!("pct".parse(), Ok(Strategy::Pct { depth: 3 }));
    let noise = Strategy::Noise { probability: 0.1 };
    assert_eq!("noise".parse(), Ok(noise));
    for bad in [
        "pct:0",
        "pct:x",
        "pct:",
        "pct:-1",
        "noise:0",
        "noise:1.1",
        "noise:NaN",
        "noise:-0.5",
        "noise:",
        "pos:1",
        "urw:",
        "surw2",
    ] {
        let error = bad.parse::<Strategy>().unwrap_err().to_string();
        let start = format!("unknown strategy `{bad}`; there are: ");
        assert!(error.starts_with(&start), "{error}");
    }
}

fn refused(strategy: Strategy) -> String {
    let run = || -> Report { checker(strategy, 1).run(|| {}) };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    assert_eq!(
        refused(Strategy::Pct { depth: 0 }),
        "raddle: `Strategy::Pct` takes a depth of at least 1, not 0"
    );
    for (probability, text) in [(0.0, "0"), (1.5, "1.5"), (f64::NAN, "NaN")] {
        assert_eq!(
            refused(Strategy::Noise { probability }),
            format!(
                "raddle: `Strategy::Noise` takes a probability above 0 and at most 1, not {text}"
            )
        );
    }
}
