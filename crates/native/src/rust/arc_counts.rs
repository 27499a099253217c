//! Whether the order in which threads change the reference counts of an `Arc` matters.
//!
//! Nearly always it does not, so counts are [no events](super::std_atomics). But a program may read a count,
//! or a destructor may do something that other threads notice, so that it matters which thread drops the last
//! reference. When two threads do that concurrently, the check begins again, with counts that are operations.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_engine::memory::clock::join_growing;
use raddle_settings::ArcCounts as Counting;

use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode::host;
use crate::memory::blocks;
use crate::names::rust_paths::FunctionKind;
use crate::process::program;

static ARE_OPERATIONS: AtomicBool = AtomicBool::new(false);

/// The counts of the execution.
#[derive(Default)]
pub(crate) struct ArcCounts {
    /// Clocks of the threads that have changed a count, and of those that have read it: indices of `clocks`.
    changed: Table<usize>,
    asked: Table<usize>,
    clocks: Vec<Vec<u32>>,
    used: usize,
    /// The clock of the running thread.
    own: Vec<u32>,
    /// True if the last change of each thread was in no order with others.
    is_contested: Vec<bool>,
    /// By thread: the last handles that it is dropping, each inside of the one before it.
    last: Vec<Vec<LastDrop>>,
}

/// A last handle that is dropped.
#[derive(Clone, Copy)]
struct LastDrop {
    /// Number of functions that the thread is in.
    depth: usize,
    /// True if it might have been another thread's, or one around it.
    is_contested: bool,
}

impl Part for ArcCounts {
    fn renew(&mut self) {
        let ArcCounts {
            changed,
            asked,
            clocks: _,
            used,
            own: _,
            is_contested,
            last,
        } = self;
        changed.clear();
        asked.clear();
        *used = 0;
        is_contested.clear();
        last.iter_mut().for_each(Vec::clear);
    }
}

pub(crate) static COUNTS: PartCell<ArcCounts> = PartCell::new();

/// Applies the setting, when a check begins.
pub(crate) fn prepare(wanted: Option<Counting>) {
    ARE_OPERATIONS.store(wanted == Some(Counting::Counted), Relaxed);
}

fn are_operations() -> bool {
    ARE_OPERATIONS.load(Relaxed)
}

/// In guest mode: true if an access in a function of this kind is an operation: it is of the user's own
/// `Arc`, not of the standard library's.
#[inline]
pub(crate) fn is_operation(kind: FunctionKind, address: usize) -> bool {
    kind.is_of_counts() && are_operations() && !blocks::is_inside(address)
}

/// Returns the ordering of such an operation: the drop of the last reference comes after all others, by a
/// fence that is no operation.
pub(crate) fn ordering(order: c_int) -> c_int {
    const BOTH: c_int = 4;
    match are_operations() && shadow_stack::region().is_of_counts() {
        true => BOTH,
        false => order,
    }
}

/// True if a clock has something that another has not.
fn is_news(clock: &[u32], to: &[u32]) -> bool {
    let mut all = clock.iter().enumerate();
    all.any(|(thread, &count)| to.get(thread).copied().unwrap_or(0) < count)
}

impl ArcCounts {
    /// Adds the running thread's clock to that of a count.
    fn add(&mut self, address: usize, asks: bool) {
        let table = match asks {
            true => &mut self.asked,
            false => &mut self.changed,
        };
        let number = match table.get(address) {
            Some(&mut number) => number,
            None => {
                let number = self.used;
                self.used += 1;
                match self.clocks.get_mut(number) {
                    Some(clock) => clock.clear(),
                    None => self.clocks.push(Vec::new()),
                }
                *table.insert(address, number)
            }
        };
        join_growing(&mut self.clocks[number], &self.own);
    }

    /// True if others have changed a count, or asked for it, in no order with the running thread.
    fn is_contested(&mut self, address: usize, asks: bool) -> bool {
        let table = match asks {
            true => &mut self.asked,
            false => &mut self.changed,
        };
        let number = table.get(address).copied();
        number.is_some_and(|number| is_news(&self.clocks[number], &self.own))
    }

    /// Returns the last references that a thread is dropping, at this depth of calls.
    fn last(&mut self, thread: usize, depth: usize) -> &mut Vec<LastDrop> {
        if self.last.len() <= thread {
            self.last.resize(thread + 1, Vec::new());
        }
        let list = &mut self.last[thread];
        let is_over = |it: &mut LastDrop| it.depth >= depth;
        while list.pop_if(is_over).is_some() {}
        list
    }
}

/// In guest mode: the running thread has read an atomic that is no event, and perhaps changed it.
pub(super) fn use_count(address: usize, changes: bool) {
    let asks = match shadow_stack::region() {
        FunctionKind::AsksCount => true,
        FunctionKind::Counts | FunctionKind::DropsLast => false,
        _ => return,
    };
    if are_operations() {
        return;
    }
    let thread = running().thread().index();
    let mut counts = COUNTS.get();
    let counts = &mut *counts;
    // Edges by the counts themselves do not count: another order of changes would give other edges.
    running().hb(&mut counts.own);
    let is_contested = counts.is_contested(address, false);
    let matters = asks && is_contested || changes && counts.is_contested(address, true);
    if changes {
        counts.add(address, false);
        if counts.is_contested.len() <= thread {
            counts.is_contested.resize(thread + 1, false);
        }
        counts.is_contested[thread] = is_contested;
    }
    if asks {
        counts.add(address, true);
    }
    if matters {
        exec_again();
    }
}

/// In guest mode: the running thread begins to drop the value of a last reference, at this depth of calls.
#[cold]
pub(crate) fn drop_last(depth: usize) {
    let thread = running().thread().index();
    let mut counts = COUNTS.get();
    let here = counts.is_contested.get(thread).copied() == Some(true);
    let around = counts.last(thread, depth);
    let is_contested = here || around.last().is_some_and(|it| it.is_contested);
    around.push(LastDrop {
        depth,
        is_contested,
    });
}

/// In guest mode: a function of this kind is entered, at this depth of calls, while a last reference is
/// dropped.
#[cold]
pub(crate) fn destroy(kind: FunctionKind, depth: usize) {
    let is_seen = kind == FunctionKind::User || kind.is_special();
    if is_seen && !are_operations() {
        let thread = running().thread().index();
        let last = COUNTS.get().last(thread, depth).last().copied();
        if last.is_some_and(|it| it.is_contested) {
            exec_again();
        }
    }
}

#[cold]
fn exec_again() {
    if program::is_checked() {
        host(|| program::exec_again("RADDLE_ARC", Counting::Counted.name()));
    }
    // It cannot begin again: findings are true, but some may be missed.
}
