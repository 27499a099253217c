//! Schedules outlast edits: every failure here is found, and replayed by its token, by its text and
//! from a file; then something that has nothing to do with it comes into the program, wherever a
//! program says `edit.here()`, and the old schedule still leads to it.

use raddle::monitor::{Discipline, Monitor};
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, Semaphore, TrackedArc, mpsc};
use raddle::{Checker, Failure, FailureKind, Memory, Schedule, Strategy, thread};
use raddle_tests::random_program::Program;

/// What comes into the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    Nothing,
    /// Something that raddle does not see.
    Line,
    /// A read of an atomic that no other thread uses.
    OwnLoad,
    /// A read of an atomic that has a name.
    NamedLoad,
    /// A lock that no other thread uses.
    OwnLock,
    Yield,
    /// A thread that counts something else.
    Thread,
}

const EDITS: [Edit; 6] = [
    Edit::Line,
    Edit::OwnLoad,
    Edit::NamedLoad,
    Edit::OwnLock,
    Edit::Yield,
    Edit::Thread,
];

impl Edit {
    fn here(self) {
        match self {
            Edit::Nothing => {}
            Edit::Line => assert_eq!(std::hint::black_box(1), 1),
            Edit::OwnLoad => assert_eq!(AtomicU32::new(5).load(SeqCst), 5),
            Edit::NamedLoad => {
                let statistics = AtomicU32::new(5);
                raddle::label!("statistics", &statistics);
                assert_eq!(statistics.load(SeqCst), 5);
            }
            Edit::OwnLock => drop(Mutex::new(()).lock().unwrap()),
            Edit::Yield => thread::yield_now(),
            Edit::Thread => thread::spawn(|| AtomicU32::new(0).fetch_add(1, SeqCst))
                .join()
                .map(drop)
                .unwrap(),
        }
    }
}

fn lost_update(edit: Edit) {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    edit.here();
    let thread = thread::spawn(move || {
        edit.here();
        let value = other.load(SeqCst);
        edit.here();
        other.store(value + 1, SeqCst);
    });
    let value = counter.load(SeqCst);
    edit.here();
    counter.store(value + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

fn dinner(edit: Edit) {
    let forks = Arc::new([Mutex::new(()), Mutex::new(())]);
    let start = |name: &str, first: usize| {
        let forks = Arc::clone(&forks);
        let eat = move || {
            edit.here();
            let _first = forks[first].lock().unwrap();
            edit.here();
            let _second = forks[1 - first].lock().unwrap();
        };
        thread::Builder::new().name(name.into()).spawn(eat).unwrap()
    };
    let guests = [start("alice", 0), start("bob", 1)];
    edit.here();
    for guest in guests {
        guest.join().unwrap();
    }
}

fn panic_in_a_choice(edit: Edit) {
    let thread = thread::spawn(move || {
        edit.here();
        (raddle::choose(0..3), raddle::any::<bool>())
    });
    edit.here();
    assert_ne!(thread.join().unwrap(), (2, true));
}

fn locks_itself(edit: Edit) {
    let lock = Mutex::new(1);
    edit.here();
    let _guard = lock.lock().unwrap();
    edit.here();
    assert!(lock.try_lock().is_err());
    drop(lock.lock());
}

fn endless(edit: Edit) {
    let flag = AtomicU32::new(0);
    while flag.fetch_add(1, SeqCst) < u32::MAX {
        edit.here();
        thread::yield_now();
    }
}

fn weak_exchange(edit: Edit) {
    let flag = AtomicBool::new(false);
    edit.here();
    let set = flag.compare_exchange_weak(false, true, SeqCst, SeqCst);
    assert!(set.is_ok(), "tried only once");
}

fn lost_wakeup(edit: Edit) {
    let pair = Arc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
    let other = Arc::clone(&pair);
    let waiter = thread::spawn(move || {
        edit.here();
        let (lock, condvar, ready) = &*other;
        let mut guard = lock.lock().unwrap();
        while !ready.load(SeqCst) {
            edit.here();
            guard = condvar.wait(guard).unwrap();
        }
    });
    edit.here();
    pair.2.store(true, SeqCst);
    pair.1.notify_one();
    waiter.join().unwrap();
}

fn forgotten_unpark(edit: Edit) {
    let ready = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ready);
    let waiter = thread::spawn(move || {
        edit.here();
        while !seen.load(SeqCst) {
            thread::park();
        }
    });
    waiter.thread().unpark();
    edit.here();
    ready.store(true, SeqCst);
    waiter.join().unwrap();
}

fn two_readers_write(edit: Edit) {
    let value = Arc::new(RwLock::new(0));
    let add = move |value: &RwLock<u32>| {
        let seen = *value.read().unwrap();
        edit.here();
        *value.write().unwrap() = seen + 1;
    };
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || add(&other));
    add(&value);
    thread.join().unwrap();
    assert_eq!(*value.read().unwrap(), 2);
}

