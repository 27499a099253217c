//! Loops whose rounds undo what they do: reader counts, try-and-undo locks. A round that no other
//! thread notices is a look like any other; all outcomes and livelocks are compared with a search of
//! all states, and with loops of at most a few rounds.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex as StdMutex;

use fastrand::Rng;
use raddle::sync::Arc;
use raddle::sync::atomic::{
    AtomicU32, Ordering,
    Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
};
use raddle::{Checker, FailureKind, Memory, SearchLimit, Strategy, thread};
use raddle_tests::suite::{Suite, Verdict};

const LOCATIONS: usize = 2;

/// An attempt: adds, and is successful if none of these bits was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Try {
    at: usize,
    add: u32,
    mask: u32,
}

/// A statement of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Statement {
    Load(usize),
    Store(usize, u32),
    Add(usize, u32),
    Sub(usize, u32),
    /// Tries until it is successful; undoes every attempt in vain.
    Enter(Try),
    /// Tries the second only inside the first, and undoes both.
    EnterBoth(Try, Try),
    /// Takes a lock that must be 0.
    Lock(usize, u32),
}

use Statement::{Add, Enter, EnterBoth, Load, Lock, Store, Sub};

#[derive(Clone, Debug)]
struct Program {
    initial: [u32; LOCATIONS],
    threads: Vec<Vec<Statement>>,
}

/// The values that each thread has read, except for those of rounds in vain; `None` from the
/// statement on at which it gave up.
type Outcome = Vec<Option<Vec<u32>>>;

impl Program {
    fn random(rng: &mut Rng) -> Self {
        let threads = 2 + usize::from(rng.u8(..3) == 0);
        let most = if threads == 2 { 4 } else { 3 };
        Program {
            initial: [rng.u32(..2), 0],
            threads: (0..threads)
                .map(|_| {
                    let mut statements = Vec::new();
                    while statements.len() < rng.usize(1..=most) {
                        random_statements(rng, &mut statements);
                    }
                    statements.truncate(most);
                    statements
                })
                .collect(),
        }
    }

    /// Readers that count themselves, writers that need the count to be 0.
    fn readers_and_writers(rng: &mut Rng) -> Self {
        let reader = |rng: &mut Rng| {
            let enter = Enter(Try {
                at: 0,
                add: 2,
                mask: 1,
            });
            let mut all = vec![enter, Load(1)];
            if rng.u8(..4) > 0 {
                all.push(Sub(0, 2));
            }
            all
        };
        let writer = |rng: &mut Rng| {
            let mut all = vec![Lock(0, 1), Add(1, 1)];
            if rng.u8(..4) > 0 {
                all.push(Sub(0, 1));
            }
            all
        };
        let (readers, writers) = *rng.choice(&[(1, 1), (2, 1), (1, 2)]).unwrap();
        let mut threads: Vec<_> = (0..readers).map(|_| reader(rng)).collect();
        threads.extend((0..writers).map(|_| writer(rng)));
        rng.shuffle(&mut threads);
        Program {
            initial: [0, 0],
            threads,
        }
    }

    fn run(&self, orderings: [Ordering; 3], rounds: Option<u32>) -> Outcome {
        let memory = Arc::new(self.initial.map(AtomicU32::new));
        let run = move |statements: &[Statement], memory: &[AtomicU32; LOCATIONS]| {
            let mut read = Vec::with_capacity(8);
            for statement in statements {
                read.push(perform(*statement, memory, orderings, rounds)?);
            }
            Some(read)
        };
        let threads: Vec<_> = (1..self.threads.len())
            .map(|index| {
                let memory = Arc::clone(&memory);
                let statements = self.threads[index].clone();
                thread::spawn(move || run(&statements, &memory))
            })
            .collect();
        let first = run(&self.threads[0], &memory);
        let others = threads.into_iter().map(|thread| thread.join().unwrap());
        let mut outcome: Outcome = [first].into_iter().chain(others).collect();
        let last = memory.iter().map(|location| location.load(Relaxed));
        outcome.push(Some(last.collect()));
        outcome
    }

