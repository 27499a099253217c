//! Detection of programs in which the order of changes of an `Arc`'s reference counts matters.
//!
//! Nearly always it does not, so accesses of counts are [no events](super::std_atomics). But a
//! program may read a count, or a destructor may have effects on other threads, so that the thread
//! that drops the last reference matters. Or a thread takes a reference by a raw pointer, which in
//! another order of changes would come [after the last one](super::count_history). When two threads
//! do that concurrently, the check begins again, with counts as operations.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_engine::UpdateKind;
use raddle_engine::memory::clock::join_growing;
use raddle_settings::ArcCounts as Counting;

use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::addresses::Table;
use crate::host::mode::{self, host};
use crate::memory::blocks::{self, Block};
use crate::names::rust_paths::FunctionKind;
use crate::process::program;

use super::count_history::History;

static ARE_OPERATIONS: AtomicBool = AtomicBool::new(false);
/// True if the order of changes matters, and the program cannot begin again.
static IS_LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// The counts of the execution.
#[derive(Default)]
pub(crate) struct ArcCounts {
    /// Joined clocks of the changes and of the reads of each count, as indices of `clocks`.
    changed: Table<usize>,
    asked: Table<usize>,
    clocks: Vec<Vec<u32>>,
    used: usize,
    /// `hb` of the running thread, in the epoch.
    own: Vec<u32>,
    epoch: u64,
    /// The clock that it releases.
    released: Vec<u32>,
    /// True for a thread whose last change of a count was concurrent with another thread's.
    is_contested: Vec<bool>,
    /// Last references that each thread is dropping, each nested in the one before.
    last: Vec<Vec<LastDrop>>,
    /// Changes of each count of strong references, as indices of `histories`.
    changes: Table<usize>,
    histories: Vec<History>,
    used_histories: usize,
}

/// A last reference that is being dropped.
#[derive(Clone, Copy)]
struct LastDrop {
    /// Depth of calls.
    depth: usize,
    /// True if another thread might have dropped this last reference, or one around it.
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
            epoch,
            released: _,
            is_contested,
            last,
            changes,
            histories: _,
            used_histories,
        } = self;
        *epoch = 0;
        changes.clear();
        *used_histories = 0;
        changed.clear();
        asked.clear();
        *used = 0;
        is_contested.clear();
        last.iter_mut().for_each(Vec::clear);
    }
}

pub(crate) static COUNTS: PartCell<ArcCounts> = PartCell::new();

/// Applies the setting, at the beginning of a check.
pub(crate) fn prepare(wanted: Option<Counting>) {
    ARE_OPERATIONS.store(wanted == Some(Counting::Counted), Relaxed);
    IS_LEFT_OUT.store(false, Relaxed);
}

/// Returns why the check may leave out behaviours, if the order of changes of a count matters.
pub(crate) fn left_out() -> Option<String> {
    let why =
        "the order in which threads change the count of an `Arc` matters: set `RADDLE_ARC=counted`";
    IS_LEFT_OUT.load(Relaxed).then(|| why.to_owned())
}

fn are_operations() -> bool {
    ARE_OPERATIONS.load(Relaxed)
}

/// In guest mode: true if an access in a function of this kind is an operation: of a count of the
/// user's own `Arc`, and not of the standard library's.
#[inline]
pub(crate) fn is_operation(kind: FunctionKind, address: usize) -> bool {
    kind.is_of_counts() && are_operations() && !blocks::is_inside(address)
}

/// Returns the ordering of an operation in code of this kind. The drop of the last reference happens
/// after all others; std uses a fence for that, which is no operation here.
pub(crate) fn ordering(order: c_int, region: FunctionKind) -> c_int {
    const BOTH: c_int = 4;
    match are_operations() && region.is_of_counts() {
        true => BOTH,
        false => order,
    }
}

/// True if `clock` has an event that does not happen before `to`.
fn is_news(clock: &[u32], to: &[u32]) -> bool {
    let mut all = clock.iter().enumerate();
    all.any(|(thread, &count)| to.get(thread).copied().unwrap_or(0) < count)
}

impl ArcCounts {
    /// Joins the running thread's clock to that of a count.
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

    /// True if another thread's change of a count, or with `asks` its read, is concurrent with the
    /// running thread.
    fn is_contested(&mut self, address: usize, asks: bool) -> bool {
        let table = match asks {
            true => &mut self.asked,
            false => &mut self.changed,
        };
        let number = table.get(address).copied();
        number.is_some_and(|number| is_news(&self.clocks[number], &self.own))
    }

    /// Returns the history of the count at an address.
    fn history(&mut self, address: usize) -> &mut History {
        let number = match self.changes.get(address) {
            Some(&mut number) => number,
            None => {
                let number = self.used_histories;
                self.used_histories += 1;
                match self.histories.get_mut(number) {
                    Some(history) => history.clear(),
                    None => self.histories.push(History::default()),
                }
                *self.changes.insert(address, number)
            }
        };
        &mut self.histories[number]
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

/// In guest mode: records that the running thread has read an atomic that is no event, and with
/// `changes` changed it, in code of this kind, which may be inlined in the function that the thread entered.
pub(super) fn use_count(address: usize, changes: bool, region: FunctionKind) {
    let asks = match region {
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
    // Synchronization by the counts themselves is left out: another order of changes would
    // synchronize others.
    if counts.epoch != mode::epoch() {
        running().hb(&mut counts.own);
        counts.epoch = mode::epoch();
    }
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

/// A change of an atomic.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) before: u64,
    pub(crate) by: i64,
}

impl Change {
    /// Returns the change by an update of a value.
    pub(crate) fn of(kind: UpdateKind, before: u64) -> Self {
        let by = match kind {
            UpdateKind::Add(more) => more as i64,
            UpdateKind::Sub(less) => -(less as i64),
            _ => 0,
        };
        Change { before, by }
    }
}

/// In guest mode: records a change of an atomic that is no event, in code of this kind. The check begins again if an
/// order of changes is possible in which a reference is taken after the last one was dropped.
pub(super) fn change_count(address: usize, change: Change, region: FunctionKind) {
    if !region.is_of_counts() || change.by.abs() != 1 || are_operations() {
        return;
    }
    // The count of strong references is the first word of an `Arc`'s block.
    let is_users = |(block, offset): (Block, usize)| offset == 0 && !block.is_inside;
    if !blocks::find(address).is_some_and(is_users) {
        return;
    }
    let thread = running().thread().index();
    let mut counts = COUNTS.get();
    let counts = &mut *counts;
    // Other counts and locks of the standard library may order the two.
    running().release_clock(&mut counts.released);
    let released = std::mem::take(&mut counts.released);
    let is_bare = region == FunctionKind::Counts;
    let history = counts.history(address);
    let may_be_late = history.add(thread, &released, change, is_bare);
    counts.released = released;
    if may_be_late {
        exec_again();
    }
}

/// In guest mode: records that the running thread begins to drop the value of a last reference, at
/// this depth of calls.
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

/// In guest mode: checks a function of this kind, entered at this depth of calls while a last
/// reference is dropped.
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
    // The program cannot begin again: findings are true, but some may be missed.
    IS_LEFT_OUT.store(true, Relaxed);
}
