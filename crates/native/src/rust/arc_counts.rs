//! Whether it matters in which order threads count the handles of an `Arc`.
//!
//! Nearly always nobody can tell, so counts are [quiet](super::quiet). But a program may ask how many handles
//! there are, or its destructor may do something that others notice, so that it matters who drops the last
//! one. When two threads do that in no order, the check begins anew, with counts that are operations.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::clocks::join;
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode::host;
use crate::host::solo::Solo;
use crate::memory::blocks;
use crate::names::rust_paths::Kind;
use crate::process::program;

/// How the user says that counts are operations.
const VARIABLE: &str = "RADDLE_ARC";
const COUNTED: &str = "counted";

static ARE_OPERATIONS: AtomicBool = AtomicBool::new(false);

struct Counts {
    /// What threads had done that have changed a count, and that have asked for it: numbers of `clocks`.
    changed: Table<usize>,
    asked: Table<usize>,
    clocks: Vec<Vec<u32>>,
    used: usize,
    /// The clock of the running thread.
    own: Vec<u32>,
    /// Whether the last change of each thread was in no order with others.
    is_contested: Vec<bool>,
    /// By thread: the last handles that it is dropping, each inside of the one before it.
    last: Vec<Vec<Last>>,
}

/// A last handle that is dropped.
#[derive(Clone, Copy)]
struct Last {
    /// In so many functions.
    depth: usize,
    /// Whether it might have been another thread's, or one around it.
    is_contested: bool,
}

static COUNTS: Solo<Counts> = Solo::new(Counts {
    changed: Table::new(),
    asked: Table::new(),
    clocks: Vec::new(),
    used: 0,
    own: Vec::new(),
    is_contested: Vec::new(),
    last: Vec::new(),
});

/// When a check begins.
pub(crate) fn prepare() {
    let wanted = std::env::var_os(VARIABLE).is_some_and(|it| it == COUNTED);
    ARE_OPERATIONS.store(wanted, Relaxed);
}

fn are_operations() -> bool {
    ARE_OPERATIONS.load(Relaxed)
}

/// In guest mode: whether what is done at an address in a function of some kind is an operation like others: it
/// is about handles of the user's, not of the standard library's own.
#[inline]
pub(crate) fn is_operation(kind: Kind, address: usize) -> bool {
    kind.is_of_counts() && are_operations() && !blocks::is_inside(address)
}

/// The ordering of such an operation: whoever drops the last handle comes after all others, by a fence that
/// is no operation.
pub(crate) fn ordering(order: c_int) -> c_int {
    const BOTH: c_int = 4;
    match are_operations() && shadow_stack::region().is_of_counts() {
        true => BOTH,
        false => order,
    }
}

/// At the beginning of an execution.
pub(crate) fn begin(stamp: u64) {
    let mut counts = COUNTS.get();
    counts.changed.begin(stamp);
    counts.asked.begin(stamp);
    counts.used = 0;
    counts.is_contested.clear();
    counts.last.iter_mut().for_each(Vec::clear);
}

/// Whether a clock has something that another has not.
fn is_news(clock: &[u32], to: &[u32]) -> bool {
    let mut all = clock.iter().enumerate();
    all.any(|(thread, &count)| to.get(thread).copied().unwrap_or(0) < count)
}

impl Counts {
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
        join(&mut self.clocks[number], &self.own);
    }

    /// Whether others have changed a count, or asked for it, in no order with the running thread.
    fn is_contested(&mut self, address: usize, asks: bool) -> bool {
        let table = match asks {
            true => &mut self.asked,
            false => &mut self.changed,
        };
        let number = table.get(address).copied();
        number.is_some_and(|number| is_news(&self.clocks[number], &self.own))
    }

    /// The last handles that a thread is dropping, which is in so many functions.
    fn last(&mut self, thread: usize, depth: usize) -> &mut Vec<Last> {
        if self.last.len() <= thread {
            self.last.resize(thread + 1, Vec::new());
        }
        let list = &mut self.last[thread];
        let is_over = |it: &mut Last| it.depth >= depth;
        while list.pop_if(is_over).is_some() {}
        list
    }
}

/// In guest mode: the running thread has read a quiet atomic, and perhaps changed it.
pub(super) fn use_count(address: usize, changes: bool) {
    let asks = match shadow_stack::region() {
        Kind::AsksCount => true,
        Kind::Counts | Kind::DropsLast => false,
        _ => return,
    };
    if are_operations() {
        return;
    }
    let thread = running().thread().index();
    let mut counts = COUNTS.get();
    let counts = &mut *counts;
    // What counts themselves put in order would be in another if they were changed in another.
    running().told(&mut counts.own);
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
        begin_anew();
    }
}

/// In guest mode: the running thread begins to drop what it has the last handle of, in so many functions.
#[cold]
pub(crate) fn drop_last(depth: usize) {
    let thread = running().thread().index();
    let mut counts = COUNTS.get();
    let here = counts.is_contested.get(thread).copied() == Some(true);
    let around = counts.last(thread, depth);
    let is_contested = here || around.last().is_some_and(|it| it.is_contested);
    around.push(Last {
        depth,
        is_contested,
    });
}

/// In guest mode: the last handle is dropped, and a function of this kind is entered for that, in so many
/// others.
#[cold]
pub(crate) fn destroy(kind: Kind, depth: usize) {
    let is_seen = kind == Kind::User || kind.is_special();
    if is_seen && !are_operations() {
        let thread = running().thread().index();
        let last = COUNTS.get().last(thread, depth).last().copied();
        if last.is_some_and(|it| it.is_contested) {
            begin_anew();
        }
    }
}

#[cold]
fn begin_anew() {
    if program::is_checked() {
        host(|| program::begin_anew(VARIABLE, COUNTED));
    }
    // It cannot begin anew: what is found is true, but something may be missed.
}
