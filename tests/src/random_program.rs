//! Random small programs: their statements, their generation and their execution.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering, fence};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, RwLock, RwLockWriteGuard, Semaphore};
use raddle::thread::{self, JoinHandle};
use raddle::{Checker, Memory, Strategy};

/// One statement. Every thread has a register that reads fill and that writes and branches use,
/// so values flow.
#[derive(Clone, Debug)]
pub enum Statement {
    /// register = x
    Read(usize),
    /// x = register + constant
    Write(usize, u32),
    /// register = x; x += constant
    Add(usize, u32),
    /// register = x; if it was the expected value, x = the new one
    CompareExchange(usize, u32, u32),
    /// as CompareExchange, but it may fail spuriously; then register = the new value
    CompareExchangeWeak(usize, u32, u32),
    /// with the lock held, the statements
    Lock(usize, Vec<Statement>),
    /// the statements, if the lock is free
    TryLock(usize, Vec<Statement>),
    /// with the readers-writer lock held for reading, the statements
    LockToRead(Vec<Statement>),
    /// the statements, if the readers-writer lock is free for reading
    TryLockToRead(Vec<Statement>),
    /// with the readers-writer lock held for writing, the first statements; then, held for reading,
    /// the others
    LockToWrite(Vec<Statement>, Vec<Statement>),
    /// the statements, if the readers-writer lock is free for writing
    TryLockToWrite(Vec<Statement>),
    /// wait at the barrier for another thread
    Meet,
    /// as Meet; register = 1 if this thread is the leader of the two
    MeetAndLead,
    /// take the lock, wait for a notification, then with the lock held the statements
    Wait(usize, Vec<Statement>),
    /// as Wait, but it may time out; register = 1 if it did
    WaitTimeout(usize, Vec<Statement>),
    /// wake any one waiter
    NotifyOne,
    /// wake all waiters
    NotifyAll,
    /// take a permit
    Acquire,
    /// register = 1 if a permit was taken
    TryAcquire,
    /// release a permit
    Release,
    /// assume that the register is not this value
    Assume(u32),
    /// register = any number below this
    Choose(u32),
    /// if the register is odd, the first statements, else the others
    If(Vec<Statement>, Vec<Statement>),
    /// starts a thread with these statements
    Spawn(Vec<Statement>),
    /// register = 1 if the last thread started has ended
    IsFinished,
    /// wait to be unparked
    Park,
    /// unpark main
    Unpark,
    /// yield
    Yield,
    /// the statement, with weaker or stronger accesses than `SeqCst`
    With(Ordering, Box<Statement>),
    /// a fence
    Fence(Ordering),
    /// spin until x is the constant
    Until(usize, u32),
    /// register = x; x = the constant, until it was another value
    UntilOther(usize, u32),
    /// try until the lock is free
    UntilFree(usize),
    /// spin until x + y is the constant
    UntilSum(u32),
    /// spin until x is the constant and, in a loop of its own, y is not 0; then begin again if x is another
    UntilNested(u32),
}

/// Any ordering.
const ORDERINGS: [Ordering; 5] = [
    Ordering::Relaxed,
    Ordering::Acquire,
    Ordering::Release,
    Ordering::AcqRel,
    Ordering::SeqCst,
];

/// Converts the ordering to one that a load may have.
fn for_load(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

/// Converts the ordering to one that a store may have.
fn for_store(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Acquire => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Release,
        other => other,
    }
}

impl Statement {
    fn waits(&self) -> bool {
        let any_waits = |inner: &[Statement]| inner.iter().any(Statement::waits);
        match self {
            Statement::Wait(..) | Statement::WaitTimeout(..) => true,
            Statement::Lock(_, inner)
            | Statement::TryLock(_, inner)
            | Statement::LockToRead(inner)
            | Statement::TryLockToRead(inner)
            | Statement::TryLockToWrite(inner)
            | Statement::Spawn(inner) => any_waits(inner),
            Statement::With(_, inner) => inner.waits(),
            Statement::If(odd, even) | Statement::LockToWrite(odd, even) => {
                any_waits(odd) || any_waits(even)
            }
            _ => false,
        }
    }
}

