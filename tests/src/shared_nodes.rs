//! Random programs whose threads share nodes on the heap, by pointers in atomics, and their comparison
//! between two processes in which all addresses differ.
//!
//! A process runs every class of each program and writes down what other processes and machines must
//! agree on: the fingerprints of the classes, the failures with their stories, and their schedules. Then
//! come the shape and the classes that a check remembers. Before each allocation it takes and returns
//! other memory, so that nodes are elsewhere in each process and each execution.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use raddle::sync::Arc;
use raddle::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use raddle::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use raddle::{Checker, Failure, Memory, Report, Strategy, thread};
use raddle_engine::Schedule;
use raddle_runs::RunsFile;

use crate::child::ignored_test;
use crate::resumed::Scratch;

/// Number of programs.
const PROGRAMS: usize = 60;
/// Maximum number of classes of a program; larger ones are drawn again.
const LARGEST: u64 = 1_500;
/// Executions of a check that remembers its classes.
const REMEMBERED: u64 = 100;
/// Blocks of memory that are taken at a time.
const TAKEN: usize = 512;

/// The seed of a child's layout of memory.
const LAYOUT: &str = "SHARED_NODES_LAYOUT";
/// A file with another process's schedules, for the child to replay.
const REPLAYED: &str = "SHARED_NODES_REPLAYED";
/// The file that a child writes.
const WRITTEN: &str = "SHARED_NODES_WRITTEN";

/// A statement about two shared pointers. A thread has a register.
#[derive(Clone, Copy, Debug)]
enum Statement {
    /// register = x
    Load(usize),
    /// x = a new node, which is followed by the register's
    Push(usize),
    /// x = register
    Store(usize),
    /// register = x; x = a new node
    Swap(usize),
    /// if x == register, x = a new node that is followed by it; else register = x
    CompareExchange(usize),
    /// the same, which may fail spuriously
    CompareExchangeWeak(usize),
    /// register = register.next
    Follow,
    /// register.count += 1
    Count,
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<(Statement, Ordering)>>,
    memory: Memory,
}

struct Node {
    /// The thread that made it and the number of its statement.
    id: (usize, usize),
    count: AtomicU64,
    next: AtomicPtr<Node>,
}

/// Two shared pointers and every node of an execution, each freed at its end.
struct Shared {
    heads: [AtomicPtr<Node>; 2],
    nodes: Mutex<Vec<*mut Node>>,
}

// SAFETY: the nodes are `Sync`, and are freed when no thread has `Shared` any more.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        let nodes = self.nodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        for node in nodes.drain(..) {
            // SAFETY: it was made by `Box::into_raw`, is in the list once, and only `Shared` leads to it.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

impl Shared {
    fn add(&self, id: (usize, usize), next: *mut Node) -> *mut Node {
        disturb();
        let node = Box::into_raw(Box::new(Node {
            id,
            count: AtomicU64::new(0),
            next: AtomicPtr::new(next),
        }));
        self.nodes.lock().unwrap().push(node);
        let mut addresses = ADDRESSES.lock().unwrap();
        if addresses.len() < 100 {
            addresses.push(node.addr());
        }
        node
    }
}

/// The generator of the layout, and blocks that keep nodes away from where they were.
static LAYOUT_STATE: Mutex<Option<(Rng, Vec<Vec<u8>>)>> = Mutex::new(None);

/// The addresses of the first nodes of the process.
static ADDRESSES: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Takes and returns memory, so that the next block is at an address that no other process has.
fn disturb() {
    let mut state = LAYOUT_STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((rng, taken)) = &mut *state else {
        return;
    };
    for _ in 0..rng.usize(0..3) {
        let block = Vec::with_capacity(rng.usize(1..96));
        match taken.len() < TAKEN {
            true => taken.push(block),
            false => taken[rng.usize(0..TAKEN)] = block,
        }
    }
}

fn statement(rng: &mut Rng) -> (Statement, Ordering) {
    let x = rng.usize(0..10) / 7;
    let statement = match rng.u32(0..14) {
        0..3 => Statement::Load(x),
        3..6 => Statement::Push(x),
        6 => Statement::Store(x),
        7 => Statement::Swap(x),
        8..10 => Statement::CompareExchange(x),
        10 => Statement::CompareExchangeWeak(x),
        11..13 => Statement::Follow,
        _ => Statement::Count,
    };
    let orderings = [Relaxed, AcqRel, SeqCst];
    (statement, rng.choice(orderings).expect("not empty"))
}

