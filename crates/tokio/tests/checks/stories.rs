//! Stories of tasks, compared as text.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use raddle::sync::atomic::Ordering::SeqCst;
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

const TWO_MUTEXES: &str = "  main holds Mutex `left` (since stories.rs:33), waits at stories.rs:34 for Mutex `right`, held by main.1
  main.1 holds Mutex `right` (since stories.rs:29), waits at stories.rs:30 for Mutex `left`, held by main

   step │ main              │ main.1
      1 │ spawn main.1 :28  │
      2 │ lock left :33     │
      3 │                   │ lock right :29
      4 │ ⏳ lock right :34 │
      5 │                   │ ⏳ lock left :30

  left was made at stories.rs:25
  right was made at stories.rs:26

  why:    fails when main.1 locks right (:29) before main does (:34), not the other way round";

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

/// A future that forgets its waker.
struct Forgetful(Arc<raddle::sync::atomic::AtomicBool>);

impl Future for Forgetful {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.0.load(SeqCst) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

fn forgotten_waker() {
    raddle::future::block_on(async {
        let ready = Arc::new(raddle::sync::atomic::AtomicBool::new(false));
        let task = raddle::future::spawn(Forgetful(Arc::clone(&ready)));
        ready.store(true, SeqCst);
        task.await.unwrap();
    });
}

/// The message has the type of the future and the line of the task, and the awaiting task at its own line.
#[test]
fn a_waker_that_is_never_called_is_a_lost_wake_up_of_its_future() {
    let report = Checker::new().run(forgotten_waker);
    assert_eq!(report.failures[0].kind, FailureKind::LostWakeup);
    let text = story(&report);
    let (_, text) = text.split_once("\n\n").unwrap();
    assert_eq!(text, FORGOTTEN);
}

const FORGOTTEN: &str = "  main.1 waits at stories.rs:124 for a wake-up of checks::stories::Forgetful
  no thread calls its waker
  main waits at stories.rs:126 for main.1 to end
  help: register the waker before the last look at the condition, and call it after each change of the condition

   step │ main                     │ main.1
      1 │ spawn main.1 :124        │
      2 │                          │ load ready = false :114
      3 │ store true to ready :125 │
      4 │ ⏳ join main.1 :126      │
      5 │                          │ ⏳ wait to be woken :124

  ready was made at stories.rs:123

  why:    fails when main.1 loads ready (:114) before main stores to ready (:125), not the other way round";

const NEVER_SENT: &str = "  main waits at stories.rs:92 for main.1 to end
  main.1 waits at stories.rs:91 for a message from mpsc

   step │ main               │ main.1
      1 │ spawn main.1 :91   │
      2 │ ⏳ join main.1 :92 │
      3 │                    │ ⏳ receive from mpsc :91

  mpsc was made at stories.rs:90";