/// A program: main's first statements, the threads it starts then, and its statements before it
/// joins them.
#[derive(Clone)]
pub struct Program {
    /// The threads in the order they are started.
    pub threads: Vec<Vec<Statement>>,
    /// Main's statements meanwhile.
    pub main: Vec<Statement>,
    /// True when spurious wake-ups, spurious failures and time-outs are explored.
    pub disturbed: bool,
    /// The memory model.
    pub memory: Memory,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "disturbed: {}, {:?}", self.disturbed, self.memory)?;
        writeln!(f, "main: {:?}", self.main)?;
        self.threads
            .iter()
            .try_for_each(|thread| writeln!(f, "thread: {thread:?}"))
    }
}

/// The condition that a loop waits for.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// x is the constant
    Is(usize, u32),
    /// x is not the constant
    IsNot(usize, u32),
    /// x + y is the constant
    Sum(u32),
}

impl Condition {
    fn holds(self, memory: [u32; 2]) -> bool {
        match self {
            Condition::Is(x, constant) => memory[x] == constant,
            Condition::IsNot(x, constant) => memory[x] != constant,
            Condition::Sum(constant) => memory[0] + memory[1] == constant,
        }
    }
}

/// The result of one execution.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The register of each thread, main's last.
    pub registers: Vec<u32>,
    /// The conditions for which threads have given up to wait.
    waits: Vec<Condition>,
    /// x and y.
    pub memory: [u32; 2],
}

impl Outcome {
    /// True when no thread has given up.
    pub fn is_complete(&self) -> bool {
        self.waits.is_empty()
    }

    /// True when all threads that have given up would wait for ever.
    pub fn is_livelock(&self) -> bool {
        !self.is_complete() && self.waits.iter().all(|wait| !wait.holds(self.memory))
    }
}

/// The main subject of a program.
#[derive(Clone, Copy)]
enum Theme {
    Memory,
    WeakMemory,
    Locks,
    Conditions,
    Meetings,
    /// `SeqCst` accesses, and calls that synchronize threads.
    StrongMemory,
    Everything,
}

impl Program {
    /// Returns a random program of two to four threads, main among them.
    pub fn random(rng: &mut Rng) -> Self {
        let theme = rng
            .choice([
                Theme::Memory,
                Theme::WeakMemory,
                Theme::WeakMemory,
                Theme::Locks,
                Theme::Conditions,
                Theme::Meetings,
                Theme::Everything,
            ])
            .expect("not empty");
        Program::of_theme(rng, theme)
    }

    /// Returns a random program under RC11 whose accesses are all `SeqCst`.
    pub fn random_seq_cst(rng: &mut Rng) -> Self {
        Program::of_theme(rng, Theme::StrongMemory)
    }

    fn of_theme(rng: &mut Rng, theme: Theme) -> Self {
        let started = rng.choice([1, 1, 2, 2, 2, 3]).expect("not empty");
        let longest = match (started, theme) {
            (1, _) => 5,
            (2, Theme::Meetings) => 3,
            (2, Theme::Locks | Theme::Conditions) => 2,
            (2, _) => 3,
            (_, Theme::Locks | Theme::Conditions) => 1,
            _ => 2,
        };
        let mut body = || {
            (0..rng.usize(1..=longest))
                .map(|_| statement(rng, theme, 2))
                .collect()
        };
        let threads = (0..started).map(|_| body()).collect();
        let main: Vec<_> = body();
        let main = if main.len() > 1 { main } else { Vec::new() };
        let disturbed = rng.bool();
        let memory = match theme {
            Theme::WeakMemory | Theme::StrongMemory => Memory::Rc11,
            _ => rng.choice([Memory::Sc, Memory::Rc11]).expect("not empty"),
        };
        Program {
            threads,
            main,
            disturbed,
            memory,
        }
    }

