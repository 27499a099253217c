//! What a trace says besides its steps: which locks are held, and who waits for whom.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex, RwLock};
use raddle::{Checker, Failure, FailureKind, Strategy, thread};
use raddle_tests::races::Shared;

fn failure(program: fn()) -> Failure {
    let checker = Checker::new().strategy(Strategy::Exhaustive).page(false);
    checker.run(program).failures.remove(0)
}

/// Every lock that was held, as a line.
fn spans(failure: &Failure) -> Vec<String> {
    let trace = &failure.trace;
    let spans = trace.spans.iter().map(|span| {
        let end = span.to.map_or("the end", |to| &*trace.steps[to].what);
        let shared = if span.shared { " (shared)" } else { "" };
        format!(
            "{} {}: {} to {end}{shared}",
            trace.threads[span.thread].title(),
            trace.things[span.thing].0,
            trace.steps[span.from].what,
        )
    });
    spans.collect()
}

fn takes_locks_in_turns() {
    let (one, two, book) = (Mutex::new(0), Mutex::new(0), RwLock::new(0));
    let first = one.lock().unwrap();
    let _second = two.lock().unwrap();
    drop(first);
    let reader = book.read().unwrap();
    let again = book.read().unwrap();
    drop(reader);
    drop(again);
    *book.write().unwrap() += 1;
    assert!(two.try_lock().is_err());
    panic!("so that there is a trace");
}

#[test]
fn locks_are_held_from_the_step_that_takes_them_to_the_one_that_gives_them_back() {
    let failure = failure(takes_locks_in_turns);
    assert_eq!(
        spans(&failure),
        [
            "main one: lock one to unlock one",
            "main two: lock two to the end",
            "main book: read book to read-unlock book (shared)",
            "main book: read book to read-unlock book (shared)",
            "main book: write book to write-unlock book",
        ]
    );
    // What is held at the end is held at the panic, although unwinding gives it back.
    let steps = &failure.trace.steps;
    assert_eq!(steps.last().unwrap().what, "panic");
    assert!(
        failure
            .trace
            .spans
            .iter()
            .all(|span| span.from < steps.len())
    );
}

fn dinner() {
    let forks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let other = forks.clone();
    let eat = |forks: &[Mutex<()>; 2], first: usize| {
        let _first = forks[first].lock().unwrap();
        let _second = forks[1 - first].lock().unwrap();
    };
    let thread = thread::spawn(move || eat(&other, 1));
    eat(&forks, 0);
    thread.join().unwrap();
}

#[test]
fn a_deadlock_knows_both_lines_of_every_edge() {
    let failure = failure(dinner);
    let (taken, waited) = (line_of("let _first ="), line_of("let _second = forks"));
    let waits: Vec<_> = failure
        .waits
        .iter()
        .map(|wait| {
            let line = |place: &Option<raddle::Place>| place.as_ref().map(|place| place.line);
            (
                wait.thread,
                &*wait.what,
                wait.on,
                line(&wait.place),
                line(&wait.taken),
            )
        })
        .collect();
    assert_eq!(
        waits,
        [
            (0, "Mutex `forks[1]`", Some(1), Some(waited), Some(taken)),
            (1, "Mutex `forks[0]`", Some(0), Some(waited), Some(taken)),
        ]
    );
    // And so does the text.
    let file = file!();
    for (who, has, wants, whose) in [("main", 0, 1, "main.1"), ("main.1", 1, 0, "main")] {
        let line = format!(
            "{who} holds Mutex `forks[{has}]` (since {file}:{taken}), waits at {file}:{waited} for \
             Mutex `forks[{wants}]`, held by {whose}"
        );
        assert!(failure.message.contains(&line), "{}", failure.message);
    }
}

#[test]
fn the_line_where_a_thread_waits_says_for_what_as_the_story_does() {
    let waits = |program: fn()| failure(program).marks.remove(0).what;
    assert_eq!(waits(thread::park), "main waits for an unpark here");
    let joins = || {
        let other = thread::spawn(thread::park);
        other.join().unwrap();
    };
    assert_eq!(waits(joins), "main waits for main.1 to end here");
}

