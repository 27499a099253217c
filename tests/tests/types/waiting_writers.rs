//! Writers that wait for an `RwLock`, and threads that read under it twice.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;

use raddle::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use raddle::{Checker, FailureKind, Strategy, thread};
use raddle_tests::{classes, exhaust, exhaust_undisturbed};

#[test]
fn a_thread_may_read_twice() {
    let program = || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() += 1);
        let outer = lock.read().unwrap();
        let inner = lock.read().unwrap();
        drop(outer);
        assert!(lock.try_write().is_err(), "it still reads");
        drop(inner);
        thread.join().unwrap();
    };
    let report = exhaust_undisturbed(program);
    report.assert_ok();
    assert_eq!(report.classes(), 2, "the writer before or behind");
    // On some systems, the second read waits behind the writer.
    let report = exhaust(program);
    assert_eq!(report.classes(), 3);
    let kinds: Vec<_> = report.failures.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FailureKind::Deadlock]);
}

#[test]
fn a_writer_that_waits_is_the_reason_of_a_deadlock() {
    let program = || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() += 1);
        {
            let _outer = lock.read().unwrap();
            let _inner = lock.read().unwrap();
        }
        thread.join().unwrap();
    };
    let checker = || Checker::new().strategy(Strategy::Exhaustive);
    let report = checker().run(program);
    let failure = &report.failures[0];
    assert_eq!(failure.kind, FailureKind::Deadlock);
    let lines: Vec<_> = failure.message.lines().collect();
    let [main, writer, help] = lines[..] else {
        panic!("{}", failure.message);
    };
    assert!(
        main.starts_with("main holds RwLock `lock` (since "),
        "{main}"
    );
    assert!(
        main.ends_with(
            " for RwLock `lock`: main.1 waits to write, and this system's lock lets no further reader in"
        ),
        "{main}"
    );
    assert!(writer.starts_with("main.1 waits at "), "{writer}");
    assert!(
        writer.ends_with(" for RwLock `lock`, held by main"),
        "{writer}"
    );
    assert!(
        help.starts_with("help: std leaves open whether a writer that waits"),
        "{help}"
    );
    let text = failure.to_string();
    assert!(text.contains("a writer that waits goes first"), "{text}");
    // The schedule shows it again, as a token and as text.
    let schedule = failure.schedule.clone();
    for schedule in [schedule.to_token().parse().unwrap(), schedule] {
        let again = checker().strategy(Strategy::Replay(schedule)).run(program);
        assert_eq!(again.failures[0].message, failure.message);
    }
    // Without the choice, a warning remains.
    let report = checker().waiting_writers(false).run(program);
    report.assert_ok();
    assert!(report.exhausted);
    assert_eq!(report.warnings[0].kind, FailureKind::LockOrder);
    // Random schedules find it, and waste none.
    for strategy in ["random", "pct", "pos", "urw"] {
        let checker = Checker::new().set_option("strategy", strategy);
        let report = checker.max_executions(10_000).run(program);
        assert_eq!(
            report.failures[0].kind,
            FailureKind::Deadlock,
            "{strategy}: {report}"
        );
        assert_eq!(report.discarded, 0, "{strategy}: {report}");
    }
}

/// Without a writer there is nothing to wait for.
#[test]
fn a_thread_that_reads_twice_waits_for_writers_only() {
    let program = || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.read().unwrap());
        {
            let _outer = lock.read().unwrap();
            let _inner = lock.read().unwrap();
        }
        thread.join().unwrap();
        // The writer comes when the reader has gone.
        *lock.write().unwrap() += 1;
    };
    assert_eq!(classes(program), exhaust_undisturbed(program).classes());
}

/// A step of a program of one lock; guards are released in the opposite order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    R,
    W,
    U,
}
use Step::{R, U, W};

/// All sequences of the test below: up to two guards at a time.
const SEQUENCES: [&[Step]; 9] = [
    &[R, U],
    &[W, U],
    &[R, R, U, U],
    &[R, R, U, R, U, U],
    &[R, U, R, U],
    &[R, U, W, U],
    &[W, U, R, R, U, U],
    &[R, W, U, U],
    &[W, R, U, U],
];

