//! Schedules with few delays, next to all schedules.
//!
//! What a schedule costs is worked out here from its events alone, for programs in which threads wait
//! for nothing but a lock and the end of another thread.

use std::collections::{BTreeMap, BTreeSet};

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Guarantee, Memory, Report, Strategy, thread};
use raddle_engine::object::{Call, mutex};
use raddle_engine::{Event, Execution, Operation, ThreadId};
use raddle_tests::programs::{racy_counter, run_threads};

/// A schedule: who went on at each step, and with which outcome.
type Steps = Vec<(String, u32)>;

fn steps(execution: &Execution) -> Steps {
    let path = |event: &Event| execution.path(event.id.thread).to_string();
    let step = |event: &Event| (path(event), event.outcome.number());
    execution.events.iter().map(step).collect()
}

/// How many threads that could have gone on were passed over.
fn delays(execution: &Execution) -> u32 {
    let events = &execution.events;
    let mut delays = 0;
    let mut last = 0;
    for (position, event) in events.iter().enumerate() {
        let (past, alternative) = events.split_at(position);
        let has_ended = |thread: ThreadId| {
            let is_end = |event: &Event| {
                event.id.thread == thread && matches!(event.operation, Operation::End)
            };
            past.iter().any(is_end)
        };
        let is_locked = |object| {
            let on_it = past
                .iter()
                .rev()
                .find(|event| event.operation.object() == Some(object));
            on_it.is_some_and(|event| !is_unlock(&event.operation))
        };
        let can_go_on = |thread: usize| {
            let id = ThreadId::new(thread);
            let exists = match execution.threads[thread].spawned_by {
                None => true,
                Some(spawn) => past.iter().any(|event| event.id == spawn),
            };
            let next = alternative.iter().find(|event| event.id.thread == id);
            exists
                && next.is_some_and(|event| match event.operation {
                    Operation::Join { target } => has_ended(target),
                    Operation::Call { object, .. } => {
                        is_unlock(&event.operation) || !is_locked(object)
                    }
                    _ => true,
                })
        };
        let mut turn = last;
        while turn != event.id.thread.index() {
            delays += u32::from(can_go_on(turn));
            turn = (turn + 1) % execution.threads.len();
        }
        last = turn;
    }
    delays
}

fn is_unlock(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Call {
            call: Call::Mutex(mutex::Call::Unlock { .. }),
            ..
        }
    )
}

fn run(
    strategy: Strategy,
    program: &(impl Fn() + Send + Sync),
    mut see: impl FnMut(&Execution) + Send,
) -> Report {
    let checker = Checker::new()
        .memory(Memory::Sc)
        .strategy(strategy)
        .keep_going(true)
        .shorten(false);
    raddle::__private::run_observed(checker, program, &mut see)
}

/// Compares the schedules with those of the enumeration; how many there are within each bound.
fn compared(program: impl Fn() + Send + Sync) -> Vec<usize> {
    let mut by_delays = BTreeMap::<u32, BTreeSet<Steps>>::new();
    let all = run(Strategy::Enumerate, &program, |execution| {
        let schedules = by_delays.entry(delays(execution)).or_default();
        assert!(schedules.insert(steps(execution)));
    });
    assert!(all.exhausted);
    let most = *by_delays.keys().last().unwrap();
    let mut counts = Vec::new();
    for bound in 0..=most {
        let mut found = Vec::new();
        let report = run(Strategy::Delay { bound }, &program, |execution| {
            found.push((delays(execution), steps(execution)));
        });
        assert!(
            found.is_sorted_by_key(|&(delays, _)| delays),
            "simple schedules come first"
        );
        counts.push(found.len());
        let set: BTreeSet<Steps> = found.into_iter().map(|(_, steps)| steps).collect();
        assert_eq!(
            set.len() as u64,
            report.executions,
            "a schedule was run twice"
        );
        let expected = by_delays
            .range(..=bound)
            .flat_map(|(_, schedules)| schedules);
        assert!(
            set.iter().eq(expected.collect::<BTreeSet<_>>()),
            "{bound} delays"
        );
        let guarantee = match bound == most {
            true => Guarantee::Exhaustive,
            false => Guarantee::Delayed { delays: bound },
        };
        assert_eq!(report.guarantee(), guarantee);
    }
    counts
}

#[test]
fn increments_that_tear() {
    let counts = compared(|| {
        racy_counter(2, 1);
    });
    assert_eq!(counts[0], 1, "threads take turns");
}

#[test]
fn locks_and_choices() {
    let counts = compared(|| {
        let lock = Arc::new(Mutex::new(0));
        run_threads(2, move |_| *lock.lock().unwrap() += raddle::choose(0..2));
    });
    assert_eq!(counts[0], 4, "choices cost nothing");
}

#[test]
fn threads_that_nobody_waits_for() {
    let counts = compared(|| {
        let value = Arc::new(AtomicU32::new(0));
        for _ in 0..2 {
            let value = Arc::clone(&value);
            thread::spawn(move || value.store(1, SeqCst));
        }
    });
    assert_eq!(counts[0], 1);
}

/// An update is lost if the second thread comes between the read and the write of the first: one delay.
#[test]
fn one_delay_loses_an_update() {
    let lost = |bound| {
        let checker = Checker::new().memory(Memory::Sc);
        let checker = checker.strategy(Strategy::Delay { bound });
        let report = checker.run(|| assert_eq!(racy_counter(2, 1), 2));
        report.failures.first().map(|failure| failure.kind)
    };
    assert_eq!(lost(0), None);
    assert_eq!(lost(1), Some(FailureKind::Panic));
}

#[test]
fn the_report_says_how_far_it_went() {
    let report = Checker::new().strategy("delay:1".parse().unwrap()).run(|| {
        racy_counter(2, 1);
    });
    let text = report.to_string();
    let start = format!(
        "every schedule up to 1 delay was run: {} classes in {} runs (delay:1, ",
        report.classes(),
        report.executions
    );
    assert!(text.starts_with(&start), "{text}");
    assert!(report.classes() < report.executions);
}

#[test]
fn the_bound_follows_the_name() {
    assert_eq!("delay".parse(), Ok(Strategy::Delay { bound: 2 }));
    assert_eq!("delay:0".parse(), Ok(Strategy::Delay { bound: 0 }));
    assert_eq!("DELAY:17".parse(), Ok(Strategy::Delay { bound: 17 }));
    for bad in ["delay:", "delay:x", "delay:-1", "delay 2", "17", ""] {
        let error = bad.parse::<Strategy>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "unknown strategy `{bad}`; there are: auto, exhaustive, random, pct, pos, urw, surw, \
                 history, noise, race-directed, atomicity-directed, deadlock-directed, enumerate, \
                 coverage, coverage(METRIC), delay, and pct:3 for bugs of depth 3, noise:0.1 for interruptions with probability 0.1, delay:3 for at most 3 \
                 delays, directed: and an alternative for one execution that does what it says"
            )
        );
    }
}
