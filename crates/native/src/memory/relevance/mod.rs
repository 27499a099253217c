//! Accesses whose values decide nothing, which a search with `--reduce paths` leaves out.
//!
//! The code is [analysed](sites) once; where values go through memory is [recorded](flow) in the executions. The first
//! execution of a check leaves nothing out. Whenever executions have shown more, the search begins anew.
//!
//! Accesses that may order threads are never left out: those that are not relaxed, compare-exchanges, and all in a
//! program with fences. So happens-before, and with it the data races of an execution, is that of the full search.

mod flow;
mod sites;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering, Ordering::Relaxed};

use raddle_engine::{Operation, ThreadId, UpdateKind, World};

use self::flow::{Access, Flow, Part, Site};
use self::sites::Sites;
use crate::abi::alternate_stack;
use crate::execution::if_running;
use crate::execution::part::{Part as ExecutionPart, PartCell};
use crate::host::addresses::Table;
use crate::host::process_state::ProcessState;

const PAGE: usize = 4096;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// The state of a check.
struct Check {
    sites: Sites,
    flow: Flow,
    /// True before the first search: nothing is left out.
    is_first: bool,
    /// True if single reads may be left out.
    is_sequential: bool,
    searches: usize,
}

static CHECK: ProcessState<Option<Box<Check>>> = ProcessState::new(None);

/// The last writes of each byte, as far as they may store the value of a read that is not relevant by itself.
#[derive(Default)]
pub(crate) struct LastWrites {
    pages: Table<Box<[u32; PAGE]>>,
    /// Writes by number, from 1.
    writes: Vec<Site>,
}

impl ExecutionPart for LastWrites {
    fn renew(&mut self) {
        self.pages.clear();
    }
}

pub(crate) static LAST_WRITES: PartCell<LastWrites> = PartCell::new();

impl LastWrites {
    fn number(&mut self, write: Site) -> u32 {
        let known = self.writes.iter().position(|&it| it == write);
        let index = known.unwrap_or_else(|| {
            self.writes.push(write);
            self.writes.len() - 1
        });
        index as u32 + 1
    }

    /// Records a write of these bytes; `None` if it stores no value that matters here.
    fn write(&mut self, bytes: &Range<usize>, write: Option<Site>) {
        let number = write.map_or(0, |write| self.number(write));
        for address in bytes.clone() {
            let (page, offset) = (address & !(PAGE - 1), address % PAGE);
            match self.pages.get(page) {
                Some(numbers) => numbers[offset] = number,
                None if number > 0 => {
                    let numbers = self.pages.insert(page, Box::new([0; PAGE]));
                    numbers[offset] = number;
                }
                None => {}
            }
        }
    }

    fn found(&mut self, bytes: &Range<usize>) -> Vec<Site> {
        let mut found = Vec::new();
        for address in bytes.clone() {
            let (page, offset) = (address & !(PAGE - 1), address % PAGE);
            let number = self.pages.get(page).map_or(0, |numbers| numbers[offset]);
            if number > 0 && !found.contains(&self.writes[number as usize - 1]) {
                found.push(self.writes[number as usize - 1]);
            }
        }
        found
    }
}

/// In host mode: begins a check, which leaves accesses out or does not.
pub(crate) fn begin_check(is_wanted: bool, is_sequential: bool) {
    IS_ON.store(is_wanted, Relaxed);
    *CHECK.get() = is_wanted.then(|| {
        let mut sites = Sites::find();
        let flow = Flow::new(std::mem::take(&mut sites.stores));
        Box::new(Check {
            sites,
            flow,
            is_first: true,
            is_sequential,
            searches: 0,
        })
    });
}

/// True if the check leaves accesses out.
#[inline]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Returns the number of searches so far that began anew.
pub(crate) fn searches() -> usize {
    with(|check| check.searches).unwrap_or(0)
}

/// Returns nothing in a signal handler that has interrupted a use.
fn with<R>(use_it: impl FnOnce(&mut Check) -> R) -> Option<R> {
    CHECK.try_get()?.as_deref_mut().map(use_it)
}

/// True if executions have shown that accesses decide something that the search leaves out. They are explored from now
/// on.
pub(crate) fn begin_anew() -> bool {
    let begins = with(|check| {
        let begins = check.is_first || check.flow.has_grown();
        if begins {
            check.is_first = false;
            check.flow.begin();
            check.searches += 1;
        }
        begins
    });
    begins.unwrap_or(false)
}

/// In host mode: decides what becomes of the operation that a thread is about to request. `site` is the return address
/// of its callback.
pub(crate) fn decide(
    world: &mut World,
    thread: ThreadId,
    operation: &Operation,
    bytes: Range<usize>,
    site: Site,
) {
    let (location, reads, writes, ordering) = match *operation {
        Operation::Load { location, ordering } => (location, true, false, ordering),
        Operation::Store {
            location, ordering, ..
        } => (location, false, true, ordering),
        Operation::Update {
            location,
            ordering,
            update,
            ..
        } => {
            let is_compared = matches!(update.kind, UpdateKind::CompareExchange { .. });
            let ordering = if is_compared {
                Ordering::SeqCst
            } else {
                ordering
            };
            (location, true, true, ordering)
        }
        _ => return,
    };
    let access = Access {
        bytes,
        site,
        reads,
        writes,
        is_relaxed: ordering == Ordering::Relaxed,
    };
    let part = with(|check| {
        if check.sites.are_loaded_unseen(&access.bytes) {
            check.flow.keep_bytes(&access.bytes);
        }
        match check.flow.access(&access) {
            _ if check.is_first => Part::Kept,
            Part::ReadIsLeftOut if !check.is_sequential => Part::Kept,
            part => part,
        }
    });
    match part {
        Some(Part::VariableIsLeftOut) => world.ignore_location(location),
        Some(Part::ReadIsLeftOut) => world.ignore_next_read(thread),
        Some(Part::Kept) | None => {}
    }
}

/// The program performs a fence that may make relaxed accesses synchronize.
pub(crate) fn fence() {
    with(|check| check.flow.fence());
}

/// Code whose effects are not followed accesses a variable.
#[cold]
pub(crate) fn keep(bytes: &Range<usize>) {
    with(|check| check.flow.keep_bytes(bytes));
}

/// The running thread accesses memory plainly, whether or not this is an operation too.
#[cold]
pub(crate) fn access_plainly(bytes: &Range<usize>, writes: bool, site: Site) {
    let Some(mut last) = LAST_WRITES.try_get() else {
        return;
    };
    with(|check| {
        if !writes {
            let found = last.found(bytes);
            return check.flow.read(bytes, site, &found);
        }
        let stores = check.flow.may_store(site);
        last.write(bytes, stores.then_some(site));
        if stores {
            let is_seen = check.sites.hides_reads && !is_on_own_stack(bytes.start)
                || check.sites.are_loaded_unseen(bytes);
            check.flow.write(bytes, site, is_seen);
        }
    });
}

/// True for an address on the stack of the running thread. The analysis follows which frames are given to code that it
/// does not know.
fn is_on_own_stack(address: usize) -> bool {
    // A plain store that is an operation has not been made yet, so its value must not be passed on.
    if_running().is_some_and(|native| native.is_on_stack(alternate_stack::program_stack(), address))
}
