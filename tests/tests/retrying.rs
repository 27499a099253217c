//! Loops that wait with a time limit and try again: `wait_timeout` and `recv_timeout`. A round whose time ran
//! out and that changed nothing is a look like any other. All outcomes are compared with loops of at most a few
//! rounds, and livelocks with the final counts.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::time::Duration;

use fastrand::Rng;
use raddle::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use raddle::sync::mpsc::{self, RecvTimeoutError};
use raddle::sync::{Arc, Condvar, Mutex, MutexGuard};
use raddle::{Checker, FailureKind, Memory, Report, Strategy, thread};
use raddle_tests::suite::{Suite, Verdict};

const PLACES: usize = 2;
const LIMIT: Duration = Duration::from_millis(1);

/// What a thread does in a round of its wait besides looking at the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    Nothing,
    /// Changes the data when the time ran out.
    Marks,
    /// Loads a variable that ends the loop as well.
    Loads,
    /// Copies the count to the stack.
    Copies,
}

/// A statement of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statement {
    /// Adds one to a count and notifies: no waiter, one, all; under the lock or after it.
    Add {
        at: usize,
        notify: u8,
        inside: bool,
    },
    /// Waits until a count is large enough.
    Await {
        at: usize,
        count: u32,
        round: Round,
    },
    /// Reads the data under the lock.
    Read(usize),
    Load,
    Store(u32),
}

use Statement::{Add, Await, Load, Read, Store};

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Statement>>,
}

/// The values that each thread has read; `None` from the statement on at which it gave up.
type Outcome = Vec<Option<Vec<u32>>>;

/// A count, and the number of marks.
type Data = (u32, u32);

#[derive(Default)]
struct Shared {
    places: [(Mutex<Data>, Condvar); PLACES],
    variable: AtomicU32,
}

impl Program {
    fn random(rng: &mut Rng) -> Self {
        let threads = 2 + usize::from(rng.u8(..3) == 0);
        let most = if threads == 2 { 3 } else { 2 };
        let places = rng.usize(1..=PLACES);
        let statements = |rng: &mut Rng| {
            let length = rng.usize(1..=most);
            (0..length)
                .map(|_| random_statement(rng, places))
                .collect::<Vec<_>>()
        };
        Program {
            threads: (0..threads).map(|_| statements(rng)).collect(),
        }
    }

    fn waits(&self) -> bool {
        let mut all = self.threads.iter().flatten();
        all.any(|statement| matches!(statement, Await { .. }))
    }

