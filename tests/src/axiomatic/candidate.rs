//! Every assignment of sources to reads, independently of the memory model.
//!
//! No model here has out-of-thin-air values: program order and reads-from together are acyclic. So
//! every candidate is built by one read after the other, each from a write that exists already;
//! writes follow from the reads before them.

use std::collections::HashSet;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::program::{self, Litmus, Location, Operation, REGISTERS};

/// Name of an event: its thread and its position there. Main is thread 0, and the events that
/// begin, end, start and join threads count.
pub type Name = (usize, u32);

/// The source of a read; `None` is the initial value.
pub type Source = Option<Name>;

/// An event of a thread.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Began.
    Begin,
    /// Ended.
    End,
    /// Started a thread.
    Spawn(usize),
    /// Joined a thread.
    Join(usize),
    /// Executed a fence.
    Fence(Ordering),
    /// Read, wrote, or did both in one event.
    Access {
        /// The variable.
        location: Location,
        /// The source, the value and the ordering of the read.
        read: Option<(Source, i32, Ordering)>,
        /// The value and the ordering of the write.
        write: Option<(i32, Ordering)>,
    },
}

/// The sources of a thread's reads so far, with their values.
type Reads = Vec<(Source, i32)>;

/// The events of a thread whose reads have these sources.
struct Thread {
    actions: Vec<Action>,
    /// The location of its next read; `None` if it has none.
    wants: Option<Location>,
}

/// The events of each thread, main first.
pub type Candidate = Vec<Vec<Action>>;

/// Returns every candidate; `None` if there are more than `limit`, counting incomplete ones.
pub fn candidates(litmus: &Litmus, limit: usize) -> Option<Vec<Candidate>> {
    let mut found = Vec::new();
    let start = vec![Reads::new(); litmus.threads.len() + 1];
    let mut seen = HashSet::from([start.clone()]);
    let mut left = vec![start];
    while let Some(state) = left.pop() {
        if seen.len() > limit {
            return None;
        }
        let threads = unfold(litmus, &state);
        for (number, thread) in threads.iter().enumerate() {
            let Some(location) = thread.wants else {
                continue;
            };
            for read in writes(&threads, location) {
                let mut next = state.clone();
                next[number].push(read);
                if seen.insert(next.clone()) {
                    left.push(next);
                }
            }
        }
        if threads.iter().all(|thread| thread.wants.is_none()) {
            let actions = threads.into_iter().map(|thread| thread.actions);
            found.push(actions.collect());
        }
    }
    Some(found)
}

/// Returns the writes that a read of a location can take.
fn writes(threads: &[Thread], location: Location) -> Reads {
    let mut found = vec![(None, 0)];
    for (number, thread) in threads.iter().enumerate() {
        for (position, action) in (0..).zip(&thread.actions) {
            match action {
                Action::Access {
                    location: written,
                    write: Some((value, _)),
                    ..
                } if *written == location => found.push((Some((number, position)), *value)),
                _ => {}
            }
        }
    }
    found
}

/// Returns the events of all threads whose reads have these sources, as far as they get.
fn unfold(litmus: &Litmus, state: &[Reads]) -> Vec<Thread> {
    let mut main = Unfolding::new(&state[0]);
    main.main(litmus);
    let is_started = |number: usize| {
        let mut actions = main.thread.actions.iter();
        actions.any(|action| matches!(action, Action::Spawn(thread) if *thread == number))
    };
    let mut threads = Vec::new();
    for (number, body) in (1..).zip(&litmus.threads) {
        let mut other = Unfolding::new(&state[number]);
        if is_started(number) {
            other.other(body);
        }
        threads.push(other.thread);
    }
    let waits = |action: &Action| match action {
        Action::Join(thread) => threads[thread - 1].wants.is_some(),
        _ => false,
    };
    if let Some(wait) = main.thread.actions.iter().position(waits) {
        main.thread.actions.truncate(wait);
        main.thread.wants = None;
    }
    threads.insert(0, main.thread);
    threads
}

struct Unfolding<'a> {
    reads: std::slice::Iter<'a, (Source, i32)>,
    registers: [i32; REGISTERS],
    thread: Thread,
}

impl<'a> Unfolding<'a> {
    fn new(reads: &'a Reads) -> Self {
        Unfolding {
            reads: reads.iter(),
            registers: [0; REGISTERS],
            thread: Thread {
                actions: Vec::new(),
                wants: None,
            },
        }
    }

    fn main(&mut self, litmus: &Litmus) -> Option<()> {
        let others = 1..=litmus.threads.len();
        self.thread.actions.push(Action::Begin);
        self.run(&litmus.before)?;
        let spawns = others.clone().map(Action::Spawn);
        self.thread.actions.extend(spawns);
        self.run(&litmus.beside)?;
        self.thread.actions.extend(others.map(Action::Join));
        self.run(&litmus.after)?;
        self.thread.actions.push(Action::End);
        Some(())
    }

    fn other(&mut self, body: &[program::Statement]) -> Option<()> {
        self.thread.actions.push(Action::Begin);
        self.run(body)?;
        self.thread.actions.push(Action::End);
        Some(())
    }

    fn run(&mut self, body: &[program::Statement]) -> Option<()> {
        let mut registers = self.registers;
        let result = program::run(body, &mut registers, &mut |operation| {
            self.perform(operation)
        });
        self.registers = registers;
        result
    }

    fn perform(&mut self, operation: Operation<i32>) -> Option<i32> {
        let (location, write, orderings) = match operation {
            Operation::Fence(ordering) => {
                self.thread.actions.push(Action::Fence(ordering));
                return Some(0);
            }
            Operation::Store(location, value, ordering) => {
                self.thread.actions.push(Action::Access {
                    location,
                    read: None,
                    write: Some((value, ordering)),
                });
                return Some(0);
            }
            Operation::Load(location, ordering)
            | Operation::FetchAdd(location, _, ordering)
            | Operation::Swap(location, _, ordering) => (location, operation, (ordering, ordering)),
            Operation::CompareExchange(location, _, _, success, failure) => {
                (location, operation, (success, failure))
            }
        };
        let Some(&(source, old)) = self.reads.next() else {
            self.thread.wants = Some(location);
            return None;
        };
        let new = match write {
            Operation::FetchAdd(_, value, _) => Some(old + value),
            Operation::Swap(_, value, _) => Some(value),
            Operation::CompareExchange(_, expected, new, ..) if old == expected => Some(new),
            _ => None,
        };
        let (success, failure) = orderings;
        let read_ordering = match new {
            Some(_) => read_half(success),
            None => failure,
        };
        self.thread.actions.push(Action::Access {
            location,
            read: Some((source, old, read_ordering)),
            write: new.map(|value| (value, write_half(success))),
        });
        Some(old)
    }
}

/// Returns the ordering of the read of an update.
fn read_half(ordering: Ordering) -> Ordering {
    match ordering {
        Acquire | AcqRel => Acquire,
        SeqCst => SeqCst,
        _ => Relaxed,
    }
}

/// Returns the ordering of the write of an update.
fn write_half(ordering: Ordering) -> Ordering {
    match ordering {
        Release | AcqRel => Release,
        SeqCst => SeqCst,
        _ => Relaxed,
    }
}
