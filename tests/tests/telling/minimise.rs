//! However a failure was found, its story has no more preemptions and context switches than it takes,
//! and says what decides if two events do.

use std::collections::BTreeSet;

use raddle::sync::atomic::AtomicU32;
use raddle::sync::atomic::Ordering::{Relaxed, SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, Failure, FailureKind, Strategy, thread};
use raddle_tests::programs::philosophers;

/// How often the thread changes in the schedule.
fn switches(failure: &Failure) -> usize {
    let steps = failure.schedule.steps.windows(2);
    steps
        .filter(|pair| pair[0].thread != pair[1].thread)
        .count()
}

/// Finds the failure by random walks from many seeds; each story must have this many switches, and
/// must be what a replay shows. Says how many the worst of the walks had.
fn always(expected: usize, kind: FailureKind, program: impl Fn() + Send + Sync) -> usize {
    let mut longest = 0;
    for seed in 0..20 {
        let search = |shorten| {
            let checker = Checker::new().strategy(Strategy::Random).seed(seed);
            let mut report = checker.shorten(shorten).run(&program);
            report.failures.swap_remove(0)
        };
        longest = longest.max(switches(&search(false)));
        let failure = search(true);
        assert_eq!(failure.kind, kind);
        assert_eq!(switches(&failure), expected, "seed {seed}\n{failure}");
        let replay = Checker::new()
            .strategy(Strategy::Replay(failure.schedule.clone()))
            .run(&program);
        assert_eq!(replay.failures[0].message, failure.message);
        let steps = |failure: &Failure| -> Vec<_> {
            let steps = failure.trace.steps.iter();
            steps.map(|step| (step.thread, step.what.clone())).collect()
        };
        assert_eq!(steps(&replay.failures[0]), steps(&failure));
    }
    longest
}

#[test]
fn a_lost_update() {
    // To main.1, to main.2 and back, or the other way round; then to main.
    let walked = always(4, FailureKind::Panic, || {
        let counter = Arc::new(AtomicU32::new(0));
        let threads = [(); 2].map(|()| {
            let counter = Arc::clone(&counter);
            thread::spawn(move || counter.store(counter.load(SeqCst) + 1, SeqCst))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2);
    });
    assert!(walked > 4, "there was something to do");
}

#[test]
fn a_lost_update_among_threads_that_have_nothing_to_do_with_it() {
    // The three bystanders run as a whole, each once.
    let walked = always(4 + 3, FailureKind::Panic, || {
        let counter = Arc::new(AtomicU32::new(0));
        let noise = Arc::new(AtomicU32::new(0));
        let update = |counter: Arc<AtomicU32>| {
            move || {
                counter.store(counter.load(SeqCst) + 1, SeqCst);
            }
        };
        let count = |noise: Arc<AtomicU32>| {
            move || {
                for _ in 0..3 {
                    noise.fetch_add(1, SeqCst);
                }
            }
        };
        let mut threads = Vec::new();
        for _ in 0..2 {
            threads.push(thread::spawn(update(Arc::clone(&counter))));
        }
        for _ in 0..3 {
            threads.push(thread::spawn(count(Arc::clone(&noise))));
        }
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2);
    });
    assert!(walked > 4, "there was something to do");
}

#[test]
fn philosophers_each_with_one_fork() {
    // Each takes one fork, one after the other; then no thread can go on.
    always(3, FailureKind::Deadlock, || philosophers(3));
}

#[test]
fn a_wake_up_that_is_lost() {
    // Main finds the flag down; the other raises it and notifies while no thread waits; main waits.
    always(2, FailureKind::LostWakeup, || {
        let shared = Arc::new((AtomicU32::new(0), Mutex::new(()), Condvar::new()));
        let other = Arc::clone(&shared);
        thread::spawn(move || {
            other.0.store(1, SeqCst);
            other.2.notify_one();
        });
        let (flag, lock, condition) = &*shared;
        if flag.load(SeqCst) == 0 {
            drop(condition.wait(lock.lock().unwrap()).unwrap());
        }
    });
}

/// The reason that the story gives, with the steps it names.
fn why(report: &raddle::Report) -> (String, usize, Option<usize>) {
    let failure = &report.failures[0];
    let critical = failure.critical.as_ref().expect("two events decide");
    assert!(
        failure
            .to_string()
            .contains(&format!("\n  why:    {}\n", critical.why))
    );
    let passing = failure.passing.as_ref().expect("the other way round");
    assert!(!passing.trace.steps.iter().any(|step| step.waits));
    (critical.why.clone(), critical.first, critical.second)
}

/// What a step says, and whose it is.
fn step(report: &raddle::Report, index: usize) -> (usize, &str) {
    let step = &report.failures[0].trace.steps[index];
    (step.thread, &step.what)
}

fn named(name: &str, body: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(body).unwrap()
}

