//! The variables of the programs, and the ways in which threads use them.

use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicI32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex, MutexGuard, RwLock};
use raddle::{Checker, Failure, Level, Report, thread};

/// Three variables of each sort. One name stands for one variable.
pub struct World {
    /// Each with a lock of its own: `x`, `y` and `z`.
    locked: [Mutex<i32>; 3],
    /// Under readers-writer locks: `u`, `v` and `w`.
    shared: [RwLock<i32>; 3],
    /// Atomic variables: `a`, `b` and `c`.
    atomics: [AtomicI32; 3],
    /// Cells: `p`, `q` and `r`.
    cells: [Cell; 3],
    /// Locks without data: `m` and `n`.
    locks: [Mutex<()>; 2],
}

struct Cell(UnsafeCell<i32>);

// SAFETY: one OS thread runs everything; races of modelled threads are the subject of the tests.
unsafe impl Sync for Cell {}

impl World {
    pub fn new() -> Self {
        let world = World {
            locked: [(); 3].map(|()| Mutex::new(0)),
            shared: [(); 3].map(|()| RwLock::new(0)),
            atomics: [(); 3].map(|()| AtomicI32::new(0)),
            cells: [(); 3].map(|()| Cell(UnsafeCell::new(0))),
            locks: [(); 2].map(|()| Mutex::new(())),
        };
        for (index, name) in ["x", "y", "z"].into_iter().enumerate() {
            raddle::label!("{name}", &world.locked[index]);
        }
        for (index, name) in ["u", "v", "w"].into_iter().enumerate() {
            raddle::label!("{name}", &world.shared[index]);
        }
        for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
            raddle::label!("{name}", &world.atomics[index]);
        }
        for (index, name) in ["p", "q", "r"].into_iter().enumerate() {
            raddle::label!("{name}", &world.cells[index].0);
        }
        for (index, name) in ["m", "n"].into_iter().enumerate() {
            raddle::label!("{name}", &world.locks[index]);
        }
        world
    }

    /// Declares that two variables with locks belong together.
    pub fn locked_set(&self, name: [char; 2]) {
        let [first, second] = name.map(|name| &self.locked[number("xyz", name)]);
        raddle::data_set!("set", first, second);
    }

    /// Declares that two atomic variables belong together.
    pub fn atomic_set(&self, name: [char; 2]) {
        let [first, second] = name.map(|name| &self.atomics[number("abc", name)]);
        raddle::data_set!("set", first, second);
    }

    /// Reads a variable, in a critical section of its own if it has a lock.
    #[track_caller]
    pub fn get(&self, name: char) -> i32 {
        match name {
            'x'..='z' => *self.locked[number("xyz", name)].lock().unwrap(),
            'u'..='w' => *self.shared[number("uvw", name)].read().unwrap(),
            'a'..='c' => self.atomics[number("abc", name)].load(SeqCst),
            _ => {
                let cell = &self.cells[number("pqr", name)].0;
                // SAFETY: one OS thread runs everything.
                cell.with(|value| unsafe { *value })
            }
        }
    }

    /// Writes a variable, in a critical section of its own if it has a lock.
    #[track_caller]
    pub fn set(&self, name: char, new: i32) {
        match name {
            'x'..='z' => *self.locked[number("xyz", name)].lock().unwrap() = new,
            'u'..='w' => *self.shared[number("uvw", name)].write().unwrap() = new,
            'a'..='c' => self.atomics[number("abc", name)].store(new, SeqCst),
            _ => {
                let cell = &self.cells[number("pqr", name)].0;
                // SAFETY: one OS thread runs everything.
                cell.with_mut(|value| unsafe { *value = new });
            }
        }
    }

    /// Adds to a variable in one step.
    #[track_caller]
    pub fn add(&self, name: char, by: i32) -> i32 {
        match name {
            'a'..='c' => self.atomics[number("abc", name)].fetch_add(by, SeqCst),
            _ => {
                let mut value = self.locked[number("xyz", name)].lock().unwrap();
                *value += by;
                *value - by
            }
        }
    }

    /// Locks a variable.
    #[track_caller]
    pub fn lock(&self, name: char) -> MutexGuard<'_, i32> {
        self.locked[number("xyz", name)].lock().unwrap()
    }

    /// Holds a lock without data.
    #[track_caller]
    pub fn hold(&self, name: char) -> MutexGuard<'_, ()> {
        self.locks[number("mn", name)].lock().unwrap()
    }
}

fn number(names: &str, name: char) -> usize {
    names.find(name).expect("a variable of this sort")
}

/// A part of a program: what one thread does.
pub type Part = fn(&World);

/// Runs a program: `first` on main, then each part on a thread, and at last `last` on main.
pub fn run(first: Part, parts: &[Part], last: Part) {
    let world = Arc::new(World::new());
    first(&world);
    let threads: Vec<_> = (parts.iter().copied())
        .map(|part| {
            let world = Arc::clone(&world);
            thread::spawn(move || part(&world))
        })
        .collect();
    (threads.into_iter()).for_each(|thread| thread.join().unwrap());
    last(&world);
}

pub fn checker() -> Checker {
    Checker::new().predictions(Level::Warn).page(false)
}

/// Returns the accesses of the race of a failure, with letters for threads in their order: `A reads x, B writes x`.
pub fn accesses(failure: &Failure) -> String {
    let mut threads = Vec::new();
    let of = failure.race.iter().flat_map(|race| &race.accesses);
    let accesses = of.map(|access| {
        let known = threads.iter().position(|thread| *thread == &access.thread);
        let number = known.unwrap_or_else(|| {
            threads.push(&access.thread);
            threads.len() - 1
        });
        let does = if access.writes { "writes" } else { "reads" };
        let letter = char::from(b'A' + number as u8);
        format!("{letter} {does} {}", access.variable)
    });
    accesses.collect::<Vec<_>>().join(", ")
}

/// Returns the failures and warnings of a report.
pub fn found(report: &Report) -> Vec<&Failure> {
    report.failures.iter().chain(&report.warnings).collect()
}