fn permits_in_two_steps(edit: Edit) {
    let permits = Arc::new(Semaphore::new(2));
    let other = Arc::clone(&permits);
    let both = move |permits: &Semaphore| {
        permits.acquire();
        edit.here();
        permits.acquire();
        permits.release();
        permits.release();
    };
    let thread = thread::spawn(move || both(&other));
    both(&permits);
    thread.join().unwrap();
}

fn meets_too_few(edit: Edit) {
    let barrier = Arc::new(Barrier::new(2));
    let late = raddle::any::<bool>();
    let other = Arc::clone(&barrier);
    let thread = thread::spawn(move || {
        edit.here();
        other.wait();
        if late {
            other.wait();
        }
    });
    edit.here();
    barrier.wait();
    thread.join().unwrap();
}

fn first_come(edit: Edit) {
    let (sender, receiver) = mpsc::channel();
    for number in 0..2 {
        let sender = sender.clone();
        thread::spawn(move || {
            edit.here();
            sender.send(number).unwrap();
        });
    }
    edit.here();
    assert_eq!(receiver.recv(), Ok(0), "the first is not the first");
}

fn no_room(edit: Edit) {
    let (sender, receiver) = mpsc::sync_channel(1);
    let full = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&full);
    let thread = thread::spawn(move || {
        edit.here();
        if !seen.load(SeqCst) {
            receiver.recv().unwrap();
        }
        receiver
    });
    sender.send(1).unwrap();
    full.store(true, SeqCst);
    edit.here();
    sender.send(2).unwrap();
    drop(thread.join());
}

fn who_was_first(edit: Edit) {
    let once = Arc::new(Once::new());
    let by = Arc::new(AtomicU32::new(0));
    let (other, by_other) = (Arc::clone(&once), Arc::clone(&by));
    let thread = thread::spawn(move || {
        edit.here();
        other.call_once(|| by_other.store(1, SeqCst));
    });
    once.call_once(|| {
        edit.here();
        by.store(2, SeqCst);
    });
    thread.join().unwrap();
    assert_eq!(by.load(SeqCst), 2);
}

fn who_drops_last(edit: Edit) {
    let shared = TrackedArc::new(1);
    let other = TrackedArc::clone(&shared);
    let thread = thread::spawn(move || {
        edit.here();
        drop(other);
    });
    edit.here();
    assert!(TrackedArc::try_unwrap(shared).is_ok(), "still shared");
    thread.join().unwrap();
}

fn monitor_without_a_turn(edit: Edit) {
    let monitor = Arc::new(Monitor::new(Discipline::SignalContinue, 0));
    let other = Arc::clone(&monitor);
    let thread = thread::spawn(move || {
        edit.here();
        *other.enter() += 1;
    });
    let seen = *monitor.enter();
    edit.here();
    assert_eq!(seen, *monitor.enter(), "somebody came in between");
    thread.join().unwrap();
}

type Edited = fn(Edit);