#[test]
fn two_locks_in_different_orders() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let forks = Arc::new([Mutex::new(()), Mutex::new(())]);
        let other = Arc::clone(&forks);
        let bob = named("bob", move || {
            let _second = other[1].lock();
            let _first = other[0].lock();
        });
        let _first = forks[0].lock();
        let _second = forks[1].lock();
        drop((_first, _second));
        bob.join().unwrap();
    });
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    let (why, first, second) = why(&report);
    // Main takes fork 0 and is interrupted by bob, who takes fork 1 and waits. The other way round it
    // takes two interruptions. The last moment is when bob takes what main will want.
    let line = line!() - 12;
    assert_eq!(
        why,
        format!(
            "fails when bob locks forks[1] (:{line}) before main does (:{}), not the other way round",
            line + 4
        )
    );
    assert_eq!(step(&report, first), (1, "lock forks[1]"));
    assert_eq!(step(&report, second.unwrap()), (0, "lock forks[1]"));
    assert!(report.failures[0].trace.steps[second.unwrap()].waits);
    let minimised = report.failures[0].minimised.unwrap();
    assert_eq!(
        (minimised.preemptions_after, minimised.is_minimal),
        (1, true)
    );
}

#[test]
fn a_value_that_is_read_before_it_is_written() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let ready = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&ready);
        let producer = named("producer", move || other.store(1, SeqCst));
        assert_eq!(ready.load(SeqCst), 1);
        producer.join().unwrap();
    });
    // The store comes after the panic, so that it is not in the story.
    let (why, first, second) = why(&report);
    let line = line!() - 5;
    assert_eq!(
        why,
        format!(
            "fails when main loads ready (:{line}) before producer stores to ready (:{}), not the \
             other way round",
            line - 1
        )
    );
    assert_eq!(step(&report, first), (0, "load ready = 0"));
    assert_eq!(second, None);
}

#[test]
fn a_value_that_is_not_seen() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let producer = named("producer", move || {
            other.0.store(7, Relaxed);
            other.1.store(1, Relaxed);
        });
        if shared.1.load(Relaxed) == 1 {
            assert_eq!(shared.0.load(Relaxed), 7);
        }
        producer.join().unwrap();
    });
    let (why, first, second) = why(&report);
    let line = line!() - 5;
    assert_eq!(
        why,
        format!(
            "fails when main loads shared.0 (:{line}) and misses that producer stores to shared.0 \
             (:{}), not when it sees it",
            line - 4
        )
    );
    assert_eq!(step(&report, first), (1, "store 7 to shared.0"));
    assert_eq!(
        step(&report, second.unwrap()),
        (0, "load shared.0 = 0, stale")
    );
    // Main could go on when the producer does.
    let minimised = report.failures[0].minimised.unwrap();
    assert_eq!(
        (minimised.preemptions_after, minimised.is_minimal),
        (1, true)
    );
}

#[test]
fn what_always_fails_has_no_reason() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let counter = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&counter);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        counter.fetch_add(1, SeqCst);
        thread.join().unwrap();
        assert_eq!(counter.load(SeqCst), 3);
    });
    let failure = &report.failures[0];
    assert!(failure.critical.is_none() && failure.passing.is_none());
    assert!(!failure.to_string().contains("why:"));
    let minimised = failure.minimised.unwrap();
    assert_eq!(
        (minimised.preemptions_after, minimised.is_minimal),
        (0, true)
    );
}

#[test]
fn what_nobody_asked_for_is_left_out_if_it_is_not_to_blame() {
    // Wakes up spuriously in some of the executions that fail, and chooses in all of them.
    for seed in 0..20 {
        let mut report = Checker::new()
            .strategy(Strategy::Random)
            .seed(seed)
            .run(|| {
                let shared = Arc::new((Mutex::new(false), Condvar::new()));
                let other = Arc::clone(&shared);
                let waiter = thread::spawn(move || {
                    let mut there = other.0.lock().unwrap();
                    while !*there {
                        there = other.1.wait(there).unwrap();
                    }
                });
                let first = raddle::choose(0..3);
                let second = raddle::choose(0..3);
                *shared.0.lock().unwrap() = true;
                shared.1.notify_one();
                waiter.join().unwrap();
                assert!(first + second < 1 || second < 1);
            });
        let failure = report.failures.swap_remove(0);
        let outcomes: Vec<u32> = failure
            .schedule
            .steps
            .iter()
            .map(|step| step.outcome.number())
            .collect();
        // The second choice must not be the first alternative; any other one will do.
        let other = outcomes.iter().filter(|&&outcome| outcome > 0).count();
        assert_eq!(other, 1, "seed {seed}\n{failure}");
        assert!(
            !failure.to_string().contains("spuriously"),
            "seed {seed}\n{failure}"
        );
    }
}

#[test]
fn what_is_chosen_is_part_of_what_fails() {
    // Two mistakes on one line: none becomes the other because that is shorter.
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.keep_going(true).run(|| {
        let input = raddle::choose(0..2);
        let counter = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&counter);
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        counter.fetch_add(1, SeqCst);
        thread.join().unwrap();
        panic!("with {input}");
    });
    let messages = report.failures.iter().map(|failure| &failure.message);
    let said = messages.map(|message| message.lines().last().unwrap());
    let said: BTreeSet<&str> = said.collect();
    assert_eq!(said, BTreeSet::from(["with 0", "with 1"]));
}

#[test]
fn a_schedule_ends_where_it_fails() {
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let turn = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&turn);
        let thread = thread::spawn(move || {
            for _ in 0..10 {
                other.fetch_add(1, SeqCst);
            }
        });
        assert_eq!(turn.load(SeqCst), 10);
        thread.join().unwrap();
    });
    // Begin, spawn and load; whatever the other does then is not to blame.
    let failure = &report.failures[0];
    assert_eq!(failure.schedule.steps.len(), 3);
    assert_eq!(failure.minimised.unwrap().events_after, 3);
}
