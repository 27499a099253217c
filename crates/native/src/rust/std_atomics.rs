//! Atomics that nobody wants to hear of: what the standard library does to its own.
//!
//! They are no events and no scheduling points: the thread does them in memory, and nobody runs in between.
//! But they order what threads do, and only as far as their orderings say. Who releases passes on what it
//! has done and seen; who acquires takes that on, at once or at its next fence. So the last owner of an
//! `Arc` comes after all others, and two threads that have only cloned it are in no order.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use raddle_engine::Operation;

use super::clocks::join;
use super::{arc_counts, threads};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode::host;
use crate::host::solo::Solo;
use crate::names::rust_paths::Kind;
use crate::threads::atomics;

/// Whoever looks so many times and does nothing else waits for somebody.
const PATIENCE: u32 = 64;

struct Quiet {
    /// What comes with the value of each atomic that somebody has released: a number of `clocks`.
    messages: Table<usize>,
    clocks: Vec<Vec<u32>>,
    used: usize,
    /// By thread: what it has read without taking it on, and what it passes on by its last fence.
    read: Vec<Vec<u32>>,
    fenced: Vec<Vec<u32>>,
    /// The last look of anybody, and how often it was the same.
    look: (usize, u64, u32),
}

static QUIET: Solo<Quiet> = Solo::new(Quiet {
    messages: Table::new(),
    clocks: Vec::new(),
    used: 0,
    read: Vec::new(),
    fenced: Vec::new(),
    look: (0, 0, 0),
});

/// At the beginning of an execution.
pub(crate) fn begin(stamp: u64) {
    let mut quiet = QUIET.get();
    let quiet = &mut *quiet;
    quiet.messages.begin(stamp);
    quiet.used = 0;
    for clocks in [&mut quiet.read, &mut quiet.fenced] {
        clocks.iter_mut().for_each(Vec::clear);
    }
}

/// What comes next at these addresses is something else.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    QUIET.get().messages.forget(range);
}

/// A clock of a list that grows as needed.
fn of(clocks: &mut Vec<Vec<u32>>, thread: usize) -> &mut Vec<u32> {
    if clocks.len() <= thread {
        clocks.resize(thread + 1, Vec::new());
    }
    &mut clocks[thread]
}

fn acquires(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst
    )
}

fn releases(ordering: Ordering) -> bool {
    matches!(
        ordering,
        Ordering::Release | Ordering::AcqRel | Ordering::SeqCst
    )
}

impl Quiet {
    /// The running thread has read the atomic at an address.
    fn read(&mut self, address: usize, ordering: Ordering) {
        let Some(&mut message) = self.messages.get(address) else {
            return;
        };
        let message = &self.clocks[message];
        match acquires(ordering) {
            true => running().take_on(message),
            false => join(of(&mut self.read, running().thread().index()), message),
        }
    }

    /// The running thread has written the atomic at an address; what came with the value before goes on if
    /// this was an update.
    fn write(&mut self, address: usize, ordering: Ordering, updates: bool) {
        let thread = running().thread().index();
        let known = self.messages.get(address).copied();
        let mut message = match (known, releases(ordering)) {
            (None, false) if of(&mut self.fenced, thread).is_empty() => return,
            (Some(number), _) => std::mem::take(&mut self.clocks[number]),
            (None, _) => Vec::new(),
        };
        if !updates {
            message.clear();
        }
        if releases(ordering) {
            let mut own = Vec::new();
            running().pass_on(&mut own);
            join(&mut message, &own);
        } else {
            join(&mut message, of(&mut self.fenced, thread));
        }
        match known {
            Some(number) => self.clocks[number] = message,
            None => {
                let number = self.used;
                self.used += 1;
                match self.clocks.get_mut(number) {
                    Some(clock) => *clock = message,
                    None => self.clocks.push(message),
                }
                self.messages.insert(address, number);
            }
        }
    }
}

/// In guest mode: the running thread has loaded the atomic at an address, at a place in the program.
pub(crate) fn load(address: usize, order: c_int, code: usize) {
    if shadow_stack::is_modelled() {
        return;
    }
    if shadow_stack::region() == Kind::Scope {
        threads::end_scope(address, code);
    }
    arc_counts::use_count(address, false);
    let ordering = atomics::ordering(order);
    let waits = {
        let mut quiet = QUIET.get();
        quiet.read(address, atomics::of_load(ordering));
        let epoch = crate::host::mode::epoch();
        let (last, since, count) = quiet.look;
        let count = match (last, since) == (address, epoch) {
            true => count + 1,
            false => 0,
        };
        quiet.look = (address, epoch, count);
        count >= PATIENCE
    };
    if waits {
        let site = shadow_stack::users(code);
        host(|| running().perform(site, |_| Operation::Yield));
    }
}

/// In guest mode: the same for a store.
pub(crate) fn store(address: usize, order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    let ordering = atomics::of_store(atomics::ordering(order));
    QUIET.get().write(address, ordering, false);
}

/// In guest mode: the same for an update.
pub(crate) fn update(address: usize, order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    arc_counts::use_count(address, true);
    let ordering = atomics::ordering(order);
    let mut quiet = QUIET.get();
    quiet.read(address, ordering);
    quiet.write(address, ordering, true);
}

/// In guest mode: the same for one that found another value.
pub(crate) fn fail(address: usize, order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    arc_counts::use_count(address, false);
    QUIET.get().read(address, atomics::ordering(order));
}

/// In guest mode: a fence.
pub(crate) fn fence(order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    let ordering = atomics::ordering(order);
    let mut quiet = QUIET.get();
    let thread = running().thread().index();
    if acquires(ordering) {
        let read = std::mem::take(of(&mut quiet.read, thread));
        if !read.is_empty() {
            running().take_on(&read);
        }
    }
    if releases(ordering) {
        let mut fenced = std::mem::take(of(&mut quiet.fenced, thread));
        running().pass_on(&mut fenced);
        *of(&mut quiet.fenced, thread) = fenced;
    }
}
