//! Random small programs with the primitives that [`random_program`](crate::random_program) leaves
//! out: one-time initialisation, binary semaphores, monitors, scopes, destructors of thread-locals,
//! and time.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fastrand::Rng;
use raddle::monitor::{Condition, Discipline, Monitor, MonitorGuard};
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, BinarySemaphore, LazyLock, Mutex, Once, OnceLock};
use raddle::thread;
use raddle::time::Instant;

/// One statement. Every thread has a register that reads fill and that writes and branches use.
#[derive(Clone, Debug)]
pub enum Statement {
    /// register = x
    Read(usize),
    /// x = register + 1
    Write(usize),
    /// with the lock held, the statements
    Lock(Vec<Statement>),
    /// if the register is odd, the first statements, else the others
    If(Vec<Statement>, Vec<Statement>),
    /// the statements, unless that has been done; register = 1 if there was a panic before
    CallOnce(Vec<Statement>),
    /// the statements, even after a panic; they end with one if so
    CallOnceForce(Vec<Statement>, bool),
    /// register = 1 if the initialisation is completed
    IsCompleted,
    /// wait until the initialisation is completed
    WaitOnce,
    /// register = the cell's value, which the statements make if it is empty
    GetOrInit(Vec<Statement>),
    /// write the cell; register = 1 on success
    Set,
    /// register = the cell's value, or 0
    Get,
    /// register = the value of the `LazyLock`, which adds to x
    Force,
    /// take the permit
    Acquire,
    /// register = 1 if the permit was taken
    TryAcquire,
    /// release the permit, when it is taken
    Release,
    /// in the monitor, these
    Enter(Vec<Inside>),
    /// a thread with the first statements, until the end of the others
    Scope(Vec<Statement>, Vec<Statement>),
    /// at the end of the thread, add to x
    Leave(usize),
    /// let time pass
    Sleep,
    /// register = the time that has passed
    Clock,
    /// yield
    Yield,
}

/// One statement of a thread that is in the monitor.
#[derive(Clone, Debug)]
pub enum Inside {
    /// wait for the condition
    Wait(usize),
    /// wake the first waiter
    Signal(usize),
    /// wake all waiters, or the first with signal and urgent wait
    SignalAll(usize),
    /// register = number of waiting threads
    Waiting(usize),
    /// the statements
    Do(Vec<Statement>),
}

/// The main subject of a program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Theme {
    /// `Once`, `OnceLock`, `LazyLock`.
    OneTime,
    /// `BinarySemaphore`.
    Permits,
    /// A monitor with signal and continue.
    Continuing,
    /// A monitor with signal and urgent wait.
    Urgent,
    /// Scopes, thread-locals, time.
    Threads,
    /// All of these.
    Everything,
}

/// A program: the threads that main starts, and main's own statements meanwhile.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its main subject.
    pub theme: Theme,
    threads: Vec<Vec<Statement>>,
    main: Vec<Statement>,
}

impl Program {
    /// Returns a random program of two or three threads, main among them.
    pub fn random(rng: &mut Rng) -> Self {
        use Theme::{Continuing, Everything, OneTime, Permits, Threads, Urgent};
        let themes = [OneTime, Permits, Continuing, Urgent, Threads, Everything];
        let theme = rng.choice(themes).expect("not empty");
        let started = rng.usize(1..=2);
        let mut body = |longest: usize| {
            let length = rng.usize(1..=longest);
            (0..length).map(|_| statement(rng, theme, 2)).collect()
        };
        let longest = if started == 1 { 5 } else { 3 };
        Program {
            theme,
            threads: (0..started).map(|_| body(longest)).collect(),
            main: body(longest),
        }
    }

    /// Runs the program inside a check.
    pub fn run(&self) {
        let discipline = match self.theme {
            Theme::Urgent => Discipline::SignalUrgent,
            _ => Discipline::SignalContinue,
        };
        let world = Arc::new(World::new(discipline));
        let start = |body: &Vec<Statement>| {
            let (world, body) = (Arc::clone(&world), body.clone());
            thread::spawn(move || Thread::new(&world).run(&body))
        };
        let threads: Vec<_> = self.threads.iter().map(start).collect();
        Thread::new(&world).run(&self.main);
        for thread in threads {
            thread.join().unwrap();
        }
    }
}

fn statement(rng: &mut Rng, theme: Theme, depth: u32) -> Statement {
    let x = rng.usize(0..2);
    let number = match (theme, rng.u32(0..4)) {
        (Theme::Everything, _) => rng.u32(0..64),
        (_, 0) => rng.u32(0..12),
        (Theme::OneTime, _) => rng.u32(12..36),
        (Theme::Permits, _) => rng.u32(36..45),
        (Theme::Continuing | Theme::Urgent, _) => rng.u32(45..54),
        (Theme::Threads, _) => rng.u32(54..64),
    };
    let inner = |rng: &mut Rng| match (depth, rng.u32(0..10)) {
        (0, _) | (_, 0..4) => Vec::new(),
        _ => vec![statement(rng, theme, depth - 1)],
    };
    match number {
        0..5 => Statement::Read(x),
        5..8 => Statement::Write(x),
        8..10 => Statement::Lock(inner(rng)),
        10..12 => Statement::If(inner(rng), inner(rng)),
        12..16 => Statement::CallOnce(inner(rng)),
        16..19 => Statement::CallOnceForce(inner(rng), rng.bool()),
        19..22 => Statement::IsCompleted,
        22..23 => Statement::WaitOnce,
        23..27 => Statement::GetOrInit(inner(rng)),
        27..30 => Statement::Set,
        30..33 => Statement::Get,
        33..36 => Statement::Force,
        36..40 => Statement::Acquire,
        40..42 => Statement::TryAcquire,
        42..45 => Statement::Release,
        45..54 => Statement::Enter((0..rng.u32(1..3)).map(|_| inside(rng, inner)).collect()),
        54..57 => Statement::Scope(inner(rng), inner(rng)),
        57..59 => Statement::Leave(x),
        59..61 => Statement::Sleep,
        61..63 => Statement::Clock,
        _ => Statement::Yield,
    }
}

