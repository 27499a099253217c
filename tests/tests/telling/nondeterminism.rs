//! Programs that do not do the same when they are run the same way: what is said of them.
//!
//! The programs stand at the top, so that their line numbers stay what the messages say.

use std::sync::atomic::{AtomicU32 as StdAtomicU32, Ordering::Relaxed};

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::mpsc::channel;
use raddle::{Checker, FailureKind, Strategy, thread};

/// Something else from the second run on.
fn changes_its_mind(runs: &StdAtomicU32) {
    let value = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || other.store(1, SeqCst));
    if runs.fetch_add(1, Relaxed) == 0 {
        value.load(SeqCst);
    } else {
        value.store(2, SeqCst);
    }
    thread.join().unwrap();
}

/// A compare-exchange that fails from the second run on.
fn fails_later(runs: &StdAtomicU32) {
    let value = Arc::new(AtomicU32::new(runs.fetch_add(1, Relaxed)));
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || other.load(SeqCst));
    let _ = value.compare_exchange(0, 5, SeqCst, SeqCst);
    thread.join().unwrap();
}

/// The thread does nothing from the second run on.
fn ends_early(runs: &StdAtomicU32) {
    let value = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&value);
    let first = runs.fetch_add(1, Relaxed) == 0;
    let thread = thread::Builder::new().name("lazy".into());
    let thread = thread.spawn(move || first.then(|| other.load(SeqCst)));
    value.store(1, SeqCst);
    thread.unwrap().join().unwrap();
}

/// As if the last handle were another's in the second run.
fn drops_a_sender(runs: &StdAtomicU32) {
    let value = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || other.store(1, SeqCst));
    let (sender, _receiver) = channel::<()>();
    let mut sender = Some(sender);
    if runs.fetch_add(1, Relaxed) > 0 {
        sender = None;
    }
    value.load(SeqCst);
    drop(sender);
    thread.join().unwrap();
}

const HELP: &str = "the program must depend on nothing but its schedule; the usual causes:
  the order of a `HashMap` or `HashSet`: give it a fixed hasher, `HashMap<K, V, BuildHasherDefault<DefaultHasher>>`
  `std::time`: use `raddle::time`, whose `Instant` and `SystemTime` are virtual
  `rand`: use `raddle::any()` or `raddle::choose(0..n)`, which are explored, or a generator with a fixed seed
  addresses that are hashed or compared, and locks that raddle does not see
  state kept from one execution to the next, such as the contents of a lock made outside the check";

#[track_caller]
fn says(program: fn(&StdAtomicU32), facts: &[&str], cause: &str) {
    let runs = StdAtomicU32::new(0);
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.keep_going(true).run(|| program(&runs));
    let [failure] = &report.failures[..] else {
        panic!("{report}");
    };
    let expected = format!("{}\nhelp: {cause}{HELP}", facts.join("\n"));
    assert_eq!(failure.kind, FailureKind::Nondeterminism);
    assert_eq!(failure.message, expected);
}

#[test]
fn both_operations_and_both_lines_are_shown() {
    says(
        changes_its_mind,
        &[
            "after 4 events, main does something else than in an earlier run",
            "then: load at tests/tests/telling/nondeterminism.rs:18",
            "now: store value at tests/tests/telling/nondeterminism.rs:20",
        ],
        "",
    );
    says(
        fails_later,
        &[
            "after 4 events, main does something else than in an earlier run",
            "then: compare-exchange at tests/tests/telling/nondeterminism.rs:30",
            "now: compare-exchange value at tests/tests/telling/nondeterminism.rs:30, with another \
             target or outcome",
        ],
        "an address may have been used again in one of the runs and not in the other: install \
         `raddle::alloc::Quarantine`, with which addresses depend on the schedule alone. If that is not \
         it, ",
    );
    says(
        ends_early,
        &[
            "after 3 events, lazy does something else than in an earlier run",
            "then: load at tests/tests/telling/nondeterminism.rs:40",
            "now: end at tests/tests/telling/nondeterminism.rs:40",
        ],
        "",
    );
}

#[test]
fn the_last_handle_of_an_arc_is_the_first_suspect() {
    says(
        drops_a_sender,
        &[
            "after 4 events, main does something else than in an earlier run",
            "then: load at tests/tests/telling/nondeterminism.rs:55",
            "now: drop Sender at tests/tests/telling/nondeterminism.rs:50",
        ],
        "a value was dropped at another time: when it is in a plain `Arc`, raddle does not see which \
         thread drops the last handle; if the destructor does something that other threads notice, use \
         `raddle::sync::TrackedArc`. If that is not it, ",
    );
}
