//! Atomics of the standard library itself.
//!
//! They are no events and no scheduling points: the thread performs them in memory, and no other thread runs
//! in between. But they order threads, as their orderings say: a release publishes the clock of its thread;
//! an acquire joins it, at once or at the next fence. So the last owner of an `Arc` comes after all others,
//! and two threads that have only cloned it are unordered.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use raddle_engine::Operation;

use super::clocks::join;
use super::{arc_counts, threads};
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode::host;
use crate::names::rust_paths::FunctionKind;
use crate::threads::atomics;

/// Number of equal loads after which a thread counts as waiting.
const PATIENCE: u32 = 64;

/// The atomics of the standard library in the execution.
#[derive(Default)]
pub(crate) struct StdAtomics {
    /// Release clock of each atomic: an index of `clocks`.
    messages: Table<usize>,
    clocks: Vec<Vec<u32>>,
    used: usize,
    /// By thread: clocks that it has read without acquiring them, and its clock at the last release fence.
    read: Vec<Vec<u32>>,
    fenced: Vec<Vec<u32>>,
    /// Address and epoch of the last load, and how often it was repeated.
    look: (usize, u64, u32),
}

impl Part for StdAtomics {
    fn renew(&mut self) {
        let StdAtomics {
            messages,
            clocks: _,
            used,
            read,
            fenced,
            look,
        } = self;
        messages.clear();
        *used = 0;
        for clocks in [read, fenced] {
            clocks.iter_mut().for_each(Vec::clear);
        }
        *look = (0, 0, 0);
    }
}

pub(crate) static STD_ATOMICS: PartCell<StdAtomics> = PartCell::new();

/// Forgets these addresses: other atomics come next.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    STD_ATOMICS.get().messages.forget(range);
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

impl StdAtomics {
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

    /// The running thread has written the atomic at an address. The release clock stays if this was an update
    /// (release sequence).
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
    if shadow_stack::region() == FunctionKind::Scope {
        threads::end_scope(address, code);
    }
    arc_counts::use_count(address, false);
    let ordering = atomics::ordering(order);
    let waits = {
        let mut known = STD_ATOMICS.get();
        known.read(address, atomics::of_load(ordering));
        let epoch = crate::host::mode::epoch();
        let (last, since, count) = known.look;
        let count = match (last, since) == (address, epoch) {
            true => count + 1,
            false => 0,
        };
        known.look = (address, epoch, count);
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
    STD_ATOMICS.get().write(address, ordering, false);
}

/// In guest mode: the same for an update.
pub(crate) fn update(address: usize, order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    arc_counts::use_count(address, true);
    let ordering = atomics::ordering(order);
    let mut known = STD_ATOMICS.get();
    known.read(address, ordering);
    known.write(address, ordering, true);
}

/// In guest mode: the same for one that found another value.
pub(crate) fn fail(address: usize, order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    arc_counts::use_count(address, false);
    STD_ATOMICS.get().read(address, atomics::ordering(order));
}

/// In guest mode: a fence.
pub(crate) fn fence(order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    let ordering = atomics::ordering(order);
    let mut known = STD_ATOMICS.get();
    let thread = running().thread().index();
    if acquires(ordering) {
        let read = std::mem::take(of(&mut known.read, thread));
        if !read.is_empty() {
            running().take_on(&read);
        }
    }
    if releases(ordering) {
        let mut fenced = std::mem::take(of(&mut known.fenced, thread));
        running().pass_on(&mut fenced);
        *of(&mut known.fenced, thread) = fenced;
    }
}