const PROGRAMS: [(&str, Edited, FailureKind); 16] = [
    ("lost_update", lost_update, FailureKind::Panic),
    ("dinner", dinner, FailureKind::Deadlock),
    ("panic_in_a_choice", panic_in_a_choice, FailureKind::Panic),
    ("locks_itself", locks_itself, FailureKind::Deadlock),
    ("endless", endless, FailureKind::TooLong),
    ("weak_exchange", weak_exchange, FailureKind::Panic),
    ("lost_wakeup", lost_wakeup, FailureKind::LostWakeup),
    ("forgotten_unpark", forgotten_unpark, FailureKind::Deadlock),
    ("two_readers_write", two_readers_write, FailureKind::Panic),
    (
        "permits_in_two_steps",
        permits_in_two_steps,
        FailureKind::Deadlock,
    ),
    ("meets_too_few", meets_too_few, FailureKind::Deadlock),
    ("first_come", first_come, FailureKind::Panic),
    ("no_room", no_room, FailureKind::Deadlock),
    ("who_was_first", who_was_first, FailureKind::Panic),
    ("who_drops_last", who_drops_last, FailureKind::Panic),
    (
        "monitor_without_a_turn",
        monitor_without_a_turn,
        FailureKind::Panic,
    ),
];

fn checker(name: &str) -> Checker {
    // All accesses are `SeqCst`: one order explains every execution, and it is told in that.
    Checker::new().memory(Memory::Sc).max_events(60).named(name)
}

/// The first failure of every strategy that finds one.
fn failures(name: &str, program: Edited) -> Vec<Failure> {
    let strategies = [Strategy::Exhaustive, Strategy::Random, Strategy::Enumerate];
    let find = |strategy| {
        let checker = checker(name).strategy(strategy).max_executions(2_000);
        checker.run(move || program(Edit::Nothing)).failures
    };
    let found = strategies.map(find).into_iter();
    found
        .filter_map(|failures| failures.into_iter().next())
        .collect()
}

fn replay(name: &str, program: Edited, edit: Edit, schedule: Schedule) -> Failure {
    let checker = checker(name).strategy(Strategy::Replay(schedule));
    let mut report = checker.run(move || program(edit));
    assert_eq!(report.executions, 1, "{name} after {edit:?}");
    assert_eq!(report.failures.len(), 1, "{name} after {edit:?}");
    report.failures.remove(0)
}

#[test]
fn every_failure_is_replayed_by_token_by_text_and_from_a_file() {
    for (name, program, kind) in PROGRAMS {
        let failures = failures(name, program);
        assert!(failures.len() >= 2, "{name}");
        for found in failures {
            assert_eq!(found.kind, kind, "{name}: {found}");
            let file = std::env::temp_dir().join(format!("raddle-{name}-{}", std::process::id()));
            std::fs::write(&file, found.schedule.to_string()).unwrap();
            let from_file = std::fs::read_to_string(&file).unwrap();
            std::fs::remove_file(&file).unwrap();
            for text in [found.schedule.to_token(), from_file] {
                let schedule: Schedule = text.parse().unwrap();
                assert_eq!(schedule, found.schedule, "{name}");
                let again = replay(name, program, Edit::Nothing, schedule);
                assert_eq!(again.kind, found.kind, "{name}");
                assert_eq!(again.message, found.message, "{name}");
                assert_eq!(again.schedule, found.schedule, "{name}");
            }
        }
    }
}

#[test]
fn every_failure_is_replayed_after_unrelated_edits() {
    for (name, program, kind) in PROGRAMS {
        for found in failures(name, program) {
            for edit in EDITS {
                let again = replay(name, program, edit, found.schedule.clone());
                assert_eq!(
                    again.kind, kind,
                    "{name} after {edit:?}: {again}\n{}",
                    found.schedule
                );
                if kind == FailureKind::Panic {
                    assert_eq!(again.message, found.message, "{name} after {edit:?}");
                }
            }
        }
    }
}

