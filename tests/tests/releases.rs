//! `Reduction::Releases` against all schedules: what it keeps in the programs that its documentation calls
//! safe, what it leaves out in others, and what holds in all.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Semaphore};
use raddle::{Checker, Guarantee, Reduction, Report, Strategy, thread};
use raddle_tests::suite::{Suite, Verdict};

use Statement::*;

/// Programs with more schedules than this are too much for the enumeration.
const MAX_SCHEDULES: u64 = 30_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Statement {
    Acquire(usize),
    TryAcquire(usize),
    Release(usize),
    Load(usize),
    Store(usize, u32),
    Add(usize),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Program {
    permits: [u32; 2],
    threads: Vec<Vec<Statement>>,
}

/// What the threads observed: by thread, the replies to its statements. A thread that waits for ever has
/// fewer than statements.
type Observed = Vec<Vec<u32>>;

impl Program {
    /// Runs the program inside a check.
    fn run(&self, observed: &Arc<Mutex<Observed>>) {
        *observed.lock().unwrap() = vec![Vec::new(); self.threads.len()];
        let semaphores = Arc::new(self.permits.map(|permits| Semaphore::new(permits as usize)));
        let variables = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let start = |(number, body): (usize, &Vec<Statement>)| {
            let (semaphores, variables) = (Arc::clone(&semaphores), Arc::clone(&variables));
            let (observed, body) = (Arc::clone(observed), body.clone());
            thread::spawn(move || {
                for statement in body {
                    let reply = match statement {
                        Acquire(s) => {
                            semaphores[s].acquire();
                            0
                        }
                        TryAcquire(s) => u32::from(semaphores[s].try_acquire()),
                        Release(s) => {
                            semaphores[s].release();
                            0
                        }
                        Load(x) => variables[x].load(SeqCst),
                        Store(x, value) => {
                            variables[x].store(value, SeqCst);
                            0
                        }
                        Add(x) => variables[x].fetch_add(10, SeqCst),
                    };
                    observed.lock().unwrap()[number].push(reply);
                }
            })
        };
        let threads: Vec<_> = self.threads.iter().enumerate().map(start).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    /// What all executions of the check observed, each with its class, and the report.
    fn executions(&self, checker: Checker) -> (BTreeSet<Observed>, HashSet<u64>, Report) {
        let observed = Arc::new(Mutex::new(Observed::new()));
        let (mut all, mut classes) = (BTreeSet::new(), HashSet::new());
        let checker = checker.keep_going(true).shorten(false);
        let report =
            raddle::__private::run_observed(checker, || self.run(&observed), &mut |execution| {
                all.insert(observed.lock().unwrap().clone());
                classes.insert(execution.fingerprint());
            });
        (all, classes, report)
    }

    /// What every schedule observes, and the classes; `None` if there are too many schedules.
    fn all(&self) -> Option<(BTreeSet<Observed>, HashSet<u64>)> {
        let checker = Checker::new().strategy(Strategy::EnumeratePrivateFirst);
        let (all, classes, report) = self.executions(checker.max_executions(MAX_SCHEDULES));
        report.exhausted.then_some((all, classes))
    }

    /// The same of the executions that the reduction leaves.
    fn reduced(&self) -> (BTreeSet<Observed>, HashSet<u64>) {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        let (some, classes, report) = self.executions(checker.reduce(Reduction::Releases));
        assert_eq!(report.guarantee(), Guarantee::Reduced);
        assert!(!report.exhausted, "classes were left out");
        assert_eq!(
            report.executions,
            classes.len() as u64,
            "a class was run twice"
        );
        (some, classes)
    }

    /// Compares the two; returns how many of the observations and of the classes are left, and of how many.
    fn compare(&self) -> Option<[usize; 4]> {
        let (all, every_class) = self.all()?;
        let (some, classes) = self.reduced();
        assert!(classes.is_subset(&every_class), "a class was invented");
        assert!(some.is_subset(&all));
        Some([some.len(), all.len(), classes.len(), every_class.len()])
    }
}

fn statement(rng: &mut Rng, tries: bool, releases: bool) -> Statement {
    // Mostly the same ones, so that threads meet.
    let mut one = || usize::from(rng.u32(0..4) == 0);
    let (s, x) = (one(), one());
    match rng.u32(0..12) {
        0..3 => Acquire(s),
        3..4 if tries => TryAcquire(s),
        4..7 if releases => Release(s),
        3..8 => Load(x),
        8..10 => Store(x, rng.u32(1..5)),
        _ => Add(x),
    }
}

fn body(rng: &mut Rng, longest: usize, tries: bool, releases: bool) -> Vec<Statement> {
    let length = rng.usize(1..=longest);
    (0..length)
        .map(|_| statement(rng, tries, releases))
        .collect()
}

/// Any program: a thread may release after other operations, and try to acquire.
fn any(rng: &mut Rng) -> Program {
    let count = rng.usize(2..=3);
    Program {
        permits: [rng.u32(0..3), rng.u32(0..2)],
        threads: (0..count)
            .map(|_| body(rng, 6 - count, true, true))
            .collect(),
    }
}

/// A program of the kind that is called safe: the releases of a thread are its first operations, and no
/// thread tries to acquire.
fn safe(rng: &mut Rng) -> Program {
    let mut program = any(rng);
    for (number, thread) in program.threads.iter_mut().enumerate() {
        let releases = rng.usize(usize::from(number == 0)..=2);
        let first: Vec<_> = (0..releases)
            .map(|_| Release(usize::from(rng.u32(0..4) == 0)))
            .collect();
        *thread = body(rng, 3, false, false);
        thread.splice(0..0, first);
    }
    program
}

#[test]
fn programs_whose_threads_release_first_keep_every_observation() {
    let (mut left, mut all) = (0, 0);
    Suite::new(50, 1).run(safe, |program, _| {
        let Some([some, every, classes, every_class]) = program.compare() else {
            return Verdict::Skipped;
        };
        assert_eq!(some, every, "{program:?}");
        left += classes;
        all += every_class;
        Verdict::Agreed
    });
    println!("{left} of {all} classes are left");
    assert!(left < all);
}

#[test]
fn programs_of_any_kind_run_real_classes_once() {
    let (mut losing, mut left, mut all) = (0, 0, 0);
    let programs = Suite::new(50, 2).run(any, |program, _| {
        let Some([some, every, classes, every_class]) = program.compare() else {
            return Verdict::Skipped;
        };
        losing += u64::from(some < every);
        left += classes;
        all += every_class;
        Verdict::Agreed
    });
    println!("{losing} of {programs} lose observations, {left} of {all} classes are left");
    assert!(left < all && losing > 0);
}

/// Name, permits at first, threads, and the numbers of observations with and without the reduction.
type Case = (&'static str, u32, Vec<Vec<Statement>>, [usize; 2]);

/// The kinds of loss that the documentation names, each in the least program: the number of observations that
/// are left, and of all.
#[test]
fn what_is_lost_is_what_the_documentation_names() {
    let cases: [Case; 5] = [
        (
            "an attempt that fails because it comes before the release",
            0,
            vec![vec![Release(0)], vec![TryAcquire(0)]],
            [1, 2],
        ),
        (
            "a load, after an acquire, of what was there before a store that precedes the release",
            1,
            vec![vec![Store(0, 1), Release(0)], vec![Acquire(0), Load(0)]],
            [1, 2],
        ),
        (
            "a load before the release of what was stored after an acquire",
            1,
            vec![vec![Load(0), Release(0)], vec![Acquire(0), Store(0, 1)]],
            [1, 2],
        ),
        (
            "the end in which the thread that would release waits for ever",
            1,
            vec![vec![Acquire(1), Release(0)], vec![Acquire(0), Acquire(1)]],
            [1, 2],
        ),
        (
            "nothing if the release is the first operation",
            1,
            vec![vec![Release(0), Store(0, 1)], vec![Acquire(0), Load(0)]],
            [2, 2],
        ),
    ];
    for (what, permits, threads, expected) in cases {
        let program = Program {
            permits: [permits, 1],
            threads,
        };
        let [some, every, ..] = program.compare().expect("it is small");
        println!("{what}: {some} of {every}");
        assert_eq!([some, every], expected, "{what}");
    }
}