    /// True when some thread waits for ever. Counts only grow, so the order of the threads makes no
    /// difference, and a variable that ends a loop must not be stored.
    fn never_ends(&self) -> bool {
        let mut counts = [0; PLACES];
        let mut positions = vec![0; self.threads.len()];
        loop {
            let mut moved = false;
            for (statements, position) in self.threads.iter().zip(&mut positions) {
                while let Some(statement) = statements.get(*position) {
                    match *statement {
                        Await { at, count, .. } if counts[at] < count => break,
                        Add { at, .. } => counts[at] += 1,
                        _ => {}
                    }
                    *position += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let mut threads = self.threads.iter().zip(&positions);
        threads.any(|(statements, position)| *position < statements.len())
    }

    /// True when a thread loads the variable in a loop, and one stores it.
    fn may_leave_early(&self) -> bool {
        let mut all = self.threads.iter().flatten();
        let loads =
            all.any(|statement| matches!(statement, Await { round, .. } if *round == Round::Loads));
        let mut all = self.threads.iter().flatten();
        loads && all.any(|statement| matches!(statement, Store(_)))
    }

    fn run(&self, rounds: Option<u32>) -> Outcome {
        let shared = Arc::new(Shared::default());
        let run = move |statements: &[Statement], shared: &Shared| {
            let mut read = Vec::with_capacity(4);
            for statement in statements {
                read.push(perform(*statement, shared, rounds)?);
            }
            Some(read)
        };
        let threads: Vec<_> = (1..self.threads.len())
            .map(|index| {
                let shared = Arc::clone(&shared);
                let statements = self.threads[index].clone();
                thread::spawn(move || run(&statements, &shared))
            })
            .collect();
        let first = run(&self.threads[0], &shared);
        let others = threads.into_iter().map(|thread| thread.join().unwrap());
        let mut outcome: Outcome = [first].into_iter().chain(others).collect();
        let last = shared.places.iter().map(|(data, _)| data.lock().unwrap().1);
        outcome.push(Some(last.collect()));
        outcome
    }
}

fn random_statement(rng: &mut Rng, places: usize) -> Statement {
    let at = rng.usize(..places);
    match rng.u8(..12) {
        0 => Load,
        1 => Store(rng.u32(1..=2)),
        2 => Read(at),
        3..=6 => Add {
            at,
            notify: rng.u8(..3),
            inside: rng.bool(),
        },
        _ => Await {
            at,
            count: rng.u32(1..=2),
            round: *rng
                .choice(&[
                    Round::Nothing,
                    Round::Nothing,
                    Round::Marks,
                    Round::Loads,
                    Round::Copies,
                ])
                .unwrap(),
        },
    }
}

fn notify(condvar: &Condvar, how: u8) {
    match how {
        0 => {}
        1 => condvar.notify_one(),
        _ => condvar.notify_all(),
    }
}

/// Returns the value read; `None` if it gives up.
#[inline(always)]
fn perform(statement: Statement, shared: &Shared, rounds: Option<u32>) -> Option<u32> {
    match statement {
        Load => Some(shared.variable.load(Acquire)),
        Store(value) => {
            shared.variable.store(value, Release);
            Some(0)
        }
        Read(at) => {
            let data = shared.places[at].0.lock().unwrap();
            Some(data.0 * 10 + data.1)
        }
        Add {
            at,
            notify: how,
            inside,
        } => {
            let (data, condvar) = &shared.places[at];
            let mut data = data.lock().unwrap();
            data.0 += 1;
            if inside {
                notify(condvar, how);
            }
            drop(data);
            if !inside {
                notify(condvar, how);
            }
            Some(0)
        }
        Await { at, count, round } => wait(shared, at, count, round, rounds),
    }
}

fn wait(
    shared: &Shared,
    at: usize,
    count: u32,
    round: Round,
    mut left: Option<u32>,
) -> Option<u32> {
    let (data, condvar) = &shared.places[at];
    let mut data: MutexGuard<'_, Data> = data.lock().unwrap();
    loop {
        let is_over = match round {
            Round::Copies => {
                let seen = std::hint::black_box(data.0);
                seen >= count
            }
            Round::Loads => data.0 >= count || shared.variable.load(Relaxed) != 0,
            Round::Nothing | Round::Marks => data.0 >= count,
        };
        if is_over {
            return Some(data.0);
        }
        if let Some(left) = &mut left {
            *left = left.checked_sub(1)?;
        }
        let timed_out;
        (data, timed_out) = condvar.wait_timeout(data, LIMIT).unwrap();
        if round == Round::Marks && timed_out.timed_out() {
            data.1 = 2.min(data.1 + 1);
        }
    }
}

fn search(
    memory: Memory,
    strategy: Strategy,
    most: u64,
    run: impl Fn() -> Outcome + Send + Sync,
) -> (BTreeSet<Outcome>, Report) {
    let outcomes = StdMutex::new(BTreeSet::new());
    let checker = Checker::new()
        .strategy(strategy)
        .memory(memory)
        .spurious_wakeups(false)
        .keep_going(true)
        .shorten(false)
        .max_executions(most);
    let report = checker.run(|| {
        let outcome = run();
        outcomes.lock().unwrap().insert(outcome);
    });
    (outcomes.into_inner().unwrap(), report)
}

/// Returns the outcomes with at most this many rounds of each loop; `None` if there are too many classes.
fn bounded(
    memory: Memory,
    rounds: u32,
    run: impl Fn(Option<u32>) -> Outcome + Send + Sync,
) -> Option<BTreeSet<Outcome>> {
    let (mut outcomes, report) = search(memory, Strategy::Exhaustive, 5_000, || run(Some(rounds)));
    report.assert_ok();
    outcomes.retain(|outcome| outcome.iter().all(Option::is_some));
    report.exhausted.then_some(outcomes)
}

fn compare(program: &Program, memory: Memory) -> Verdict {
    if !program.waits() {
        return Verdict::Skipped;
    }
    let Some(few) = bounded(memory, 2, |rounds| program.run(rounds)) else {
        return Verdict::Skipped;
    };
    let (found, report) = search(memory, Strategy::Exhaustive, 5_000, || program.run(None));
    let kinds: BTreeSet<_> = report
        .failures
        .iter()
        .map(|one| one.kind.to_string())
        .collect();
    assert!(found.is_superset(&few), "{found:?} {few:?}\n{report}");
    if !report.exhausted {
        return Verdict::Skipped;
    }
    if !program.may_leave_early() {
        let livelocks = kinds.contains(&FailureKind::Livelock.to_string());
        assert_eq!(livelocks, program.never_ends(), "{kinds:?}\n{report}");
    }
    if let Some(more) = bounded(memory, 4, |rounds| program.run(rounds)) {
        assert_eq!(found, more);
    }
    Verdict::Agreed
}

#[test]
fn random_programs_that_retry_are_as_with_a_few_rounds() {
    Suite::new(40, 1).run(Program::random, |program, _| compare(program, Memory::Sc));
}

#[test]
fn weak_programs_that_retry_are_as_with_a_few_rounds() {
    Suite::new(20, 2).run(Program::random, |program, _| compare(program, Memory::Rc11));
}

/// Threads that send, and what the receiver does when the time ran out.
#[derive(Clone, Debug)]
struct Messages {
    /// Messages of each sender.
    senders: Vec<u32>,
    /// Senders store this in the variable after their last message.
    stores: bool,
    /// The receiver keeps the value of the variable that it loads when the time runs out.
    loads: bool,
    /// Number of messages that the receiver takes; it takes all until the senders are gone if there are fewer.
    takes: u32,
}

impl Messages {
    fn random(rng: &mut Rng) -> Self {
        let senders: Vec<_> = (0..rng.usize(1..=2)).map(|_| rng.u32(1..=2)).collect();
        Messages {
            takes: senders.iter().sum::<u32>() + u32::from(rng.u8(..4) == 0),
            senders,
            stores: rng.bool(),
            loads: rng.u8(..3) == 0,
        }
    }

    fn run(&self, mut left: Option<u32>) -> Outcome {
        let variable = Arc::new(AtomicU32::new(0));
        let (sender, receiver) = mpsc::channel();
        let senders: Vec<_> = (0_u32..)
            .zip(&self.senders)
            .map(|(index, &messages)| {
                let (sender, variable) = (sender.clone(), Arc::clone(&variable));
                let stores = self.stores;
                thread::spawn(move || {
                    (0..messages).for_each(|one| _ = sender.send(10 * index + one));
                    if stores {
                        variable.store(index + 1, Release);
                    }
                })
            })
            .collect();
        drop(sender);
        let mut read = Vec::with_capacity(8);
        let mut seen = 0;
        let mut taken = 0;
        while taken < self.takes {
            match receiver.recv_timeout(LIMIT) {
                Ok(message) => {
                    read.push(message);
                    taken += 1;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    read.push(100);
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if self.loads {
                        seen = variable.load(Acquire);
                    }
                    match &mut left {
                        Some(0) => return vec![None],
                        Some(left) => *left -= 1,
                        None => {}
                    }
                }
            }
        }
        read.push(seen);
        read.push(variable.load(Acquire));
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        vec![Some(read)]
    }
}

#[test]
fn messages_that_are_tried_for_again_are_as_with_a_few_rounds() {
    for memory in [Memory::Sc, Memory::Rc11] {
        Suite::new(15, 3).run(Messages::random, |program, _| {
            let Some(expected) = bounded(memory, 3, |rounds| program.run(rounds)) else {
                return Verdict::Skipped;
            };
            let (found, report) = search(memory, Strategy::Exhaustive, 5_000, || program.run(None));
            report.assert_ok();
            assert!(found.is_superset(&expected), "{found:?} {expected:?}");
            if !report.exhausted {
                return Verdict::Skipped;
            }
            assert_eq!(found, expected);
            Verdict::Agreed
        });
    }
}

/// Returns true if the search of a program has run every class.
fn is_exhausted(memory: Memory, program: impl Fn() + Send + Sync) -> bool {
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(memory)
        .max_executions(100_000);
    let report = checker.run(program);
    report.assert_ok();
    report.exhausted
}

#[test]
fn a_count_that_is_waited_for_with_a_time_limit_is_exhausted() {
    let counted = |size: u32| {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&shared);
        let counting = thread::spawn(move || {
            for _ in 0..size {
                *other.0.lock().unwrap() += 1;
                other.1.notify_one();
            }
        });
        let mut count = shared.0.lock().unwrap();
        while *count < size {
            count = shared.1.wait_timeout(count, LIMIT).unwrap().0;
        }
        drop(count);
        counting.join().unwrap();
    };
    for memory in [Memory::Sc, Memory::Rc11] {
        for size in 1..=4 {
            assert!(is_exhausted(memory, || counted(size)), "{memory:?} {size}");
        }
    }
}

#[test]
fn messages_that_are_received_with_a_time_limit_are_exhausted() {
    let received = |size: u32| {
        let (sender, receiver) = mpsc::channel();
        let sending = thread::spawn(move || {
            (0..size).for_each(|next| sender.send(next).unwrap());
        });
        let mut left = size;
        while left > 0 {
            if receiver.recv_timeout(LIMIT).is_ok() {
                left -= 1;
            }
        }
        sending.join().unwrap();
    };
    for memory in [Memory::Sc, Memory::Rc11] {
        for size in [1, 4, 8] {
            assert!(is_exhausted(memory, || received(size)), "{memory:?} {size}");
        }
    }
}

/// Runs `look` with memory on the stack that is not written: what earlier calls have left there is part of the
/// thread's state while it looks.
#[inline(never)]
fn with_leftovers<T>(look: impl FnOnce() -> T) -> T {
    let left = std::mem::MaybeUninit::<[u64; 128]>::uninit();
    std::hint::black_box(&left);
    let seen = look();
    std::hint::black_box(&left);
    seen
}

/// The time on a thread's clock differs from round to round, but must not remain on its stack, where it would make
/// every round a state of its own. How much of it remained depended on what had run before.
#[test]
fn the_time_that_passed_is_no_part_of_a_round() {
    let received = |limit| {
        let (sender, receiver) = mpsc::channel();
        let flag = AtomicU32::new(0);
        let sending = thread::spawn(move || (1..=5).for_each(|next| sender.send(next).unwrap()));
        loop {
            assert_eq!(with_leftovers(|| flag.load(Acquire)), 0);
            match receiver.recv_timeout(limit) {
                Ok(5) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("the last message is lost"),
            }
        }
        sending.join().unwrap();
    };
    let slept = |limit| {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let setting = thread::spawn(move || (1..=3).for_each(|next| other.store(next, Release)));
        while with_leftovers(|| flag.load(Acquire)) < 3 {
            thread::sleep(limit);
        }
        setting.join().unwrap();
    };
    let parked = |limit| {
        let flag = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&flag);
        let setting = thread::spawn(move || (1..=3).for_each(|next| other.store(next, Release)));
        while with_leftovers(|| flag.load(Acquire)) < 3 {
            thread::park_timeout(limit);
        }
        setting.join().unwrap();
    };
    let classes = |program: &(dyn Fn() + Send + Sync)| {
        let checker = Checker::new().strategy(Strategy::Exhaustive);
        let report = checker.max_executions(10_000).run(program);
        assert!(report.exhausted, "{report}");
        report.classes()
    };
    let programs: [&(dyn Fn(Duration) + Send + Sync); 3] = [&received, &slept, &parked];
    for (number, program) in programs.into_iter().enumerate() {
        let first = classes(&|| program(LIMIT));
        for limit in [
            LIMIT,
            Duration::from_nanos(977_654_321),
            Duration::from_secs(3_601),
        ] {
            assert_eq!(
                classes(&|| program(limit)),
                first,
                "program {number}, {limit:?}"
            );
        }
    }
}