fn random(rng: &mut Rng) -> Program {
    let count = rng.usize(2..=3);
    let mut body = || (0..rng.usize(2..=4)).map(|_| statement(rng)).collect();
    Program {
        threads: (0..count).map(|_| body()).collect(),
        memory: rng.choice([Memory::Sc, Memory::Rc11]).expect("not empty"),
    }
}

/// The ordering, or that of its side which an operation of one side may have.
fn one_sided(ordering: Ordering, side: Ordering) -> Ordering {
    match ordering {
        AcqRel => side,
        other => other,
    }
}

/// Runs a thread; returns the nodes that it had in its register, by their names.
fn perform(
    body: &[(Statement, Ordering)],
    shared: &Shared,
    thread: usize,
) -> Vec<Option<(usize, usize)>> {
    let mut register: *mut Node = ptr::null_mut();
    let mut seen = Vec::new();
    for (number, &(statement, ordering)) in body.iter().enumerate() {
        let (read, write) = (one_sided(ordering, Acquire), one_sided(ordering, Release));
        let add = |next| shared.add((thread, number), next);
        let heads = &shared.heads;
        // SAFETY: nodes are freed after all threads have ended.
        let node = unsafe { register.as_ref() };
        match statement {
            Statement::Load(x) => register = heads[x].load(read),
            Statement::Push(x) => heads[x].store(add(register), write),
            Statement::Store(x) => heads[x].store(register, write),
            Statement::Swap(x) => register = heads[x].swap(add(ptr::null_mut()), ordering),
            Statement::CompareExchange(x) => {
                let new = add(register);
                if let Err(now) = heads[x].compare_exchange(register, new, ordering, read) {
                    register = now;
                }
            }
            Statement::CompareExchangeWeak(x) => {
                let new = add(register);
                if let Err(now) = heads[x].compare_exchange_weak(register, new, ordering, read) {
                    register = now;
                }
            }
            Statement::Follow => {
                if let Some(node) = node {
                    register = node.next.load(read);
                }
            }
            Statement::Count => {
                if let Some(node) = node {
                    node.count.fetch_add(1, ordering);
                }
            }
        }
        // SAFETY: as above.
        seen.push(unsafe { register.as_ref() }.map(|node| node.id));
    }
    seen
}