    /// Adds one or two spin loops to the program.
    #[must_use]
    pub fn with_loops(mut self, rng: &mut Rng) -> Self {
        for _ in 0..rng.usize(1..=2) {
            let looped = match rng.u32(0..6) {
                0..3 => Statement::Until(rng.usize(0..2), rng.u32(0..3)),
                3..5 => Statement::UntilOther(rng.usize(0..2), rng.u32(0..3)),
                _ => Statement::UntilFree(rng.usize(0..2)),
            };
            let looped = match rng.bool() {
                true => looped,
                false => {
                    let ordering = rng.choice(ORDERINGS).expect("not empty");
                    Statement::With(ordering, Box::new(looped))
                }
            };
            let mut bodies: Vec<_> = self.threads.iter_mut().chain([&mut self.main]).collect();
            let body = rng.usize(0..bodies.len());
            let position = rng.usize(0..=bodies[body].len());
            bodies[body].insert(position, looped);
        }
        self
    }

    /// Returns a random program of two or three threads that wait for values of one writer, which may write the same
    /// value again.
    pub fn random_readers(rng: &mut Rng) -> Self {
        let weakens = rng.bool();
        let any_ordering = |rng: &mut Rng, statement: Statement| match weakens {
            true => Statement::With(
                rng.choice(ORDERINGS).expect("not empty"),
                Box::new(statement),
            ),
            false => statement,
        };
        let count = rng.choice([2, 2, 3]).expect("not empty");
        let writes: Vec<_> = (0..rng.usize(1..=3))
            .map(|_| (rng.usize(0..8) / 5, rng.u32(0..3)))
            .collect();
        let writer: Vec<_> = (writes.iter())
            .map(|&(x, constant)| any_ordering(rng, Statement::Write(x, constant)))
            .collect();
        let mut threads: Vec<_> = (0..count)
            .map(|_| {
                // The last write can be waited for.
                let (x, constant) = match rng.u32(0..6) {
                    0 => (rng.usize(0..2), rng.u32(0..3)),
                    1 => rng.choice(&writes).copied().expect("not empty"),
                    _ => writes[writes.len() - 1],
                };
                let looped = match rng.u32(0..8) {
                    0..4 => Statement::Until(x, constant),
                    4..6 => Statement::UntilSum(constant),
                    6 => Statement::UntilNested(constant),
                    _ => Statement::UntilOther(x, rng.u32(0..3)),
                };
                let mut body = vec![any_ordering(rng, looped)];
                if rng.u32(0..3) == 0 {
                    let other = match rng.u32(0..3) {
                        0 => Statement::Write(rng.usize(0..2), rng.u32(0..3)),
                        1 => Statement::Add(rng.usize(0..2), 1),
                        _ => Statement::Read(rng.usize(0..2)),
                    };
                    let position = rng.usize(0..=1);
                    body.insert(position, any_ordering(rng, other));
                }
                body
            })
            .collect();
        let mut main = Vec::new();
        match rng.usize(0..=count + 1) {
            position if position <= count => threads.insert(position, writer),
            _ => main = writer,
        }
        Program {
            threads,
            main,
            disturbed: false,
            memory: rng.choice([Memory::Sc, Memory::Rc11]).expect("not empty"),
        }
    }

    /// Adds enough yields to the program that the search lets other threads go first.
    #[must_use]
    pub fn with_pauses(mut self, rng: &mut Rng) -> Self {
        for body in self.threads.iter_mut().chain([&mut self.main]) {
            if rng.bool() {
                let position = rng.usize(0..=body.len());
                let pauses = vec![Statement::Yield; rng.usize(7..=17)];
                body.splice(position..position, pauses);
            }
        }
        self
    }

    /// Returns a check that runs every execution of the program.
    pub fn checker(&self, strategy: Strategy) -> Checker {
        Checker::new()
            .strategy(strategy)
            .memory(self.memory)
            .spurious_wakeups(self.disturbed)
            .timeouts(self.disturbed)
            .weak_cas(self.disturbed)
            .waiting_writers(self.disturbed)
            .keep_going(true)
    }

    /// True when some thread may wait for a notification.
    pub fn waits(&self) -> bool {
        let mut bodies = self.threads.iter().chain([&self.main]);
        bodies.any(|body| body.iter().any(Statement::waits))
    }