    /// Returns the outcomes of complete executions, and true if one never ends; `None` if there are
    /// too many classes.
    fn explored(
        &self,
        memory: Memory,
        orderings: [Ordering; 3],
    ) -> Option<(BTreeSet<Outcome>, bool)> {
        let outcomes = StdMutex::new(BTreeSet::new());
        let checker = Checker::new()
            .strategy(Strategy::Exhaustive)
            .memory(memory)
            .keep_going(true)
            .shorten(false)
            .max_executions(4_000);
        let report = checker.run(|| {
            let outcome = self.run(orderings, None);
            outcomes.lock().unwrap().insert(outcome);
        });
        let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
        if !report.exhausted {
            return None;
        }
        let livelocks = kinds.contains(&FailureKind::Livelock);
        assert!(
            kinds.iter().all(|kind| *kind == FailureKind::Livelock),
            "{report}"
        );
        Some((outcomes.into_inner().unwrap(), livelocks))
    }

    /// Returns the outcomes of executions with at most this many rounds of each loop; `None` if
    /// there are too many.
    fn bounded(
        &self,
        memory: Memory,
        orderings: [Ordering; 3],
        rounds: u32,
    ) -> Option<BTreeSet<Outcome>> {
        let outcomes = StdMutex::new(BTreeSet::new());
        let checker = Checker::new()
            .strategy(Strategy::EnumeratePrivateFirst)
            .memory(memory)
            .max_executions(20_000);
        let report = checker.run(|| {
            let outcome = self.run(orderings, Some(rounds));
            outcomes.lock().unwrap().insert(outcome);
        });
        report.assert_ok();
        let mut outcomes = outcomes.into_inner().unwrap();
        outcomes.retain(|outcome| outcome.iter().all(Option::is_some));
        report.exhausted.then_some(outcomes)
    }
}

fn random_statements(rng: &mut Rng, statements: &mut Vec<Statement>) {
    let attempt = |rng: &mut Rng| Try {
        at: rng.usize(..LOCATIONS),
        add: rng.u32(1..=2),
        mask: rng.u32(1..=3),
    };
    let at = rng.usize(..LOCATIONS);
    match rng.u8(..10) {
        0 => statements.push(Load(at)),
        1 => statements.push(Store(at, rng.u32(..3))),
        2 => statements.push(Add(at, rng.u32(1..=2))),
        3 => statements.push(Sub(at, rng.u32(1..=2))),
        4 => statements.extend([Lock(at, 1), Sub(at, 1)]),
        5 | 6 => {
            let (first, second) = (attempt(rng), attempt(rng));
            statements.push(EnterBoth(first, second));
        }
        _ => {
            let one = attempt(rng);
            statements.push(Enter(one));
            if rng.bool() {
                statements.push(Sub(one.at, one.add));
            }
        }
    }
}

/// Returns the value read, for a loop by its successful round; `None` if it gives up.
#[inline(always)]
fn perform(
    statement: Statement,
    memory: &[AtomicU32; LOCATIONS],
    [load, store, update]: [Ordering; 3],
    rounds: Option<u32>,
) -> Option<u32> {
    let mut left = rounds;
    let mut goes_on = || match &mut left {
        None => true,
        Some(0) => false,
        Some(left) => {
            *left -= 1;
            true
        }
    };
    match statement {
        Load(at) => Some(memory[at].load(load)),
        Store(at, value) => {
            memory[at].store(value, store);
            Some(0)
        }
        Add(at, value) => Some(memory[at].fetch_add(value, update)),
        Sub(at, value) => Some(memory[at].fetch_sub(value, update)),
        Enter(Try { at, add, mask }) => {
            while goes_on() {
                let old = memory[at].fetch_add(add, update);
                if old & mask == 0 {
                    return Some(old);
                }
                memory[at].fetch_sub(add, update);
            }
            None
        }
        EnterBoth(first, second) => {
            while goes_on() {
                let old = memory[first.at].fetch_add(first.add, update);
                if old & first.mask == 0 {
                    let inner = memory[second.at].fetch_add(second.add, update);
                    if inner & second.mask == 0 {
                        return Some(old.wrapping_mul(1_000).wrapping_add(inner));
                    }
                    memory[second.at].fetch_sub(second.add, update);
                }
                memory[first.at].fetch_sub(first.add, update);
            }
            None
        }
        Lock(at, value) => {
            while goes_on() {
                if memory[at].compare_exchange(0, value, update, load).is_ok() {
                    return Some(0);
                }
            }
            None
        }
    }
}

