//! Names that the program gives: in the story of a failure, word for word, and elsewhere.
//!
//! The programs stand at the top, so that their line numbers stay what the stories say.

use raddle::monitor::{Discipline, Monitor};
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier, BinarySemaphore, Condvar, LazyLock, Mutex, Once, OnceLock};
use raddle::sync::{RwLock, Semaphore, TrackedArc, mpsc};
use raddle::{Checker, Labelled, Strategy, label, thread};
use raddle_tests::classes;

fn dinner() {
    let forks = Arc::new([Mutex::new(()), Mutex::new(())]);
    for (i, fork) in forks.iter().enumerate() {
        label!("fork[{i}]", fork);
    }
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

fn flags() {
    let (ready, done, other) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));
    label!("ready flag", &ready);
    label!("{}: {what}", &done, "done", what = 1 + 1);
    ready.store(true, SeqCst);
    done.fetch_add(1, SeqCst);
    other.load(SeqCst);
    assert!(!ready.load(SeqCst));
}

fn story(program: fn()) -> String {
    let checker = Checker::new().strategy(Strategy::Exhaustive).named("it");
    raddle_tests::told(&checker.run(program).failures[0])
}

#[test]
fn a_deadlock() {
    assert_eq!(
        story(dinner),
        "\
deadlock after 2 executions (exhaustive)

  alice holds fork[0] (since tests/tests/telling/label.rs:20), waits at tests/tests/telling/label.rs:21 for fork[1], held by bob
  bob holds fork[1] (since tests/tests/telling/label.rs:20), waits at tests/tests/telling/label.rs:21 for fork[0], held by alice
  main waits at tests/tests/telling/label.rs:27 for alice to end

   step │ main              │ alice               │ bob
      1 │ spawn alice :23   │                     │
      2 │ spawn bob :23     │                     │
      3 │                   │ lock fork[0] :20    │
      4 │                   │                     │ lock fork[1] :20
      5 │ ⏳ join alice :27 │                     │
      6 │                   │ ⏳ lock fork[1] :21 │
      7 │                   │                     │ ⏳ lock fork[0] :21

  fork[0] was made at tests/tests/telling/label.rs:13
  fork[1] was made at tests/tests/telling/label.rs:13

  why:    fails when bob locks fork[1] (:20) before alice does (:21), not the other way round
  replay: RADDLE_REPLAY=[main: begin, spawn alice, spawn bob; alice: begin, lock fork[0]; bob: \
         begin, lock fork[1]] cargo test it -- --exact
"
    );
}

#[test]
fn values_are_shown_as_without_a_name_and_what_has_none_keeps_its_variable() {
    let story = story(flags);
    for line in [
        "store true to ready flag :35",
        "fetch-add done: 2: 0 to 1 :36",
        "load other = 0 :37",
        "load ready flag = true :38",
        "ready flag was made at tests/tests/telling/label.rs:32",
    ] {
        assert!(story.contains(line), "{line}\nis not in\n{story}");
    }
}

#[test]
fn names_that_are_not_unique_are_numbered_and_the_last_one_counts() {
    let program = || {
        let (first, second, third) = (Mutex::new(0), Mutex::new(0), Mutex::new(0));
        label!("first", &first);
        for lock in [&first, &second] {
            label!("twin", lock);
        }
        drop((first.lock(), second.lock(), third.lock()));
        panic!("to be told");
    };
    let report = Checker::new().run(program);
    let steps = report.failures[0].trace.steps.iter();
    let locks: Vec<_> = (steps.map(|step| step.what.as_str()))
        .filter(|what| what.starts_with("lock"))
        .collect();
    assert_eq!(locks, ["lock twin#1", "lock twin#2", "lock third"]);
}

#[test]
fn a_name_belongs_to_the_value_and_to_the_execution() {
    // Named before it moves, and only if the choice says so: the other execution knows no name.
    let report = Checker::new().keep_going(true).run(|| {
        let lock = Mutex::new(0);
        let named = raddle::any();
        if named {
            label!("box", &lock);
        }
        let lock = Box::new(lock);
        let _guard = lock.lock();
        panic!("named: {named}");
    });
    for failure in &report.failures {
        let expected = match failure.message.contains("true") {
            true => "lock box",
            false => "lock lock",
        };
        let mut steps = failure.trace.steps.iter();
        assert!(steps.any(|step| step.what == expected), "{failure}");
    }
    assert_eq!(report.failures.len(), 2);
}

/// Uses everything that can have a name, each after it got one.
fn everything() {
    fn name(labelled: impl Labelled, name: &str) {
        label!("{name}", &labelled);
        label!("the {}", labelled, name);
    }
    static LAZY: LazyLock<u8> = LazyLock::new(|| 1);
    let (lock, shared, condition) = (Mutex::new(0), RwLock::new(0), Condvar::new());
    let (barrier, once, cell) = (Barrier::new(1), Once::new(), OnceLock::from(3));
    let (counting, binary) = (Semaphore::new(1), BinarySemaphore::new(true));
    let monitor = Monitor::new(Discipline::SignalContinue, ());
    let (pointer, arc) = (
        AtomicPtr::new(std::ptr::null_mut::<u8>()),
        TrackedArc::new(0),
    );
    name(&lock, "lock");
    name(&shared, "shared");
    name(&condition, "condition");
    name(&barrier, "barrier");
    name(&once, "once");
    name(&cell, "cell");
    name(&LAZY, "lazy");
    name(&counting, "counting");
    name(&binary, "binary");
    name(&monitor, "monitor");
    name(&pointer, "pointer");
    name(&arc, "arc");
    name(Box::new(Arc::new(Mutex::new(0))), "nobody's");
    let (sender, receiver) = mpsc::channel();
    let (waiting, rendezvous) = mpsc::sync_channel(1);
    let port = raddle::port::Port::asynchronous();
    name(&receiver, "channel");
    name(&rendezvous, "bounded");
    name(&port, "port");
    sender.send(1).unwrap();
    waiting.send(1).unwrap();
    port.sender().send(1);
    assert_eq!(
        (receiver.recv(), rendezvous.recv(), port.receive()),
        (Ok(1), Ok(1), 1)
    );
    drop((lock.lock(), shared.read(), monitor.enter(), arc.clone()));
    condition.notify_one();
    barrier.wait();
    once.call_once(|| {});
    counting.acquire();
    binary.acquire();
    assert_eq!((cell.get(), *LAZY), (Some(&3), 1));
    assert!(pointer.load(SeqCst).is_null());
}

#[test]
fn everything_can_have_a_name_and_names_change_nothing_else() {
    assert_eq!(classes(everything), 1);
    let report = Checker::new().run(|| {
        everything();
        panic!("to be told");
    });
    let steps = || report.failures[0].trace.steps.iter();
    for expected in [
        "lock the lock",
        "read the shared",
        "notify-one the condition (no thread waits)",
        "wait the barrier",
        "call-once the once",
        "is-completed the cell: true",
        "call-once the lazy",
        "acquire the counting",
        "acquire the binary",
        "enter the monitor",
        "load the pointer = null",
        "clone the arc",
        "send to the channel",
        "send to the bounded",
        "send to the port",
        "drop the arc",
    ] {
        let told = steps().any(|step| step.what == expected);
        assert!(told, "{expected}\n{}", report.failures[0]);
    }
    let places = steps().filter_map(|step| step.place.as_ref());
    for place in places {
        assert_eq!(place.file, "tests/tests/telling/label.rs");
    }
    // Outside a check, names have no effect.
    everything();
}
