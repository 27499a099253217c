//! Programs whose values differ from run to run, as addresses do: values are not identity.

use std::sync::atomic::{AtomicU64 as StdAtomicU64, Ordering::Relaxed};

use fastrand::Rng;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU64, Ordering};
use raddle::{Checker, FailureKind, Memory, Strategy, thread};
use raddle_tests::compare::{self, Classes, assert_same};
use raddle_tests::suite::{Suite, Verdict};
use raddle_tests::{shared_nodes, test_name};

/// A statement about two variables. A thread has a register.
#[derive(Clone, Copy, Debug)]
enum Statement {
    /// register = x
    Load(usize),
    /// x = a node
    Store(usize, usize),
    /// x = register
    StoreRegister(usize),
    /// register = x; x = a node
    Swap(usize, usize),
    /// if x == register, x = a node; else register = x
    CompareExchange(usize, usize),
    /// the same, which may fail spuriously
    CompareExchangeWeak(usize, usize),
    /// the next statement only if the register is this node
    IfIs(usize),
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<(Statement, Ordering)>>,
    memory: Memory,
}

const NODES: usize = 4;

fn statement(rng: &mut Rng) -> (Statement, Ordering) {
    let (x, node) = (rng.usize(0..10) / 7, rng.usize(0..NODES));
    let statement = match rng.u32(0..12) {
        0..3 => Statement::Load(x),
        3..5 => Statement::Store(x, node),
        5 => Statement::StoreRegister(x),
        6 => Statement::Swap(x, node),
        7..9 => Statement::CompareExchange(x, node),
        9 => Statement::CompareExchangeWeak(x, node),
        _ => Statement::IfIs(node),
    };
    let orderings = [Ordering::Relaxed, Ordering::AcqRel, Ordering::SeqCst];
    (statement, rng.choice(orderings).expect("not empty"))
}

fn random(rng: &mut Rng) -> Program {
    let count = rng.usize(2..=3);
    let longest = if count == 2 { 4 } else { 3 };
    let mut body = || {
        (0..rng.usize(1..=longest))
            .map(|_| statement(rng))
            .collect()
    };
    Program {
        threads: (0..count).map(|_| body()).collect(),
        memory: rng.choice([Memory::Sc, Memory::Rc11]).expect("not empty"),
    }
}

/// The strongest ordering that both a load and a store may have, of those up to the given one.
fn one_sided(ordering: Ordering, side: Ordering) -> Ordering {
    match ordering {
        Ordering::AcqRel => side,
        other => other,
    }
}

/// Runs the program with these addresses of its nodes; the first is null.
fn run(program: &Program, nodes: [u64; NODES]) {
    let variables = Arc::new([AtomicU64::new(nodes[0]), AtomicU64::new(nodes[1])]);
    let threads: Vec<_> = (program.threads.iter())
        .map(|body| {
            let (variables, body) = (Arc::clone(&variables), body.clone());
            thread::spawn(move || perform(&body, &*variables, nodes))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn perform(body: &[(Statement, Ordering)], variables: &[AtomicU64], nodes: [u64; NODES]) {
    let mut register = nodes[0];
    let mut skip = false;
    for &(statement, ordering) in body {
        if std::mem::take(&mut skip) {
            continue;
        }
        let read = one_sided(ordering, Ordering::Acquire);
        let write = one_sided(ordering, Ordering::Release);
        let failure = read;
        match statement {
            Statement::Load(x) => register = variables[x].load(read),
            Statement::Store(x, node) => variables[x].store(nodes[node], write),
            Statement::StoreRegister(x) => variables[x].store(register, write),
            Statement::Swap(x, node) => register = variables[x].swap(nodes[node], ordering),
            Statement::CompareExchange(x, node) => {
                let new = nodes[node];
                if let Err(now) = variables[x].compare_exchange(register, new, ordering, failure) {
                    register = now;
                }
            }
            Statement::CompareExchangeWeak(x, node) => {
                let (at, new) = (&variables[x], nodes[node]);
                if let Err(now) = at.compare_exchange_weak(register, new, ordering, failure) {
                    register = now;
                }
            }
            Statement::IfIs(node) => skip = register != nodes[node],
        }
    }
}

fn checker(program: &Program) -> Checker {
    Checker::new().memory(program.memory).weak_cas(true)
}

const FIXED: [u64; NODES] = [0, 16, 32, 48];

/// Other addresses in each call, all different.
fn moving(runs: &StdAtomicU64) -> [u64; NODES] {
    let run = runs.fetch_add(1, Relaxed);
    let base = 0x1000 * (run + 1);
    let rotated = |node: u64| base + 16 * ((node + run) % 4);
    [0, rotated(1), rotated(2), rotated(3)]
}

fn search(program: &Program, nodes: impl Fn() -> [u64; NODES] + Send + Sync) -> Classes {
    let checker = checker(program).strategy(Strategy::Exhaustive);
    let (classes, report) = compare::search(checker, || run(program, nodes()));
    assert!(report.failures.is_empty(), "{report}");
    classes
}

#[test]
fn programs_whose_addresses_move_have_the_classes_of_those_whose_addresses_stay() {
    let mut total = 0;
    Suite::new(300, 1).run(random, |program, _| {
        let all = checker(program)
            .strategy(Strategy::EnumeratePrivateFirst)
            .max_executions(20_000);
        let Some(expected) = compare::enumerate(all, || run(program, FIXED)) else {
            return Verdict::Skipped;
        };
        assert_same(&expected, &search(program, || FIXED));
        let runs = StdAtomicU64::new(0);
        assert_same(&expected, &search(program, || moving(&runs)));
        total += expected.len();
        Verdict::Agreed
    });
    println!("{total} classes");
}

/// A compare-exchange that has another outcome although nothing but an address differs: the program
/// depends on reuse of memory, which no schedule decides.
#[test]
fn another_outcome_of_a_compare_exchange_is_nondeterminism() {
    let runs = StdAtomicU64::new(0);
    let report = Checker::new().strategy(Strategy::Exhaustive).run(|| {
        let reused = runs.fetch_add(1, Relaxed) == 0;
        let top = Arc::new(AtomicU64::new(16));
        let other = Arc::clone(&top);
        let thread = thread::spawn(move || other.load(Ordering::SeqCst));
        let new = if reused { 16 } else { 32 };
        top.store(new, Ordering::SeqCst);
        let _ = top.compare_exchange(16, 48, Ordering::SeqCst, Ordering::SeqCst);
        top.load(Ordering::SeqCst);
        thread.join().unwrap();
    });
    let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
    assert_eq!(kinds, [FailureKind::Nondeterminism], "{report}");
}

#[test]
#[ignore = "run by others"]
fn write_down() {
    shared_nodes::write_down();
}

/// Fingerprints of classes, stories, schedules and remembered classes are the same in all processes, wherever
/// their memory is.
#[test]
fn processes_with_other_addresses_agree() {
    shared_nodes::assert_processes_agree(&test_name!("write_down"));
}
