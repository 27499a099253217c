//! Stories of tasks, compared as text.

use std::sync::Arc;

use raddle::{Checker, FailureKind, Report, Strategy};
use tokio::sync::{Mutex, mpsc};

/// Returns the story without the lines that depend on the machine.
pub fn story(report: &Report) -> String {
    let text = report.failures[0].to_string();
    let lines = text.lines();
    let told = lines.filter(|line| !line.contains("replay:") && !line.contains("report:"));
    let story: Vec<_> = told.collect();
    story
        .join("\n")
        .trim_end()
        .replace("crates/tokio/tests/checks/", "")
}

fn two_async_mutexes() {
    raddle::future::block_on(async {
        let left = Arc::new(Mutex::new(()));
        let right = Arc::new(Mutex::new(()));
        let (first, second) = (Arc::clone(&left), Arc::clone(&right));
        let other = tokio::spawn(async move {
            let _second = second.lock().await;
            let _first = first.lock().await;
        });
        {
            let _left = left.lock().await;
            let _right = right.lock().await;
        }
        other.await.unwrap();
    });
}

fn two_std_mutexes() {
    use raddle::sync::Mutex;
    let left = Arc::new(Mutex::new(()));
    let right = Arc::new(Mutex::new(()));
    let (first, second) = (Arc::clone(&left), Arc::clone(&right));
    let other = raddle::thread::spawn(move || {
        let _second = second.lock().unwrap();
        let _first = first.lock().unwrap();
    });
    {
        let _left = left.lock().unwrap();
        let _right = right.lock().unwrap();
    }
    other.join().unwrap();
}

const TWO_MUTEXES: &str = "  main holds Mutex `left` (since stories.rs:30), waits at stories.rs:31 for Mutex `right`, held by main.1
  main.1 holds Mutex `right` (since stories.rs:26), waits at stories.rs:27 for Mutex `left`, held by main

   step │ main              │ main.1
      1 │ spawn main.1 :25  │
      2 │ lock left :30     │
      3 │                   │ lock right :26
      4 │ ⏳ lock right :31 │
      5 │                   │ ⏳ lock left :27

  left was made at stories.rs:22
  right was made at stories.rs:23

  why:    fails when main.1 locks right (:26) before main does (:31), not the other way round";

/// The headline has the number of executions; everything after it is that of two mutexes of std, but for
/// the lines of the source.
#[test]
fn a_deadlock_of_two_mutexes_reads_like_that_of_two_mutexes_of_std() {
    let exhaustive = || Checker::new().strategy(Strategy::Exhaustive);
    let report = exhaustive().run(two_async_mutexes);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    let ours = story(&report);
    let (_, ours) = ours.split_once("\n\n").unwrap();
    assert_eq!(ours, TWO_MUTEXES);
    let stds = story(&exhaustive().run(two_std_mutexes));
    let (_, stds) = stds.split_once("\n\n").unwrap();
    // The same lines, but for their numbers.
    let shape = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "#");
    assert_eq!(shape(stds), shape(TWO_MUTEXES));
}

fn message_that_is_never_sent() {
    raddle::future::block_on(async {
        let (sender, mut receiver) = mpsc::unbounded_channel::<u32>();
        let received = tokio::spawn(async move { receiver.recv().await });
        received.await.unwrap();
        drop(sender);
    });
}

/// The sender is kept, so the receiver waits: a deadlock, not a lost wake-up.
#[test]
fn a_receiver_that_waits_for_ever_is_named_with_its_channel() {
    let report = Checker::new().run(message_that_is_never_sent);
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    let text = story(&report);
    let (_, text) = text.split_once("\n\n").unwrap();
    assert_eq!(text, NEVER_SENT);
}

const NEVER_SENT: &str = "  main waits at stories.rs:89 for main.1 to end
  main.1 waits at stories.rs:88 for a message from mpsc

   step │ main               │ main.1
      1 │ spawn main.1 :88   │
      2 │ ⏳ join main.1 :89 │
      3 │                    │ ⏳ receive from mpsc :88

  mpsc was made at stories.rs:87";
