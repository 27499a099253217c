//! `Reduction::Paths` against the full search and all schedules, on random programs: the same classes but for
//! accesses of ignored values, each once, with the same values, failures and races.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex as StdMutex, PoisonError};

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering};
use raddle::sync::{Arc, Mutex};
use raddle::{
    Checker, FailureKind, Guarantee, Ignored, Memory, Reduction, Report, Strategy, thread,
};
use raddle_engine::{ClassEntry, Execution};
use raddle_tests::races::Shared;
use raddle_tests::resumed::Scratch;
use raddle_tests::suite::{Suite, Verdict};

use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use Statement::*;

/// Programs with more classes than this are skipped.
const MAX_CLASSES: u64 = 4_000;
/// Programs with more schedules than this are not enumerated.
const MAX_SCHEDULES: u64 = 3_000;
/// The first value of an ignored location, by which it is recognised; no other location has one as large.
const IGNORED: u32 = 1_000;

/// A statement. Each thread has a register that reads of variables fill and that stores and branches use, and one for
/// what it reads of statistics.
#[derive(Clone, Debug)]
enum Statement {
    /// register = x
    Load(usize, Ordering),
    /// x = register + constant
    Store(usize, u32, Ordering),
    /// register = x; x += constant
    Add(usize, u32, Ordering),
    /// register = x; x = register + 1 if it was the constant
    Exchange(usize, u32, Ordering),
    /// the first statements if the register is odd, else the others
    If(Vec<Statement>, Vec<Statement>),
    /// with a lock held, the statements
    Lock(usize, Vec<Statement>),
    /// reads or writes a cell
    Plain(bool),
    /// panics if the register is the constant
    Fail(u32),
    /// statistic += 1
    Count(usize),
    /// statistic = register
    Keep(usize),
    /// statistics = the sum of both
    Sum(usize, usize),
    /// register = statistic, which makes it none
    Lie(usize),
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Statement>>,
    memory: Memory,
    /// True when statistics may decide something.
    lies: bool,
}

/// Variables, locks, a cell and statistics.
struct World {
    variables: [AtomicU32; 2],
    locks: [Mutex<()>; 2],
    cell: Shared,
    statistics: [Ignored<AtomicU32>; 2],
}

/// By thread, what it has done: the number of the statement's kind, and the register after it.
type Observed = BTreeMap<usize, Vec<(u8, u32)>>;

struct Thread<'a> {
    world: &'a World,
    number: usize,
    register: u32,
    observed: &'a StdMutex<Observed>,
}

impl Thread<'_> {
    fn run(&mut self, statements: &[Statement]) {
        for statement in statements {
            let kind = self.step(statement);
            let mut observed = self.observed.lock().unwrap();
            let own = observed.entry(self.number).or_default();
            own.push((kind, self.register));
        }
    }

    fn step(&mut self, statement: &Statement) -> u8 {
        let World {
            variables,
            locks,
            cell,
            statistics,
        } = self.world;
        match *statement {
            Load(x, ordering) => {
                self.register = variables[x].load(ordering);
                0
            }
            Store(x, add, ordering) => {
                variables[x].store((self.register + add) % 8, ordering);
                1
            }
            Add(x, add, ordering) => {
                self.register = variables[x].fetch_add(add, ordering) % 8;
                2
            }
            Exchange(x, expected, ordering) => {
                let (new, failure) = ((self.register + 1) % 8, Relaxed);
                let result = variables[x].compare_exchange(expected, new, ordering, failure);
                self.register = result.unwrap_or_else(|old| old) % 8;
                3
            }
            If(ref odd, ref even) => {
                self.run(if self.register % 2 == 1 { odd } else { even });
                4
            }
            Lock(number, ref inner) => {
                let _guard = locks[number].lock().unwrap_or_else(PoisonError::into_inner);
                self.run(inner);
                5
            }
            Plain(true) => {
                cell.write();
                6
            }
            Plain(false) => {
                cell.read();
                7
            }
            Fail(value) => {
                assert!(self.register != value, "thread {} fails", self.number);
                8
            }
            Count(i) => {
                statistics[i].fetch_add(1, Relaxed);
                9
            }
            Keep(i) => {
                statistics[i].store(self.register, Relaxed);
                10
            }
            Sum(i, j) => {
                let sum = statistics[i]
                    .load(Relaxed)
                    .wrapping_add(statistics[j].load(Relaxed));
                statistics[i].store(sum, Relaxed);
                11
            }
            Lie(i) => {
                self.register = statistics[i].load(Relaxed) % 8;
                12
            }
        }
    }
}

/// What executions of a check have in common with those of another, whatever happens to ignored values.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// By class without ignored accesses: whether it has a race, and the number of panics.
    classes: HashMap<Vec<ClassEntry>, (bool, usize)>,
    observed: BTreeSet<Observed>,
    failures: BTreeSet<(String, String)>,
}