    /// Runs the program inside a check, with names of its variables and locks that do not depend on
    /// the schedule.
    pub fn run_named(&self) {
        let world = World::default();
        raddle::label!("x", &world.variables[0]);
        raddle::label!("y", &world.variables[1]);
        raddle::label!("first", &world.locks[0]);
        raddle::label!("second", &world.locks[1]);
        raddle::label!("readers_writer", &world.readers_writer);
        raddle::label!("meeting", &world.meeting);
        raddle::label!("condition", &world.condition);
        raddle::label!("permits", &world.permits);
        self.run_in(Arc::new(world));
    }

    /// Runs the program inside a check.
    pub fn run(&self) {
        self.run_in(Arc::default());
    }

    /// Runs the program inside a check. If `gives_up` is set, a thread ends with the first round of a loop that is
    /// in vain.
    pub fn outcome(&self, gives_up: bool) -> Outcome {
        let world = Arc::new(World {
            gives_up,
            ..World::default()
        });
        let threads = self.run_in(Arc::clone(&world));
        Outcome {
            registers: threads.iter().map(|thread| thread.0).collect(),
            waits: threads.iter().filter_map(|thread| thread.1).collect(),
            memory: [0, 1].map(|x: usize| world.variables[x].load(Ordering::SeqCst)),
        }
    }

    /// Returns the register of each thread, main's last, and the condition for which it has given up to wait.
    fn run_in(&self, world: Arc<World>) -> Vec<(u32, Option<Condition>)> {
        let threads: Vec<_> = self
            .threads
            .iter()
            .map(|body| {
                let (world, body) = (Arc::clone(&world), body.clone());
                thread::spawn(move || Thread::new(&world).result(&body))
            })
            .collect();
        let main = Thread::new(&world).result(&self.main);
        let registers = threads.into_iter().map(|thread| thread.join().unwrap());
        registers.chain([main]).collect()
    }
}

fn statement(rng: &mut Rng, theme: Theme, depth: u32) -> Statement {
    // Mostly the first of each kind, so that threads interact.
    let x = usize::from(rng.u32(0..10) >= 7);
    let ordering = rng.choice(ORDERINGS).expect("not empty");
    let weakens = match theme {
        Theme::WeakMemory => 9,
        Theme::Everything => 3,
        _ => 0,
    };
    if rng.u32(0..10) < weakens {
        if rng.u32(0..8) == 0 && ordering != Ordering::Relaxed {
            return Statement::Fence(ordering);
        }
        let theme = match theme {
            Theme::WeakMemory => Theme::Memory,
            other => other,
        };
        let inner = statement(rng, theme, depth.saturating_sub(1));
        return Statement::With(ordering, Box::new(inner));
    }
    let number = match theme {
        Theme::Memory => rng.u32(0..60),
        Theme::WeakMemory => rng.u32(44..65),
        Theme::Locks => match rng.u32(50..112) {
            number @ 100.. => number + 40,
            number => number,
        },
        Theme::Conditions => rng.u32(80..140),
        Theme::Meetings => match rng.u32(0..12) {
            0..3 => rng.u32(0..52),
            3 => rng.u32(52..65),
            4 => 78,
            _ => rng.u32(150..153),
        },
        Theme::StrongMemory => match rng.bool() {
            true => rng.u32(0..52),
            false => rng.u32(60..157),
        },
        Theme::Everything => rng.u32(0..157),
    };
    let inner = |rng: &mut Rng| match (depth, rng.u32(0..10)) {
        (0, _) | (_, 0..3) => Vec::new(),
        _ => vec![statement(rng, theme, depth - 1)],
    };
    match number {
        0..20 => Statement::Read(x),
        20..36 => Statement::Write(x, rng.u32(1..3)),
        36..44 => Statement::Add(x, rng.u32(1..3)),
        44..48 => Statement::CompareExchangeWeak(x, rng.u32(0..3), rng.u32(1..4)),
        48..52 => Statement::CompareExchange(x, rng.u32(0..3), rng.u32(1..4)),
        52..56 => Statement::If(inner(rng), inner(rng)),
        56..58 => Statement::Choose(2),
        58..60 => Statement::Assume(rng.u32(0..3)),
        60..62 => Statement::IsFinished,
        62..63 => Statement::Yield,
        63..65 => Statement::Spawn(inner(rng)),
        65..72 => Statement::Acquire,
        72..73 => Statement::TryAcquire,
        73..78 => Statement::Release,
        78..91 => Statement::Lock(rng.usize(0..2), inner(rng)),
        91..100 => Statement::TryLock(rng.usize(0..2), inner(rng)),
        100..113 => Statement::Wait(rng.usize(0..2), inner(rng)),
        113..120 => Statement::WaitTimeout(rng.usize(0..2), inner(rng)),
        120..132 => Statement::NotifyOne,
        132..140 => Statement::NotifyAll,
        140..143 => Statement::LockToRead(inner(rng)),
        143..144 => Statement::TryLockToRead(inner(rng)),
        144..147 => Statement::LockToWrite(inner(rng), Vec::new()),
        147..148 => Statement::LockToWrite(Vec::new(), inner(rng)),
        148..150 => Statement::TryLockToWrite(inner(rng)),
        150..152 => Statement::Meet,
        152..153 => Statement::MeetAndLead,
        153..155 => Statement::Park,
        _ => Statement::Unpark,
    }
}

