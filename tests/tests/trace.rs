//! What a trace says besides its steps: which locks are held, and who waits for whom.

use raddle::sync::{Arc, Mutex, RwLock};
use raddle::{Checker, Failure, Strategy, thread};

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

/// The first line of this file that has the text.
fn line_of(text: &str) -> u32 {
    let lines = include_str!("trace.rs").lines();
    let mut lines = (1..).zip(lines);
    lines.find(|(_, line)| line.contains(text)).unwrap().0
}