/// A state of the oracle for sequential consistency.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Model {
    memory: [u32; LOCATIONS],
    threads: Vec<Position>,
}

/// The position of a thread: its statement, the place within it, and the first value that a round
/// has read.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Position {
    statement: usize,
    place: u8,
    old: u32,
    read: Vec<u32>,
}

impl Model {
    fn new(program: &Program) -> Self {
        let start = Position {
            statement: 0,
            place: 0,
            old: 0,
            read: Vec::new(),
        };
        Model {
            memory: program.initial,
            threads: vec![start; program.threads.len()],
        }
    }

    /// Performs one step; false if the thread has ended.
    fn step(&mut self, program: &Program, thread: usize) -> bool {
        let Model { memory, threads } = self;
        let position = &mut threads[thread];
        let Some(&statement) = program.threads[thread].get(position.statement) else {
            return false;
        };
        let mut add = |at: usize, value: u32| {
            let old = memory[at];
            memory[at] = old.wrapping_add(value);
            old
        };
        let done = match (statement, position.place) {
            (Load(at), _) => Some(add(at, 0)),
            (Store(at, value), _) => {
                memory[at] = value;
                Some(0)
            }
            (Add(at, value), _) => Some(add(at, value)),
            (Sub(at, value), _) => Some(add(at, value.wrapping_neg())),
            (Lock(at, value), _) if add(at, 0) == 0 => {
                memory[at] = value;
                Some(0)
            }
            (Lock(..), _) => None,
            (Enter(one), 0) => {
                let old = add(one.at, one.add);
                position.place = u8::from(old & one.mask != 0);
                (old & one.mask == 0).then_some(old)
            }
            (Enter(one), _) => {
                add(one.at, one.add.wrapping_neg());
                position.place = 0;
                None
            }
            (EnterBoth(first, _), 0) => {
                position.old = add(first.at, first.add);
                position.place = if position.old & first.mask == 0 { 1 } else { 3 };
                None
            }
            (EnterBoth(_, second), 1) => {
                let inner = add(second.at, second.add);
                position.place = 2;
                (inner & second.mask == 0)
                    .then(|| position.old.wrapping_mul(1_000).wrapping_add(inner))
            }
            (EnterBoth(_, second), 2) => {
                add(second.at, second.add.wrapping_neg());
                position.place = 3;
                None
            }
            (EnterBoth(first, _), _) => {
                add(first.at, first.add.wrapping_neg());
                (position.place, position.old) = (0, 0);
                None
            }
        };
        if let Some(value) = done {
            position.read.push(value);
            position.statement += 1;
            (position.place, position.old) = (0, 0);
        }
        true
    }

    /// True when the thread alone comes back to this state.
    fn repeats(&self, program: &Program, thread: usize) -> bool {
        let mut alone = self.clone();
        (0..4).any(|_| alone.step(program, thread) && alone == *self)
    }
}

/// The result of a search of all states.
struct AllStates {
    outcomes: BTreeSet<Outcome>,
    /// True when a state is reachable in which every thread that is left repeats a round for ever, if
    /// rounds do not overlap.
    livelocks: bool,
    /// The same, also if the round of one thread is in the middle of another's. Not every one of these is looked for.
    overlaps: bool,
    /// True when a state is reachable from which no execution ends.
    never_ends: bool,
}