/// The final positions of the threads, by walking through all states: an independent reading of std's
/// documentation, in which a second read waits for ever if a writer waits.
fn final_positions(threads: &[&[Step]]) -> BTreeSet<Vec<usize>> {
    type State = (Vec<usize>, Vec<Vec<Step>>, Vec<bool>);
    let mut found = BTreeSet::new();
    let mut known = Vec::<State>::new();
    let empty = vec![Vec::new(); threads.len()];
    let mut left = vec![(vec![0; threads.len()], empty, vec![false; threads.len()])];
    while let Some(state) = left.pop() {
        if known.contains(&state) {
            continue;
        }
        known.push(state.clone());
        let (at, held, kept_out) = &state;
        let mut is_over = true;
        for thread in 0..threads.len() {
            let Some(&step) = threads[thread].get(at[thread]) else {
                continue;
            };
            if kept_out[thread] {
                continue;
            }
            let others = |step: Step| (0..threads.len()).any(|other| held[other].contains(&step));
            let is_open = match step {
                R => !others(W),
                W => !others(W) && !others(R),
                U => true,
            };
            let writer_waits = (0..threads.len())
                .any(|other| other != thread && threads[other].get(at[other]) == Some(&W));
            if step == R && held[thread].contains(&R) && writer_waits {
                let mut next = state.clone();
                next.2[thread] = true;
                left.push(next);
                is_over = false;
            }
            if is_open {
                let mut next = state.clone();
                next.0[thread] += 1;
                match step {
                    R | W => next.1[thread].push(step),
                    U => _ = next.1[thread].pop(),
                }
                left.push(next);
                is_over = false;
            }
        }
        if is_over {
            found.insert(at.clone());
        }
    }
    found
}

/// The same, as raddle finds it.
fn positions_found(threads: &[&[Step]]) -> BTreeSet<Vec<usize>> {
    let found = StdMutex::new(BTreeSet::new());
    let count = threads.len();
    let body = || {
        let lock = RwLock::new(());
        let lock = &lock;
        thread::scope(|scope| {
            for steps in threads {
                scope.spawn(move || run(lock, steps));
            }
        });
    };
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .keep_going(true)
        .shorten(false);
    let mut observe = |execution: &raddle_engine::Execution| {
        let mut at = vec![0; count];
        for event in &execution.events {
            if event.operation.object().is_some() {
                at[event.id.thread.index() - 1] += 1;
            }
        }
        found.lock().unwrap().insert(at);
    };
    let report = raddle::__private::run_observed(checker, body, &mut observe);
    assert!(report.exhausted, "{report}");
    found.into_inner().unwrap()
}

fn run(lock: &RwLock<()>, steps: &[Step]) {
    enum Guard<'a> {
        Read(#[allow(dead_code)] RwLockReadGuard<'a, ()>),
        Write(#[allow(dead_code)] RwLockWriteGuard<'a, ()>),
    }
    let mut guards = Vec::new();
    for step in steps {
        match step {
            R => guards.push(Guard::Read(lock.read().unwrap())),
            W => guards.push(Guard::Write(lock.write().unwrap())),
            U => drop(guards.pop()),
        }
    }
}

#[test]
fn threads_end_where_std_lets_them_end() {
    let mut programs = 0;
    let mut with_kept_out = 0;
    for (index, first) in SEQUENCES.iter().enumerate() {
        for (other, second) in SEQUENCES.iter().enumerate().skip(index) {
            // Two threads, and three.
            let thirds = SEQUENCES[other..].iter().map(Some).take(3);
            for third in [None].into_iter().chain(thirds) {
                let threads: Vec<&[Step]> = [Some(first), Some(second), third]
                    .into_iter()
                    .flatten()
                    .copied()
                    .collect();
                if threads.iter().map(|steps| steps.len()).sum::<usize>() > 10 {
                    continue;
                }
                let expected = final_positions(&threads);
                assert_eq!(positions_found(&threads), expected, "{threads:?}");
                programs += 1;
                with_kept_out += usize::from(expected.len() > 1);
            }
        }
    }
    assert!(
        programs >= 50 && with_kept_out >= 20,
        "{programs}, {with_kept_out}"
    );
}