struct World {
    variables: [AtomicU32; 2],
    locks: [Mutex<()>; 2],
    readers_writer: RwLock<()>,
    meeting: Barrier,
    condition: Condvar,
    permits: Semaphore,
    main: thread::Thread,
    /// True when a thread ends with the first round of a loop that is in vain.
    gives_up: bool,
}

impl Default for World {
    fn default() -> Self {
        World {
            variables: Default::default(),
            locks: Default::default(),
            readers_writer: RwLock::default(),
            meeting: Barrier::new(2),
            condition: Condvar::new(),
            permits: Semaphore::new(1),
            main: thread::current(),
            gives_up: false,
        }
    }
}

struct Thread<'a> {
    world: &'a Arc<World>,
    register: u32,
    ordering: Ordering,
    started: Option<JoinHandle<()>>,
    /// Condition of the loop at which the thread has ended.
    given_up: Option<Condition>,
}

impl<'a> Thread<'a> {
    fn new(world: &'a Arc<World>) -> Self {
        Thread {
            world,
            register: 0,
            ordering: Ordering::SeqCst,
            started: None,
            given_up: None,
        }
    }

    /// Returns the register after the statements, and the condition of a loop that the thread has given up.
    fn result(mut self, statements: &[Statement]) -> (u32, Option<Condition>) {
        self.run(statements);
        (self.register, self.given_up)
    }

    /// True when the loop begins another round, because its condition does not hold.
    #[inline(always)]
    fn looks_again(&mut self, holds: bool, condition: Condition) -> bool {
        if !holds && self.world.gives_up {
            self.given_up = Some(condition);
            return false;
        }
        !holds
    }

    fn run(&mut self, statements: &[Statement]) {
        for statement in statements {
            if self.given_up.is_some() {
                return;
            }
            self.step(statement);
        }
    }