/// Runs a program; about a quarter of the outcomes are failures.
fn run(program: &Program) {
    let shared = Arc::new(Shared {
        heads: [const { AtomicPtr::new(ptr::null_mut()) }; 2],
        nodes: Mutex::default(),
    });
    shared.heads[1].store(shared.add((9, 0), ptr::null_mut()), Relaxed);
    let threads: Vec<_> = (program.threads.iter().enumerate())
        .map(|(number, body)| {
            let (shared, body) = (Arc::clone(&shared), body.clone());
            thread::spawn(move || perform(&body, &shared, number))
        })
        .collect();
    let seen: Vec<_> = threads.into_iter().map(|it| it.join().unwrap()).collect();
    let text = format!("{seen:?}");
    let sum = text.bytes().fold(0_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    assert!(sum % 4 != 0, "the registers were {text}");
}

fn checker(program: &Program) -> Checker {
    let checker = Checker::new().memory(program.memory).weak_cas(true);
    checker.keep_going(true).shorten(false)
}

/// Every class of a program by its fingerprint, and the report; nothing if there are too many.
fn search(program: &Program) -> Option<(BTreeSet<u64>, Report)> {
    let mut classes = BTreeSet::new();
    let checker = checker(program).strategy(Strategy::Exhaustive);
    let checker = checker.max_executions(LARGEST);
    let report = raddle::__private::run_observed(checker, || run(program), &mut |execution| {
        classes.insert(execution.fingerprint());
    });
    report.exhausted.then_some((classes, report))
}

/// The shape and the classes that a check of a program leaves in its file.
fn remembered(program: &Program, number: usize) -> (u64, Vec<u64>) {
    let file = Scratch::new("shared-nodes");
    let name = format!("program {number}");
    let checker = checker(program).strategy(Strategy::Random);
    let checker = checker.named(name).max_executions(REMEMBERED);
    let _ = checker.remember_in(&file.0).run(|| run(program));
    let patience = Duration::from_secs(60);
    let runs = RunsFile::new(&file.0);
    let checks = runs.checks(patience).unwrap();
    assert_eq!(checks.len(), 1, "{checks:?}");
    let found = runs.read(&checks[0], patience).unwrap();
    (found.shape, found.classes)
}

fn programs() -> Vec<(Program, BTreeSet<u64>, Report)> {
    let mut rng = Rng::with_seed(41);
    let mut all = Vec::new();
    while all.len() < PROGRAMS {
        let program = random(&mut rng);
        if let Some((classes, report)) = search(&program) {
            all.push((program, classes, report));
        }
    }
    all
}

/// The work of a child: writes down the classes and failures of each program, or replays another
/// process's failures. Does nothing in a process that [`assert_processes_agree`] has not started.
pub fn write_down() {
    let Some(to) = std::env::var_os(WRITTEN) else {
        return;
    };
    let seed = std::env::var(LAYOUT).expect("the parent has set it");
    let seed = seed.parse().expect("the parent has set a number");
    *LAYOUT_STATE.lock().unwrap() = Some((Rng::with_seed(seed), Vec::new()));
    let text = match std::env::var_os(REPLAYED) {
        Some(file) => replay_all(Path::new(&file)),
        None => all_results(),
    };
    let addresses = ADDRESSES.lock().unwrap();
    std::fs::write(to, format!("{addresses:x?}\n{text}")).unwrap();
}

const SCHEDULE: &str = "schedule ";
const FAILURE: &str = "failure ";

/// The line that a search and a replay of the same schedule must have in common.
fn failure_line(number: usize, failure: &Failure) -> String {
    let message = failure.message.replace('\n', " / ");
    format!("{FAILURE}{number} {:?} {message}", failure.kind)
}

fn all_results() -> String {
    let mut text = String::new();
    for (number, (program, classes, report)) in programs().into_iter().enumerate() {
        writeln!(text, "program {number} {program:?}").unwrap();
        writeln!(text, "classes {classes:x?}").unwrap();
        for failure in &report.failures {
            let token = failure.schedule.to_token();
            writeln!(text, "{}", failure_line(number, failure)).unwrap();
            writeln!(text, "{SCHEDULE}{number} {token}\n{failure}").unwrap();
        }
        writeln!(text, "remembered {:x?}", remembered(&program, number)).unwrap();
    }
    text
}

fn replay_all(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let programs = programs();
    let mut replayed = String::new();
    let lines = text.lines().filter_map(|line| line.strip_prefix(SCHEDULE));
    for (number, token) in lines.filter_map(|line| line.split_once(' ')) {
        let number: usize = number.parse().unwrap();
        let program = &programs[number].0;
        let schedule = Schedule::from_token(token).unwrap();
        let report = checker(program)
            .strategy(Strategy::Replay(schedule))
            .run(|| run(program));
        for failure in &report.failures {
            writeln!(replayed, "{}", failure_line(number, failure)).unwrap();
        }
    }
    replayed
}

/// Runs the child test of this name, which calls [`write_down`], in processes with different layouts
/// of memory; panics unless all agree.
pub fn assert_processes_agree(child: &str) {
    let child_with = |layout: u32, replayed: Option<&Path>| {
        let written = Scratch::new("shared-nodes");
        let mut command = ignored_test(child);
        command
            .env(WRITTEN, &written.0)
            .env(LAYOUT, layout.to_string());
        command.envs(replayed.map(|file| (REPLAYED, file)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        std::fs::read_to_string(&written.0).unwrap()
    };
    let (first, second) = (child_with(1, None), child_with(2, None));
    let (at_first, first) = first.split_once('\n').unwrap();
    let (at_second, second) = second.split_once('\n').unwrap();
    assert_ne!(at_first, at_second, "the nodes were at the same addresses");
    for (one, other) in first.lines().zip(second.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(first, second);
    let starting = |text: &str, start: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with(start));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(starting(first, "program ").len(), PROGRAMS);
    let failures = starting(first, FAILURE);
    assert!(failures.len() >= 50, "{} failures", failures.len());
    let file = Scratch::new("shared-nodes");
    std::fs::write(&file.0, first).unwrap();
    let replayed = child_with(3, Some(&file.0));
    assert_eq!(starting(&replayed, FAILURE), failures);
    println!("{} schedules of {PROGRAMS} programs", failures.len());
}