/// Returns the class of an execution without the accesses of ignored locations.
fn without_ignored(execution: &Execution) -> Vec<ClassEntry> {
    let is_ignored = |event: &&raddle_engine::Event| {
        let location = event.operation.location();
        location.is_some_and(|it| execution.locations[it.index()].initial >= u64::from(IGNORED))
    };
    let ignored: BTreeSet<_> = (execution.events.iter().filter(is_ignored))
        .map(|event| (execution.path(event.id.thread), event.id.index))
        .collect();
    let mut class = execution.class();
    class.retain(|entry| !ignored.contains(&entry.event));
    class
}

impl Found {
    /// Removes failures of executions that have others as well: which of them comes first in a run is no part of a class.
    fn with_single_failures(mut self) -> Self {
        if self
            .classes
            .values()
            .any(|&(races, panics)| races || panics > 0)
        {
            self.failures.clear();
        }
        self
    }
}

impl Program {
    fn run(&self, observed: &Arc<StdMutex<Observed>>) {
        observed.lock().unwrap().clear();
        let world = Arc::new(World {
            variables: [0, 0].map(AtomicU32::new),
            locks: [(), ()].map(Mutex::new),
            cell: Shared::default(),
            statistics: [IGNORED, IGNORED + 1].map(|first| Ignored::new(AtomicU32::new(first))),
        });
        let start = |(number, statements): (usize, &Vec<Statement>)| {
            let (world, observed) = (Arc::clone(&world), Arc::clone(observed));
            let statements = statements.clone();
            thread::spawn(move || {
                Thread {
                    world: &world,
                    number,
                    register: number as u32,
                    observed: &observed,
                }
                .run(&statements);
            })
        };
        let threads: Vec<_> = self.threads.iter().enumerate().map(start).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    fn checker(&self) -> Checker {
        Checker::new()
            .strategy(Strategy::Exhaustive)
            .memory(self.memory)
            .keep_going(true)
            .shorten(false)
            .predictions(raddle::Level::Allow)
            .weak_cas(false)
    }

    /// Runs the program, and adds what is found; panics if a class with these entries is there already and `is_once`.
    fn check(&self, checker: Checker, is_once: bool, found: &mut Found) -> Report {
        let observed = Arc::new(StdMutex::new(Observed::new()));
        let Found {
            classes,
            observed: all,
            failures,
        } = found;
        let run = || self.run(&observed);
        let report = raddle::__private::run_observed(checker, run, &mut |execution| {
            all.insert(observed.lock().unwrap().clone());
            let what = (execution.conflict.is_some(), execution.panics.len());
            let known = classes.insert(without_ignored(execution), what);
            assert!(known.is_none() || !is_once, "a class was run twice");
            assert!(
                self.lies || known.is_none_or(|known| known == what),
                "an ignored value decides on a race or a panic"
            );
        });
        for failure in &report.failures {
            // Stale reads may be of ignored values. Of several races in one execution the one that comes first in the
            // run is reported, which is no part of a class; whether there is one is.
            let is_race = failure.kind == FailureKind::DataRace;
            let lines = failure.message.lines();
            let lines = lines.filter(|line| {
                !is_race && !line.starts_with("stale: ") && !line.ends_with("more stale reads")
            });
            let mut lines: Vec<_> = lines.collect();
            lines.sort_unstable();
            // Things without a name are numbered in the order of their first uses in the run.
            let message = lines.join("\n").replace("#1", "").replace("#2", "");
            failures.insert((failure.kind.to_string(), message));
        }
        report
    }

    /// Runs the full search; returns the number of its classes as well, and `None` if it is too large.
    fn full(&self) -> Option<(Found, u64)> {
        let mut found = Found::default();
        let report = self.check(
            self.checker().max_executions(MAX_CLASSES),
            false,
            &mut found,
        );
        (report.exhausted).then(|| (found.with_single_failures(), report.classes()))
    }

    fn reduced(&self, workers: usize) -> (Found, Report) {
        let mut found = Found::default();
        let checker = self.checker().reduce(Reduction::Paths).workers(workers);
        let report = self.check(checker, true, &mut found);
        (found.with_single_failures(), report)
    }

    /// Runs the reduced search in pieces, each of which is read from a file.
    fn in_pieces(&self) -> Found {
        let (file, mut found) = (Scratch::new("paths"), Found::default());
        loop {
            let checker = self.checker().reduce(Reduction::Paths).max_executions(5);
            let checker = checker
                .checkpoint(&file.0)
                .checkpoint_every_executions(u64::MAX)
                .resume(true);
            let report = self.check(checker, true, &mut found);
            if report.resume.is_none() {
                assert_eq!(report.guarantee(), Guarantee::Paths, "{report}");
                return found.with_single_failures();
            }
        }
    }
}

fn statement(rng: &mut Rng, memory: Memory, lies: bool, depth: u32) -> Statement {
    let (x, i) = (rng.usize(0..2), rng.usize(0..2));
    let mut ordering = |list: &[Ordering]| match memory {
        Memory::Sc if rng.bool() => SeqCst,
        _ => list[rng.usize(0..list.len())],
    };
    let load = ordering(&[Relaxed, Acquire, SeqCst]);
    let store = ordering(&[Relaxed, Release, SeqCst]);
    let update = ordering(&[Relaxed, AcqRel, SeqCst]);
    let few = |rng: &mut Rng| -> Vec<_> {
        let count = rng.usize(0..=2);
        (0..count)
            .map(|_| statement(rng, memory, lies, depth + 1))
            .collect()
    };
    match rng.u32(0..28) {
        0..4 => Load(x, load),
        4..7 => Store(x, rng.u32(0..3), store),
        7 => Add(x, rng.u32(1..3), update),
        8 => Exchange(x, rng.u32(0..2), update),
        9 | 10 if depth < 2 => If(few(rng), few(rng)),
        11 | 12 if depth < 2 => Lock(rng.usize(0..2), few(rng)),
        13..17 => Plain(rng.bool()),
        17..19 => Fail(rng.u32(1..4)),
        19 | 20 if lies => Lie(i),
        19..22 => Count(i),
        22..24 => Keep(i),
        24 | 25 => Sum(i, 1 - i),
        _ if lies => Lie(i),
        _ => Count(i),
    }
}

fn program(rng: &mut Rng, lies: bool) -> Program {
    let memory = [Memory::Sc, Memory::Rc11, Memory::Rc11, Memory::Rc11Paper][rng.usize(0..4)];
    let count = rng.usize(2..=3);
    let body = |rng: &mut Rng| {
        let length = rng.usize(2..=8 - 2 * (count - 1));
        (0..length)
            .map(|_| statement(rng, memory, lies, 0))
            .collect()
    };
    Program {
        threads: (0..count).map(|_| body(rng)).collect(),
        memory,
        lies,
    }
}

#[test]
fn random_programs_have_the_paths_failures_and_races_of_the_full_search() {
    let (mut left, mut all, mut racy, mut failing, mut fewer) = (0, 0, 0, 0, 0);
    let suite = Suite::new(300, 41);
    let programs = suite.run(
        |rng| program(rng, false),
        |program, rng| {
            let Some((full, classes)) = program.full() else {
                return Verdict::Skipped;
            };
            let (found, report) = program.reduced(1);
            assert_eq!(report.guarantee(), Guarantee::Paths, "{report}");
            assert!(!report.exhausted);
            assert_eq!(report.executions, found.classes.len() as u64);
            assert_eq!(found, full);
            match rng.u32(0..8) {
                // Several workers run the body at the same time, so what is observed is mixed.
                0 => assert_eq!(program.reduced(3).0.classes, full.classes),
                1 => assert_eq!(program.in_pieces(), full),
                2 => {
                    let mut schedules = Found::default();
                    let checker = (program.checker()).strategy(Strategy::EnumeratePrivateFirst);
                    let checker = checker.max_executions(MAX_SCHEDULES);
                    if program.check(checker, false, &mut schedules).exhausted {
                        assert_eq!(found, schedules.with_single_failures());
                    }
                }
                _ => {}
            }
            left += report.classes();
            all += classes;
            fewer += u64::from(report.classes() < classes);
            racy += u64::from(full.classes.values().any(|&(races, _)| races));
            failing += u64::from(full.classes.values().any(|&(_, panics)| panics > 0));
            Verdict::Agreed
        },
    );
    println!(
        "{left} of {all} classes are left; fewer in {fewer} programs, {racy} race, {failing} fail"
    );
    assert!(
        !suite.is_usual()
            || fewer * 3 > programs && racy * 10 > programs && failing * 10 > programs
    );
}

/// Programs whose statistics decide something. The declaration is checked in samples, so not all of those that lose
/// something are noticed.
#[test]
fn wrong_declarations_that_lose_something_are_mostly_noticed() {
    let (mut noticed, mut unnoticed) = (0, 0);
    let suite = Suite::new(200, 42);
    suite.run(
        |rng| program(rng, true),
        |program, _| {
            let Some((full, _)) = program.full() else {
                return Verdict::Skipped;
            };
            let (found, report) = program.reduced(1);
            let kinds = |kind| report.failures.iter().any(|failure| failure.kind == kind);
            let is_noticed = kinds(FailureKind::IgnoredValue);
            let paths = |found: &Found| -> BTreeSet<Vec<Vec<u8>>> {
                let of_thread = |own: &Vec<(u8, u32)>| own.iter().map(|&(kind, _)| kind).collect();
                let all = found.observed.iter();
                all.map(|observed| observed.values().map(of_thread).collect())
                    .collect()
            };
            let keys = |found: &Found| found.classes.keys().cloned().collect::<BTreeSet<_>>();
            let loses = keys(&found) != keys(&full)
                || paths(&found) != paths(&full)
                || found.failures != full.failures;
            // The search stops where a wrong declaration is noticed. Only executions that pass are examined, so what
            // matters are checks that pass.
            noticed += u64::from(is_noticed);
            unnoticed += u64::from(loses && report.failures.is_empty());
            Verdict::Agreed
        },
    );
    println!("{noticed} are noticed, {unnoticed} lose something and pass");
    assert!(!suite.is_usual() || noticed > 20);
    assert!(unnoticed * 10 <= noticed, "{unnoticed} of {noticed}");
}