fn keeps_a_lock_for_ever() {
    let lock = Arc::new(Mutex::new(()));
    let other = lock.clone();
    let thread = thread::spawn(move || std::mem::forget(other.lock().unwrap()));
    thread.join().unwrap();
    let _never = lock.lock().unwrap();
}

#[test]
fn where_a_lock_was_taken_is_said_of_who_does_not_wait_too() {
    let failure = failure(keeps_a_lock_for_ever);
    let (taken, waited) = (line_of("std::mem::forget(other"), line_of("let _never ="));
    let file = file!();
    assert_eq!(
        failure.message,
        format!(
            "main waits at {file}:{waited} for Mutex `lock`, held by main.1 (since {file}:{taken})"
        )
    );
    assert_eq!(failure.waits[0].taken.as_ref().unwrap().line, taken);
}

fn looks_and_locks_between_two_accesses() {
    let (cell, flag) = (Shared::default(), AtomicU32::new(0));
    let shared = Arc::new((cell, flag, Mutex::new(())));
    let there = shared.clone();
    let other = thread::spawn(move || {
        there.1.store(1, SeqCst);
        there.0.write();
    });
    shared.0.write();
    drop(shared.2.lock().unwrap());
    shared.1.load(SeqCst);
    other.join().unwrap();
}

#[test]
fn what_follows_the_first_access_of_a_race_is_still_at_its_steps() {
    let failure = failure(looks_and_locks_between_two_accesses);
    assert_eq!(failure.kind, FailureKind::DataRace);
    assert_eq!(
        spans(&failure),
        ["main shared.2: lock shared.2 to unlock shared.2"]
    );
    let steps = &failure.trace.steps;
    let seen = failure.receives.iter().map(|receive| {
        let sources = receive.sources.iter().map(|source| {
            let step = source.step.map(|step| &*steps[step].what);
            format!("{} ({})", source.what, step.unwrap_or("no step"))
        });
        let sources: Vec<_> = sources.collect();
        format!("{}: {}", steps[receive.step].what, sources.join(", "))
    });
    assert_eq!(
        seen.collect::<Vec<_>>(),
        ["load flag = 0: the initial value (no step), store 1 to flag by main.1 (store 1 to flag)"]
    );
}

fn notifies_in_the_middle_of_much_work() {
    let shared = (Mutex::new(false), Condvar::new(), AtomicU32::new(0));
    let shared = Arc::new(shared);
    let there = shared.clone();
    let worker = thread::spawn(move || {
        let work = || (0..1_200).for_each(|number| there.2.store(number, SeqCst));
        work();
        *there.0.lock().unwrap() = true;
        there.1.notify_one();
        work();
    });
    let mut done = shared.0.lock().unwrap();
    while !*done {
        done = shared.1.wait(done).unwrap();
    }
    drop(done);
    worker.join().unwrap();
}

#[test]
fn the_end_of_a_long_execution_knows_of_its_beginning() {
    let checker = Checker::new().strategy(Strategy::Exhaustive).page(false);
    let checker = checker.spurious_wakeups(false).max_events(2_000);
    let report = checker.run(notifies_in_the_middle_of_much_work);
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::TooLong);
    let mut steps = failure.trace.steps.iter();
    let notifies = steps.find(|step| step.what.starts_with("notify-one"));
    assert_eq!(notifies.unwrap().what, "notify-one shared.1 (wakes main)");
    let spawned = failure.trace.threads[1].spawned.as_ref();
    assert_eq!(spawned.unwrap().line, line_of("let worker = thread::spawn"));
}

/// The first line of this file that has the text.
fn line_of(text: &str) -> u32 {
    let lines = include_str!("trace.rs").lines();
    let mut lines = (1..).zip(lines);
    lines.find(|(_, line)| line.contains(text)).unwrap().0
}