fn inside(rng: &mut Rng, inner: impl Fn(&mut Rng) -> Vec<Statement>) -> Inside {
    // Mostly the first condition, so that threads interact.
    let condition = usize::from(rng.u32(0..4) == 0);
    match rng.u32(0..12) {
        0..4 => Inside::Wait(condition),
        4..7 => Inside::Signal(condition),
        7..9 => Inside::SignalAll(condition),
        9..10 => Inside::Waiting(condition),
        _ => Inside::Do(inner(rng)),
    }
}

struct World {
    variables: Arc<[AtomicU32; 2]>,
    lock: Mutex<()>,
    once: Once,
    cell: OnceLock<u32>,
    lazy: LazyLock<u32, Box<dyn FnOnce() -> u32 + Send>>,
    permit: BinarySemaphore,
    discipline: Discipline,
    monitor: Monitor<()>,
    conditions: [Condition; 2],
    start: Instant,
}

impl World {
    fn new(discipline: Discipline) -> Self {
        let variables = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let shared = Arc::clone(&variables);
        let monitor = Monitor::new(discipline, ());
        World {
            variables,
            lock: Mutex::default(),
            once: Once::new(),
            cell: OnceLock::new(),
            lazy: LazyLock::new(Box::new(move || shared[0].fetch_add(1, SeqCst) + 1)),
            permit: BinarySemaphore::new(true),
            discipline,
            conditions: [monitor.condition(), monitor.condition()],
            monitor,
            start: Instant::now(),
        }
    }
}

/// Adds to a variable when it is dropped.
struct Note(Arc<[AtomicU32; 2]>, usize);

impl Drop for Note {
    fn drop(&mut self) {
        self.0[self.1].fetch_add(1, SeqCst);
    }
}

raddle::thread_local!(static NOTES: RefCell<Vec<Note>> = const { RefCell::new(Vec::new()) });

struct Thread<'a> {
    world: &'a World,
    register: u32,
}

impl<'a> Thread<'a> {
    fn new(world: &'a World) -> Self {
        Thread { world, register: 0 }
    }

    fn run(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.step(statement);
        }
    }

    fn step(&mut self, statement: &Statement) {
        let world = self.world;
        let World {
            once, cell, permit, ..
        } = world;
        match statement {
            Statement::Read(x) => self.register = world.variables[*x].load(SeqCst),
            Statement::Write(x) => world.variables[*x].store(self.register + 1, SeqCst),
            Statement::Lock(inner) => {
                let _guard = world.lock.lock();
                self.run(inner);
            }
            Statement::If(odd, even) => {
                self.run(if self.register % 2 == 1 { odd } else { even });
            }
            Statement::CallOnce(inner) => {
                let called = catch_unwind(AssertUnwindSafe(|| once.call_once(|| self.run(inner))));
                self.register = u32::from(called.is_err());
            }
            Statement::CallOnceForce(inner, panics) => {
                let call = || {
                    once.call_once_force(|state| {
                        self.register = u32::from(state.is_poisoned());
                        self.run(inner);
                        assert!(!panics, "of the initialiser");
                    });
                };
                let _ = catch_unwind(AssertUnwindSafe(call));
            }
            Statement::IsCompleted => self.register = u32::from(once.is_completed()),
            Statement::WaitOnce => once.wait_force(),
            Statement::GetOrInit(inner) => {
                let made = cell.get_or_init(|| {
                    self.run(inner);
                    self.register + 1
                });
                self.register = *made;
            }
            Statement::Set => self.register = u32::from(cell.set(self.register + 1).is_ok()),
            Statement::Get => self.register = cell.get().copied().unwrap_or(0),
            Statement::Force => self.register = *world.lazy,
            Statement::Acquire => permit.acquire(),
            Statement::TryAcquire => self.register = u32::from(permit.try_acquire()),
            Statement::Release => permit.release(),
            Statement::Enter(inner) => {
                let mut guard = world.monitor.enter();
                for step in inner {
                    self.step_inside(&mut guard, step);
                }
            }
            Statement::Scope(theirs, mine) => thread::scope(|scope| {
                scope.spawn(|| Thread::new(world).run(theirs));
                self.run(mine);
            }),
            Statement::Leave(x) => {
                let note = Note(Arc::clone(&world.variables), *x);
                NOTES.with_borrow_mut(|notes| notes.push(note));
            }
            Statement::Sleep => thread::sleep(Duration::from_millis(1)),
            Statement::Clock => self.register = world.start.elapsed().as_millis() as u32,
            Statement::Yield => thread::yield_now(),
        }
    }

    fn step_inside(&mut self, guard: &mut MonitorGuard<'_, ()>, step: &Inside) {
        let World {
            conditions,
            discipline,
            ..
        } = self.world;
        match (step, discipline) {
            (Inside::Wait(condition), _) => guard.wait(conditions[*condition]),
            (Inside::SignalAll(condition), Discipline::SignalContinue) => {
                guard.signal_all(conditions[*condition]);
            }
            (Inside::Signal(condition) | Inside::SignalAll(condition), _) => {
                guard.signal(conditions[*condition]);
            }
            (Inside::Waiting(condition), _) => {
                self.register = guard.waiting(conditions[*condition]) as u32;
            }
            (Inside::Do(inner), _) => self.run(inner),
        }
    }
}