#[test]
fn random_executions_are_replayed_event_by_event() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..300 {
        let program = Program::random(&mut rng);
        let mut schedules = Vec::new();
        let checker = program.checker(Strategy::Random).max_executions(5);
        raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
            schedules.push((Schedule::of(execution), execution.fingerprint()));
        });
        for (schedule, fingerprint) in schedules {
            let parsed = Schedule::from_token(&schedule.to_token()).unwrap();
            assert_eq!(parsed, schedule);
            let checker = program.checker(Strategy::Replay(parsed));
            let mut again = Vec::new();
            raddle::__private::run_observed(checker, || program.run(), &mut |execution| {
                again.push((Schedule::of(execution), execution.fingerprint()));
            });
            assert_eq!(again, [(schedule, fingerprint)], "{program:?}");
        }
    }
}

fn replayed(schedule: &str, program: Edited) -> Result<u64, String> {
    let schedule = format!("raddle schedule 2; {schedule}").parse().unwrap();
    let report = checker("by_hand")
        .strategy(Strategy::Replay(schedule))
        .run(move || program(Edit::Nothing));
    match report.failures.first() {
        None => Ok(report.executions),
        Some(failure) if failure.kind == FailureKind::ScheduleMismatch => {
            let line = failure.message.lines().next().unwrap();
            let (_, what) = line.split_once("program: ").unwrap();
            Err(what.to_owned())
        }
        Some(failure) => Err(failure.kind.to_string()),
    }
}

#[test]
fn a_schedule_by_hand_need_not_say_everything() {
    for schedule in [
        "main.1: load AtomicU32; main: load AtomicU32, store AtomicU32; main.1: store AtomicU32",
        "main.1: load AtomicU32; main: store AtomicU32; main.1: store AtomicU32",
        "main.1: load it; main: store it",
    ] {
        // Things are known by kind or label.
        let kind = schedule.replace("it", "AtomicU32");
        assert_eq!(
            replayed(&kind, lost_update),
            Err("panic".to_owned()),
            "{kind}"
        );
    }
    assert_eq!(
        replayed("main.1: end; main: load AtomicU32", lost_update),
        Ok(1)
    );
    assert_eq!(replayed("", lost_update), Ok(1));
    // The other thread must end first, of which nothing is said.
    assert_eq!(replayed("main: join main.1, end", lost_update), Ok(1));
    let both = "alice: lock Mutex#1; bob: lock Mutex#2";
    assert_eq!(replayed(both, dinner), Err("deadlock".to_owned()));
    let held = "alice: lock Mutex#1, lock Mutex#2; bob: lock Mutex#2; alice: unlock Mutex#2";
    let problem = "after 2 steps, thread bob should do `lock Mutex#2`, but it cannot do that now";
    assert_eq!(replayed(held, dinner), Err(problem.to_owned()));
}

#[test]
fn what_differs_first_is_named() {
    for (schedule, problem) in [
        (
            "main: begin, spawn main.1, swap AtomicU32",
            "after 2 steps, thread main should do `swap AtomicU32`, but it is at `load AtomicU32`",
        ),
        (
            "main: begin, spawn main.1; main.1: begin, store AtomicU32, load AtomicU32",
            "after 4 steps, thread main.1 should do `load AtomicU32`, but there is no such thread, \
             or it has ended",
        ),
        (
            "main: begin, spawn main.1; main.1: begin, load AtomicU32, store AtomicU32, end; main: \
             load AtomicU32, store AtomicU32, join main.1, load AtomicU32, end; main.2: begin",
            "after 11 steps, thread main.2 should do `begin`, but there is no such thread, or it \
             has ended",
        ),
        (
            "main: begin; other: begin",
            "after 1 step, thread other should do `begin`, but there is no such thread, or it has \
             ended",
        ),
        (
            "main: begin, load AtomicU32=1",
            "after 1 step, thread main should do `load AtomicU32=1`, but it is at `load AtomicU32`",
        ),
        (
            "main: begin, lock Mutex",
            "after 1 step, thread main should do `lock Mutex`, but it is at `spawn`",
        ),
    ] {
        assert_eq!(
            replayed(schedule, lost_update),
            Err(problem.to_owned()),
            "{schedule}"
        );
    }
}
