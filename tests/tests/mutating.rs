//! Changed operations: a program that runs with a change has the behaviours of the program whose source has it.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use fastrand::Rng;
use raddle::__private::run_observed;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, fence};
use raddle::{Checker, Strategy, thread};
use raddle_engine::{Execution, load_buffering};
use raddle_tests::suite::{Suite, Verdict};

/// A statement of a thread, at one of two locations.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Statement {
    Load(usize, Ordering),
    Store(usize, Ordering),
    Swap(usize, Ordering),
    Exchange(usize, Ordering, Ordering),
    Fence(Ordering),
    Nothing,
}

use Statement::{Exchange, Fence, Load, Nothing, Store, Swap};

type Memory = [AtomicU32; 2];

/// The function of a statement, and its place.
type Line = (fn(Statement, &Memory) -> u32, &'static str);

/// A function with a place of its own, at which it performs any statement.
macro_rules! spot {
    () => {
        (
            |statement, memory| match statement {
                Load(at, ordering) => memory[at].load(ordering),
                Store(at, ordering) => {
                    memory[at].store(1, ordering);
                    0
                }
                Swap(at, ordering) => memory[at].swap(2, ordering),
                Exchange(at, success, failure) => memory[at]
                    .compare_exchange(0, 3, success, failure)
                    .unwrap_or_else(|old| old + 10),
                Fence(ordering) => {
                    fence(ordering);
                    0
                }
                Nothing => 0,
            },
            concat!(file!(), ":", line!(), ":", column!()),
        )
    };
}

const LINES: [[Line; 3]; 2] = [[spot!(), spot!(), spot!()], [spot!(), spot!(), spot!()]];

type Program = [[Statement; 3]; 2];

/// Draws a program, mostly of loads and stores with the strongest orderings: others rarely depend on one of them.
fn random(rng: &mut Rng) -> Program {
    let mut one = |_| {
        let at = rng.usize(..2);
        let kind = rng.usize(..10);
        let mut any = |orderings: &[Ordering]| match rng.u8(..4) {
            0 => orderings[rng.usize(..orderings.len())],
            _ => orderings[0],
        };
        let (loads, stores) = ([SeqCst, Acquire, Relaxed], [SeqCst, Release, Relaxed]);
        let updates = [SeqCst, AcqRel, Acquire, Release, Relaxed];
        match kind {
            0..4 => Load(at, any(&loads)),
            4..8 => Store(at, any(&stores)),
            8 => match any(&[Relaxed, SeqCst]) {
                Relaxed => Swap(at, any(&updates)),
                _ => Exchange(at, any(&updates), any(&loads)),
            },
            _ => Fence(any(&updates[..4])),
        }
    };
    [(); 2].map(|()| [0, 1, 2].map(&mut one))
}

/// The changes of a statement: the word for the operation, the change, and the changed statement.
fn changes(statement: Statement) -> Vec<(&'static str, String, Statement)> {
    let below = |ordering: Ordering, of: &[Ordering]| -> Vec<Ordering> {
        let is_weaker = |new: &Ordering| match (ordering, new) {
            (SeqCst, SeqCst) | (Relaxed, _) => false,
            (SeqCst, _) => true,
            (AcqRel, new) => !matches!(new, SeqCst | AcqRel),
            (_, new) => *new == Relaxed,
        };
        of.iter().copied().filter(is_weaker).collect()
    };
    let (loads, stores) = ([Acquire, Relaxed], [Release, Relaxed]);
    let updates = [AcqRel, Acquire, Release, Relaxed];
    let named = |label, new: Ordering, statement| (label, format!("{new:?}"), statement);
    match statement {
        Load(at, it) => (below(it, &loads).into_iter())
            .map(|new| named("load", new, Load(at, new)))
            .collect(),
        Store(at, it) => (below(it, &stores).into_iter())
            .map(|new| named("store", new, Store(at, new)))
            .collect(),
        Swap(at, it) => (below(it, &updates).into_iter())
            .map(|new| named("swap", new, Swap(at, new)))
            .collect(),
        Exchange(at, success, failure) => {
            let label = "compare-exchange";
            let successes = below(success, &updates).into_iter();
            let failures = below(failure, &loads).into_iter();
            successes
                .map(|new| named(label, new, Exchange(at, new, failure)))
                .chain(failures.map(|new| {
                    (
                        label,
                        format!("failure={new:?}"),
                        Exchange(at, success, new),
                    )
                }))
                .collect()
        }
        Fence(it) => (below(it, &updates[..3]).into_iter())
            .map(|new| named("fence", new, Fence(new)))
            .chain([("fence", "omit".to_owned(), Nothing)])
            .collect(),
        Nothing => Vec::new(),
    }
}

/// The values that the threads read, and those that are left.
type Outcomes = BTreeSet<Vec<u32>>;

fn run(program: Program) -> Vec<u32> {
    let memory: Arc<Memory> = Arc::default();
    let run = move |number: usize, memory: &Memory| {
        let lines = LINES[number].iter().zip(program[number]);
        lines
            .map(|((line, _), it)| line(it, memory))
            .collect::<Vec<_>>()
    };
    let other = Arc::clone(&memory);
    let thread = thread::spawn(move || run(1, &other));
    let mut outcome = run(0, &memory);
    outcome.extend(thread.join().unwrap());
    outcome.extend(memory.iter().map(|it| it.load(SeqCst)));
    outcome
}

fn explore(program: Program, mutant: Option<&str>) -> (Outcomes, u64) {
    let outcomes = StdMutex::new(Outcomes::new());
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let checker = match mutant {
        Some(mutant) => raddle::__private::with_mutant(checker, mutant),
        None => checker,
    };
    let report = checker.run(|| {
        outcomes.lock().unwrap().insert(run(program));
    });
    report.assert_ok();
    assert!(report.exhausted);
    (outcomes.into_inner().unwrap(), report.classes())
}

#[test]
fn a_changed_program_is_the_program_with_the_change_in_its_source() {
    let (mut all, mut different) = (0, 0);
    Suite::new(500, 1).run(random, |&program, rng| {
        let (mut mutants, mut changed) = (Vec::new(), program);
        for (thread, at) in (0..6).map(|number| (number / 3, number % 3)) {
            let changes = changes(program[thread][at]);
            if !changes.is_empty() && rng.u8(..3) > 0 {
                let (label, change, statement) = &changes[rng.usize(..changes.len())];
                mutants.push(format!("{} {label} {change}", LINES[thread][at].1));
                changed[thread][at] = *statement;
            }
        }
        if mutants.is_empty() {
            return Verdict::Skipped;
        }
        let mutant = mutants.join("; ");
        let expected = explore(changed, None);
        assert_eq!(explore(program, Some(&mutant)), expected, "{mutant}");
        all += 1;
        different += u32::from(explore(program, None) != expected);
        Verdict::Agreed
    });
    assert!(
        different * 20 > all,
        "{different} of {all} changes make a difference"
    );
}

/// Waits in a loop whose load has this ordering; returns the numbers of classes and of runs.
fn wait(ordering: Ordering, change: Option<&str>) -> (u64, u64) {
    let (look, place) = LINES[0][0];
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let checker = match change {
        Some(change) => raddle::__private::with_mutant(checker, &format!("{place} load {change}")),
        None => checker,
    };
    let report = checker.max_executions(1_000).run(move || {
        let memory: Arc<Memory> = Arc::default();
        let other = Arc::clone(&memory);
        let thread = thread::spawn(move || other[0].store(1, Release));
        while look(Load(0, ordering), &memory) == 0 {}
        thread.join().unwrap();
    });
    report.assert_ok();
    assert!(report.exhausted, "{:?}", report.runs());
    (report.classes(), report.runs())
}

#[test]
fn a_loop_whose_load_is_changed_is_found_as_soon_as_another() {
    assert_eq!(wait(SeqCst, Some("Relaxed")), wait(Relaxed, None));
}

#[test]
fn a_change_that_fits_nothing_changes_nothing() {
    let program = [[Load(0, Relaxed); 3], [Store(0, Relaxed); 3]];
    let place = LINES[0][0].1;
    for mutant in [
        format!("{place} store Relaxed"),
        format!("{place} load omit"),
        format!("{place}1 load Acquire"),
    ] {
        assert_eq!(
            explore(program, Some(&mutant)),
            explore(program, None),
            "{mutant}"
        );
    }
}

/// The places of accesses that load buffering could use, in all executions.
fn unordered(program: Program) -> usize {
    let mut sites = BTreeSet::new();
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let mut see = |execution: &Execution| sites.extend(load_buffering::unordered_sites(execution));
    run_observed(checker, || drop(run(program)), &mut see).assert_ok();
    sites.len()
}

#[test]
fn load_buffering_needs_loads_before_stores_and_one_that_does_not_synchronize() {
    let (x, y) = (0, 1);
    let buffers = |first, second, third, fourth| {
        [
            [Load(x, first), Store(y, second), Nothing],
            [Load(y, third), Store(x, fourth), Nothing],
        ]
    };
    for (name, program, expected) in [
        ("relaxed", buffers(Relaxed, Relaxed, Relaxed, Relaxed), 4),
        (
            "synchronized",
            buffers(Acquire, Release, SeqCst, Release),
            0,
        ),
        // The store that it reads from, and the load.
        (
            "one relaxed load",
            buffers(Relaxed, Release, Acquire, Release),
            2,
        ),
        (
            "one relaxed store",
            buffers(Acquire, Relaxed, Acquire, Release),
            2,
        ),
        (
            "store buffering",
            [
                [Store(x, Relaxed), Load(y, Relaxed), Nothing],
                [Store(y, Relaxed), Load(x, Relaxed), Nothing],
            ],
            0,
        ),
        (
            "message passing",
            [
                [Store(x, Relaxed), Store(y, Relaxed), Nothing],
                [Load(y, Relaxed), Load(x, Relaxed), Nothing],
            ],
            0,
        ),
        (
            "one location",
            [[Load(x, Relaxed), Store(x, Relaxed), Nothing]; 2],
            0,
        ),
        (
            "an update that writes",
            [
                [Swap(x, Relaxed), Store(y, Relaxed), Nothing],
                [Load(y, Relaxed), Swap(x, Relaxed), Nothing],
            ],
            4,
        ),
    ] {
        assert_eq!(unordered(program), expected, "{name}");
    }
}