    fn step(&mut self, statement: &Statement) {
        let World {
            variables,
            locks,
            readers_writer,
            meeting,
            condition,
            permits,
            main,
            gives_up: _,
        } = &**self.world;
        let ordering = self.ordering;
        let failure = for_load(ordering);
        match statement {
            Statement::With(ordering, inner) => {
                let outer = std::mem::replace(&mut self.ordering, *ordering);
                self.step(inner);
                self.ordering = outer;
            }
            Statement::Fence(ordering) => fence(*ordering),
            Statement::Until(x, constant) => {
                let condition = Condition::Is(*x, *constant);
                while self.looks_again(variables[*x].load(failure) == *constant, condition) {}
            }
            Statement::UntilSum(constant) => {
                let sum = || variables[0].load(failure) + variables[1].load(failure);
                while self.looks_again(sum() == *constant, Condition::Sum(*constant)) {}
            }
            Statement::UntilNested(constant) => loop {
                let (first, second) = (Condition::Is(0, *constant), Condition::IsNot(1, 0));
                while self.looks_again(variables[0].load(failure) == *constant, first) {}
                if self.given_up.is_some() {
                    break;
                }
                while self.looks_again(variables[1].load(failure) != 0, second) {}
                if self.given_up.is_some()
                    || !self.looks_again(variables[0].load(failure) == *constant, first)
                {
                    break;
                }
            },
            Statement::UntilOther(x, constant) => loop {
                let found = variables[*x].swap(*constant, ordering);
                if !self.looks_again(found != *constant, Condition::IsNot(*x, *constant)) {
                    self.register = found;
                    break;
                }
            },
            Statement::UntilFree(lock) => while locks[*lock].try_lock().is_err() {},
            Statement::Read(x) => self.register = variables[*x].load(failure),
            Statement::Write(x, constant) => {
                variables[*x].store(self.register + constant, for_store(ordering));
            }
            Statement::Add(x, constant) => {
                self.register = variables[*x].fetch_add(*constant, ordering);
            }
            Statement::CompareExchange(x, expected, new) => {
                let result = variables[*x].compare_exchange(*expected, *new, ordering, failure);
                self.register = result.unwrap_or_else(|found| found);
            }
            Statement::CompareExchangeWeak(x, expected, new) => {
                let result =
                    variables[*x].compare_exchange_weak(*expected, *new, ordering, failure);
                self.register = match result {
                    Err(found) if found == *expected => *new,
                    Ok(found) | Err(found) => found,
                };
            }
            Statement::Lock(lock, inner) => {
                let _guard = locks[*lock].lock().unwrap();
                self.run(inner);
            }
            Statement::TryLock(lock, inner) => {
                if let Ok(_guard) = locks[*lock].try_lock() {
                    self.run(inner);
                }
            }
            Statement::LockToRead(inner) => {
                let _guard = readers_writer.read().unwrap();
                self.run(inner);
            }
            Statement::TryLockToRead(inner) => {
                if let Ok(_guard) = readers_writer.try_read() {
                    self.run(inner);
                }
            }
            Statement::LockToWrite(writing, reading) => {
                let guard = readers_writer.write().unwrap();
                self.run(writing);
                if !reading.is_empty() {
                    let _guard = RwLockWriteGuard::downgrade(guard);
                    self.run(reading);
                }
            }
            Statement::TryLockToWrite(inner) => {
                if let Ok(_guard) = readers_writer.try_write() {
                    self.run(inner);
                }
            }
            Statement::Meet => drop(meeting.wait()),
            Statement::MeetAndLead => self.register = u32::from(meeting.wait().is_leader()),
            Statement::Wait(lock, inner) => {
                let guard = locks[*lock].lock().unwrap();
                let _guard = condition.wait(guard).unwrap();
                self.run(inner);
            }
            Statement::WaitTimeout(lock, inner) => {
                let guard = locks[*lock].lock().unwrap();
                let (_guard, result) = condition.wait_timeout(guard, Duration::ZERO).unwrap();
                self.register = u32::from(result.timed_out());
                self.run(inner);
            }
            Statement::NotifyOne => condition.notify_one(),
            Statement::NotifyAll => condition.notify_all(),
            Statement::Acquire => permits.acquire(),
            Statement::TryAcquire => self.register = u32::from(permits.try_acquire()),
            Statement::Release => permits.release(),
            Statement::Assume(value) => raddle::assume(self.register != *value),
            Statement::Choose(count) => self.register = raddle::choose(0..*count),
            Statement::If(odd, even) => {
                self.run(if self.register % 2 == 1 { odd } else { even });
            }
            Statement::Spawn(inner) => {
                let (world, inner) = (Arc::clone(self.world), inner.clone());
                self.started = Some(thread::spawn(move || Thread::new(&world).run(&inner)));
            }
            Statement::IsFinished => {
                if let Some(thread) = &self.started {
                    self.register = u32::from(thread.is_finished());
                }
            }
            Statement::Park => thread::park(),
            Statement::Unpark => main.unpark(),
            Statement::Yield => thread::yield_now(),
        }
    }
}