fn all_states(program: &Program) -> AllStates {
    let first = Model::new(program);
    let mut index: HashMap<Model, usize> = HashMap::from([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let (mut outcomes, mut ends) = (BTreeSet::new(), Vec::new());
    let (mut livelocks, mut overlaps) = (false, false);
    let mut at = 0;
    while at < states.len() {
        let state = states[at].clone();
        let left =
            |thread: &usize| state.threads[*thread].statement < program.threads[*thread].len();
        let left: Vec<_> = (0..state.threads.len()).filter(left).collect();
        if left.is_empty() {
            let reads = state.threads.iter().map(|one| Some(one.read.clone()));
            outcomes.insert(reads.chain([Some(state.memory.to_vec())]).collect());
            ends.push(at);
        }
        if !left.is_empty() && left.iter().all(|&thread| state.repeats(program, thread)) {
            overlaps = true;
            livelocks |= left.iter().all(|&thread| state.threads[thread].place == 0);
        }
        for thread in left {
            let mut next = state.clone();
            next.step(program, thread);
            let number = *index.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                before.push(Vec::new());
                states.len() - 1
            });
            before[number].push(at);
        }
        at += 1;
    }
    let mut can_end: HashSet<usize> = ends.iter().copied().collect();
    while let Some(state) = ends.pop() {
        ends.extend(before[state].iter().filter(|&&state| can_end.insert(state)));
    }
    AllStates {
        outcomes,
        livelocks,
        overlaps,
        never_ends: can_end.len() < states.len(),
    }
}

fn compare_with_all_states(program: &Program) -> Verdict {
    let expected = all_states(program);
    let Some((outcomes, livelocks)) = program.explored(Memory::Sc, [SeqCst; 3]) else {
        return Verdict::Skipped;
    };
    assert_eq!(outcomes, expected.outcomes);
    assert!(livelocks || !expected.livelocks);
    assert!(expected.overlaps || !livelocks);
    assert!(livelocks || !expected.never_ends);
    Verdict::Agreed
}

#[test]
fn readers_that_count_themselves_are_as_in_a_search_of_all_states() {
    Suite::new(60, 1).run(Program::readers_and_writers, |program, _| {
        compare_with_all_states(program)
    });
}

#[test]
fn random_programs_that_undo_are_as_in_a_search_of_all_states() {
    let undoes = |program: &Program| {
        let mut all = program.threads.iter().flatten();
        all.any(|one| matches!(one, Enter(_) | EnterBoth(..)))
    };
    Suite::new(60, 2).run(Program::random, |program, _| match undoes(program) {
        true => compare_with_all_states(program),
        false => Verdict::Skipped,
    });
}

#[test]
fn weak_programs_that_undo_are_as_with_a_few_rounds() {
    let draw = |rng: &mut Rng| {
        let draw = *rng
            .choice(&[Program::random, Program::readers_and_writers])
            .unwrap();
        let orderings = *rng
            .choice(&[[Relaxed; 3], [Acquire, Release, AcqRel], [SeqCst; 3]])
            .unwrap();
        (draw(rng), orderings)
    };
    Suite::new(40, 3).run(draw, |(program, orderings), _| {
        let Some(expected) = program.bounded(Memory::Rc11, *orderings, 2) else {
            return Verdict::Skipped;
        };
        let Some((found, _)) = program.explored(Memory::Rc11, *orderings) else {
            return Verdict::Skipped;
        };
        assert!(found.is_superset(&expected), "{found:?} {expected:?}");
        if let Some(more) = program.bounded(Memory::Rc11, *orderings, 3) {
            assert_eq!(found, more);
        }
        Verdict::Agreed
    });
}

/// Bits are set and cleared as in an exclusive lock, which may have protected something, so the loops are run round
/// by round, and two of them have classes without end.
#[test]
fn a_search_without_end_stops_before_it_needs_too_much_memory() {
    let program = || {
        let word = Arc::new(AtomicU32::new(1));
        let threads = [0, 1].map(|_| {
            let word = Arc::clone(&word);
            thread::spawn(move || {
                while word.fetch_or(2, SeqCst) & 1 == 1 {
                    word.fetch_and(!2, SeqCst);
                }
            })
        });
        word.fetch_and(!1, SeqCst);
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let report = Checker::new().strategy(Strategy::Exhaustive).run(program);
    report.assert_ok();
    assert!(!report.exhausted);
    assert_eq!(report.limit(), Some(&SearchLimit::Branches));
    let line = report.summary().to_string();
    assert!(line.contains("too much memory"), "{line}");
}
