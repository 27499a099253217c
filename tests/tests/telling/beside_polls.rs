//! Threads that are blocked for ever while others poll: found as what they are, with a short story.
//!
//! Every way to poll is combined with every way to be blocked. The rounds of a poller differ, by a counter,
//! so the poller is no thread that only waits for a change.

use std::time::Duration;

use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::mpsc::{RecvTimeoutError, channel};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{Checker, FailureKind, Report, Strategy, thread};

/// Polls until the flag is set; gets a counter that the loop increments.
type Poll = fn(&AtomicBool, &AtomicU32);
/// Starts threads of which some are blocked for ever in some executions, and joins them.
type Block = fn();

const SHORT: Duration = Duration::from_millis(5);
/// Rows of a story beside one poller, beyond which its rounds were not left out.
const MAX_STEPS: usize = 40;

const POLLS: [(&str, Poll); 6] = [
    ("sleep", |done, rounds| {
        while !done.load(SeqCst) {
            rounds.fetch_add(1, SeqCst);
            thread::sleep(SHORT);
        }
    }),
    ("yield", |done, rounds| {
        while !done.load(SeqCst) {
            rounds.fetch_add(1, SeqCst);
            thread::yield_now();
        }
    }),
    ("local counter", |done, rounds| {
        let mut local = 0;
        while !done.load(SeqCst) {
            local += 1;
            thread::sleep(SHORT);
        }
        rounds.store(local, SeqCst);
    }),
    ("wait_timeout", |done, rounds| {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let mut guard = lock.lock().unwrap();
        while !done.load(SeqCst) {
            rounds.fetch_add(1, SeqCst);
            guard = condition.wait_timeout(guard, SHORT).unwrap().0;
        }
    }),
    ("recv_timeout", |done, rounds| {
        let (_sender, receiver) = channel::<u32>();
        while !done.load(SeqCst) {
            rounds.fetch_add(1, SeqCst);
            let nothing = receiver.recv_timeout(SHORT);
            assert_eq!(nothing, Err(RecvTimeoutError::Timeout));
        }
    }),
    ("park_timeout", |done, rounds| {
        while !done.load(SeqCst) {
            rounds.fetch_add(1, SeqCst);
            thread::park_timeout(SHORT);
        }
    }),
];

/// Each with the kind of its failure; the second of a pair is correct.
const BLOCKS: [(&str, Option<FailureKind>, Block); 6] = [
    ("lost wake-up", Some(FailureKind::LostWakeup), || {
        wait(false)
    }),
    ("wait for a flag", None, || wait(true)),
    ("AB-BA", Some(FailureKind::Deadlock), || locks(false)),
    ("AB-AB", None, || locks(true)),
    ("relock", Some(FailureKind::Deadlock), || relock(false)),
    ("lock twice", None, || relock(true)),
];

/// Waits for a notification that may have come before, or for a flag.
fn wait(checks: bool) {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&shared);
    let waiter = thread::spawn(move || {
        let mut guard = other.0.lock().unwrap();
        if !checks {
            guard = other.1.wait(guard).unwrap();
        }
        while checks && !*guard {
            guard = other.1.wait(guard).unwrap();
        }
    });
    *shared.0.lock().unwrap() = true;
    shared.1.notify_one();
    waiter.join().unwrap();
}

fn locks(in_order: bool) {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let other = Arc::clone(&locks);
    let thread = thread::spawn(move || {
        let _first = other.0.lock().unwrap();
        let _second = other.1.lock().unwrap();
    });
    let (first, second) = match in_order {
        true => (&locks.0, &locks.1),
        false => (&locks.1, &locks.0),
    };
    let guard = first.lock().unwrap();
    drop(second.lock().unwrap());
    drop(guard);
    thread.join().unwrap();
}

fn relock(releases: bool) {
    let lock = Mutex::new(());
    let held = lock.lock().unwrap();
    match releases {
        true => drop(held),
        false => std::mem::forget(held),
    }
    drop(lock.lock().unwrap());
}

