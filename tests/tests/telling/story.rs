//! The text of failures, word for word, and their schedules: each replays to the same failure.
//!
//! The programs stand at the top, so that their line numbers stay what the stories say.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, Failure, Schedule, Strategy, thread};

fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || {
        let value = other.load(SeqCst);
        other.store(value + 1, SeqCst);
    });
    let value = counter.load(SeqCst);
    counter.store(value + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

fn dinner() {
    let forks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let start = |name: &str, first: usize| {
        let forks = Arc::clone(&forks);
        let eat = move || {
            let _first = forks[first].lock().unwrap();
            let _second = forks[1 - first].lock().unwrap();
        };
        thread::Builder::new().name(name.into()).spawn(eat).unwrap()
    };
    let guests = [start("alice", 0), start("bob", 1)];
    for guest in guests {
        guest.join().unwrap();
    }
}

fn panic_in_a_choice() {
    let thread = thread::spawn(|| raddle::choose(0..3));
    if thread.join().unwrap() == 2 {
        panic!("two is too many");
    }
}

fn locks_itself() {
    let lock = Mutex::new(1);
    let _guard = lock.lock().unwrap();
    assert!(lock.try_lock().is_err());
    drop(lock.lock());
}

fn endless() {
    let flag = AtomicU32::new(0);
    while flag.load(SeqCst) == 0 {
        thread::yield_now();
    }
}

fn checker() -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_events(40)
        .named("it")
}

fn story(program: fn()) -> String {
    let report = checker().run(program);
    raddle_tests::told(&report.failures[0])
}

/// Who did what; the place of main's beginning is where the check was started.
fn steps(failure: &Failure) -> Vec<(usize, &str, bool)> {
    failure
        .trace
        .steps
        .iter()
        .map(|step| (step.thread, &*step.what, step.waits))
        .collect()
}

#[test]
fn a_lost_update() {
    assert_eq!(
        story(lost_update),
        "\
panic after 2 executions (exhaustive)

  main panicked at tests/tests/telling/story.rs:19:5:
  assertion `left == right` failed: an update was lost
    left: 1
   right: 2

   step │ main                   │ main.1
      1 │ spawn main.1 :12       │
      2 │ load counter = 0 :16   │
      3 │                        │ load counter = 0 :13
      4 │                        │ store 1 to counter :14
      5 │ store 1 to counter :17 │
      6 │ join main.1 :18        │
      7 │ load counter = 1 :19   │
      8 │ panic :19              │

  counter was made at tests/tests/telling/story.rs:10

  why:    fails when main.1 loads counter (:13) before main stores to counter (:17), not the other way round
  replay: RADDLE_REPLAY=[main: begin, spawn main.1, load AtomicU32; main.1: begin, load \
         AtomicU32, store AtomicU32, end; main: store AtomicU32, join main.1, load AtomicU32] \
         cargo test it -- --exact
"
    );
}

#[test]
fn a_deadlock() {
    assert_eq!(
        story(dinner),
        "\
deadlock after 2 executions (exhaustive)

  alice holds Mutex `forks[0]` (since tests/tests/telling/story.rs:27), waits at tests/tests/telling/story.rs:28 for Mutex `forks[1]`, held by bob
  bob holds Mutex `forks[1]` (since tests/tests/telling/story.rs:27), waits at tests/tests/telling/story.rs:28 for Mutex `forks[0]`, held by alice
  main waits at tests/tests/telling/story.rs:34 for alice to end

   step │ main              │ alice                │ bob
      1 │ spawn alice :30   │                      │
      2 │ spawn bob :30     │                      │
      3 │                   │ lock forks[0] :27    │
      4 │                   │                      │ lock forks[1] :27
      5 │ ⏳ join alice :34 │                      │
      6 │                   │ ⏳ lock forks[1] :28 │
      7 │                   │                      │ ⏳ lock forks[0] :28

  forks[0] was made at tests/tests/telling/story.rs:23
  forks[1] was made at tests/tests/telling/story.rs:23

  why:    fails when bob locks forks[1] (:27) before alice does (:28), not the other way round
  replay: RADDLE_REPLAY=[main: begin, spawn alice, spawn bob; alice: begin, lock Mutex#1; bob: \
         begin, lock Mutex#2] cargo test it -- --exact
"
    );
}

#[test]
fn a_thread_that_waits_for_itself() {
    assert_eq!(
        story(locks_itself),
        "\
deadlock after 1 execution (exhaustive)

  main holds Mutex `lock` (since tests/tests/telling/story.rs:47), waits at tests/tests/telling/story.rs:49 for Mutex `lock`, which it holds itself

   step │ main
      1 │ lock lock :47
      2 │ try-lock lock fails :48
      3 │ ⏳ lock lock :49

  lock was made at tests/tests/telling/story.rs:46

  replay: RADDLE_REPLAY=[main: begin, lock Mutex, try-lock Mutex] cargo test it -- --exact
"
    );
}

#[test]
fn every_failure_replays_from_its_text() {
    for program in [
        lost_update,
        dinner,
        panic_in_a_choice,
        locks_itself,
        endless,
    ] {
        let report = checker().run(program);
        let found = &report.failures[0];
        let text = found.schedule.to_string();
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule, found.schedule, "an exact round trip");
        let replayed = checker().strategy(Strategy::Replay(schedule)).run(program);
        assert_eq!(replayed.executions, 1);
        let again = &replayed.failures[0];
        assert_eq!((again.kind, &again.message), (found.kind, &found.message));
        assert_eq!(again.schedule, found.schedule);
        assert_eq!(steps(again), steps(found));
    }
}

#[test]
fn random_failures_replay_too() {
    for seed in 0..50 {
        let checker = || Checker::new().strategy(Strategy::Random).seed(seed);
        let report = checker().run(lost_update);
        let found = &report.failures[0];
        let replay = Strategy::Replay(found.schedule.clone());
        let replayed = checker().strategy(replay).run(lost_update);
        assert_eq!(replayed.failures[0].message, found.message);
        assert_eq!(steps(&replayed.failures[0]), steps(found));
    }
}

#[test]
fn a_schedule_of_another_program_says_where_it_does_not_fit() {
    let report = checker().run(lost_update);
    let replay = Strategy::Replay(report.failures[0].schedule.clone());
    let replayed = checker().strategy(replay).run(panic_in_a_choice);
    assert_eq!(
        replayed.failures[0].message,
        "the schedule does not fit the program: after 2 steps, thread main should do \
         `load AtomicU32`, but it is at `join main.1`\n\
         help: the program has changed since the schedule was made, or it is another test's; run \
         the test without a schedule to get a new one"
    );
}

#[test]
fn keep_going_collects_different_failures() {
    let report = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .run(|| {
            let chosen = raddle::choose(0..4);
            assert_ne!(chosen, 1);
            assert_ne!(chosen, 3);
        });
    assert!(report.exhausted);
    assert_eq!(report.executions, 4);
    let mut left: Vec<&str> = report
        .failures
        .iter()
        .map(|failure| failure.message.lines().nth(2).unwrap())
        .collect();
    left.sort_unstable();
    assert_eq!(left, ["  left: 1", "  left: 3"]);
}

#[test]
fn a_report_can_be_serialised() {
    let report = checker().run(lost_update);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["failures"][0]["kind"], "Panic");
    assert_eq!(json["executions"], 2);
    let schedule = json["failures"][0]["schedule"].as_str().unwrap();
    assert_eq!(
        schedule.parse::<Schedule>().unwrap(),
        report.failures[0].schedule
    );
}