/// Runs the program beside this many pollers.
fn run(pollers: usize, poll: Poll, block: Block, strategy: Strategy) -> Report {
    let check = Checker::new().strategy(strategy).max_executions(40);
    check.max_time(Duration::from_secs(600)).run(move || {
        let shared = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let start = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || poll(&shared.0, &shared.1))
        };
        let threads: Vec<_> = (0..pollers).map(start).collect();
        block();
        shared.0.store(true, SeqCst);
        for thread in threads {
            thread.join().unwrap();
        }
    })
}

/// Checks what is found beside the pollers; returns the number of failures.
fn is_found(pollers: usize, (polls, poll): (&str, Poll)) -> usize {
    let mut found = 0;
    for (name, kind, block) in BLOCKS {
        let report = run(pollers, poll, block, Strategy::Random);
        let about = format!("{name} beside {pollers} x {polls}:\n{report}");
        let kinds: Vec<_> = report.failures.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, Vec::from_iter(kind), "{about}");
        assert_eq!(report.too_long(), 0, "{about}");
        let Some(failure) = report.failures.first() else {
            continue;
        };
        assert!(failure.trace.steps.len() <= pollers * MAX_STEPS, "{about}");
        assert!(failure.message.contains(" only polls: "), "{about}");
        found += 1;
    }
    found
}

#[test]
fn blocked_threads_are_found_beside_every_kind_of_poller() {
    let found = POLLS.map(|poll| is_found(1, poll));
    assert_eq!(found, [3; POLLS.len()]);
}

#[test]
fn blocked_threads_are_found_beside_several_pollers() {
    assert_eq!(is_found(2, POLLS[0]), 3);
}

#[test]
fn the_story_names_the_rounds_of_the_poller() {
    let report = run(1, POLLS[0].1, BLOCKS[0].2, Strategy::Random);
    let failure = &report.failures[0];
    let lines: Vec<&str> = failure.message.lines().collect();
    let poller = lines.iter().find(|line| line.contains("only polls"));
    let poller = poller.expect("a line about the poller");
    for part in [
        "main.1 only polls: load ",
        "fetch-add ",
        "sleep ",
        " events",
    ] {
        assert!(poller.contains(part), "{poller}");
    }
    // The schedule ends with two rounds, and is replayed to the same failure.
    let schedule = failure.schedule.clone();
    assert!(schedule.steps.len() <= MAX_STEPS, "{schedule}");
    let replayed = run(1, POLLS[0].1, BLOCKS[0].2, Strategy::Replay(schedule));
    assert_eq!(replayed.failures[0].kind, FailureKind::LostWakeup);
    assert_eq!(replayed.failures[0].message, failure.message);
}

/// A watchdog that looks many times before it acts ends the wait.
#[test]
fn a_poller_that_acts_after_many_rounds_is_waited_for() {
    let body = || {
        let shared = Arc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let watchdog = thread::spawn(move || {
            for _ in 0..1_000 {
                if other.2.load(SeqCst) {
                    return;
                }
                thread::sleep(SHORT);
            }
            // Another round for a waiter that is not there yet.
            while !other.2.load(SeqCst) {
                other.1.notify_all();
                thread::sleep(SHORT);
            }
        });
        shared.1.notify_one();
        let guard = shared.0.lock().unwrap();
        drop(shared.1.wait(guard).unwrap());
        shared.2.store(true, SeqCst);
        watchdog.join().unwrap();
    };
    let check = Checker::new().strategy(Strategy::Random).max_executions(20);
    let report = check.max_time(Duration::from_secs(600)).run(body);
    report.assert_ok();
    assert_eq!(report.executions, 20);
}

/// What no checker calls blocked for ever is run up to the limit, which names the blocked threads.
#[test]
fn an_execution_that_is_too_long_names_the_blocked_threads() {
    let check = Checker::new().strategy(Strategy::Random).max_executions(1);
    let report = check.max_events(20_000).run(|| {
        let (sender, receiver) = channel::<u32>();
        let receiver = thread::spawn(move || receiver.recv());
        let rounds = AtomicU32::new(0);
        loop {
            if rounds.fetch_add(1, SeqCst) == u32::MAX {
                sender.send(1).unwrap();
            }
            thread::sleep(SHORT);
            if receiver.is_finished() {
                return;
            }
        }
    });
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::TooLong, "{report}");
    assert!(failure.message.contains("\nmain.1 waits at "), "{report}");
}
