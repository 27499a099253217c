//! Uses of the heap by operations: atomics, calls on locks, waits for futexes, and plain accesses that are
//! explored.
//!
//! A use must be of a live block, and must happen before the block is freed. Freeing is no
//! operation, so it adds no class. In each class, happens-before orders a use and the free or does
//! not. If it does not, the class has executions with either order, and one of them uses a freed
//! block. One execution of the class is enough to find that: the free finds earlier uses, and a use
//! finds an earlier free.
//!
//! Where plain accesses are explored, the order of conflicting events takes the place of
//! happens-before. A program that passes a block to another thread by plain accesses is wrong only
//! if some execution uses a freed block.

use std::ops::Range;

use raddle_engine::{EventId, ThreadId};

use super::failure;
use crate::engine::Manner;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::host::addresses::Table;
use crate::host::mode;
use crate::memory::blocks::{self, Bad};
use crate::memory::{heap_range, objects, plain_choices, stacks};
use crate::names::regions;

/// The verb for atomic operations.
pub(crate) const ATOMICALLY: &str = "atomically accesses";
/// Begins the verb for calls on an object.
const USES: &str = "uses ";
/// The verb for allocations.
const ALLOCATES: &str = "allocates";
/// Size of the page at address 0, which is never mapped.
const PAGE: usize = 4096;

/// Last use of a block or an object by a thread.
#[derive(Clone, Copy)]
pub(crate) struct LastUse {
    pub(crate) thread: ThreadId,
    /// Index of its event; of the thread's next one for a use between events.
    index: u32,
    pub(crate) site: usize,
    what: &'static str,
}

impl LastUse {
    /// Returns a use by the running thread between two events.
    pub(crate) fn between_events(made: Use) -> Self {
        let native = running();
        LastUse {
            thread: native.thread(),
            index: native.events(),
            site: made.site,
            what: made.what,
        }
    }

    /// True if the use happens before the running thread's next event. Where plain accesses are
    /// explored, the order of conflicting events counts as well.
    pub(crate) fn is_before(&self) -> bool {
        let native = running();
        native.happens_before_or_granted(self.thread, self.index)
            || plain_choices::are_explored()
                && native.precedes(EventId {
                    thread: self.thread,
                    index: self.index,
                })
    }
}

/// Last use by each thread, by key.
#[derive(Default)]
pub(crate) struct LastUses(Table<Vec<LastUse>>);

impl LastUses {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes the uses of these addresses.
    pub(crate) fn forget(&mut self, range: Range<usize>) {
        self.0.forget(range);
    }

    /// Records that the running thread's last event used the block or object with this key.
    pub(crate) fn record(&mut self, key: usize, made: Use) {
        let mut last = LastUse::between_events(made);
        last.index = last.index.saturating_sub(1);
        match self.0.get(key) {
            None => {
                self.0.insert(key, vec![last]);
            }
            Some(uses) => match uses.iter_mut().find(|one| one.thread == last.thread) {
                Some(one) => *one = last,
                None => uses.push(last),
            },
        }
    }

    /// True if the running thread has used the block or object with this key.
    pub(crate) fn is_used(&mut self, key: usize) -> bool {
        let thread = running().thread();
        let uses = self.0.get(key);
        uses.is_some_and(|uses| uses.iter().any(|one| one.thread == thread))
    }

    /// Returns a use that does not happen before the running thread's next event.
    pub(crate) fn unordered(&mut self, key: usize) -> Option<LastUse> {
        let uses = self.0.get(key)?;
        uses.iter().find(|one| !one.is_before()).copied()
    }
}

/// Uses of the execution, by the addresses of blocks.
#[derive(Default)]
pub(crate) struct BlockUses(LastUses);

impl Part for BlockUses {
    fn renew(&mut self) {
        let BlockUses(uses) = self;
        uses.clear();
    }
}

pub(crate) static BLOCK_USES: PartCell<BlockUses> = PartCell::new();

/// A use of memory by an operation.
#[derive(Clone, Copy)]
pub(crate) struct Use {
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// The verb for messages.
    pub(crate) what: &'static str,
    pub(crate) site: usize,
}

impl Use {
    /// In guest mode: begins the operation. Fails the thread if the memory is not live.
    pub(crate) fn begin_as_guest(self) {
        if let Some(bad) = self.check() {
            mode::host(|| fail(bad, self));
        }
    }

    /// In host mode: begins the operation. Fails the thread if the memory is not mapped or not
    /// live.
    pub(crate) fn begin(self) {
        if !self.is_there() {
            failure::fail_in(
                Manner::Crash,
                failure::no_memory_at(self.address),
                self.site,
            );
        }
        self.begin_mapped();
    }

    /// As [`begin`](Self::begin), of memory that is mapped.
    pub(crate) fn begin_mapped(self) {
        if let Some(bad) = self.check() {
            fail(bad, self);
        }
    }

    /// In host mode: ends the operation. Other threads may have run since it began; fails the
    /// thread if the block was freed by then.
    pub(crate) fn end(self) {
        self.begin_mapped();
        self.record();
    }

    /// In guest mode: ends the operation.
    pub(crate) fn end_as_guest(self) {
        self.begin_as_guest();
        self.record();
    }

    /// Returns the error in the use, if there is one.
    fn check(self) -> Option<Bad> {
        match stacks::may_contain(self.address) {
            true => stacks::check(self.address, running().end_of_stack()),
            false => None,
        }
        .or_else(|| blocks::check(self.address, self.size))
    }

    /// Records that the operation was performed.
    pub(crate) fn record(self) {
        // The key of a stack is its end.
        let start = match heap_range::contains(self.address) {
            true => blocks::find(self.address).map(|(_, offset)| self.address - offset),
            false if stacks::may_contain(self.address) => {
                stacks::owner(self.address).map(|(_, end)| end)
            }
            false => None,
        };
        if let Some(start) = start {
            BLOCK_USES.get().0.record(start, self);
        }
    }

    /// True if the address is mapped.
    pub(crate) fn is_there(self) -> bool {
        let is_known = || heap_range::contains(self.address) || objects::is_known(self.address);
        self.address >= PAGE && (is_known() || self.is_mapped())
    }

    fn is_mapped(self) -> bool {
        let mut resident = 0u8;
        let page = (self.address & !(PAGE - 1)) as *mut std::ffi::c_void;
        // SAFETY: the page need not be mapped, and there is room for the answer about one page.
        unsafe { libc::mincore(page, 1, &raw mut resident) == 0 }
    }
}

/// In host mode: ends the running thread after an invalid use of memory.
#[cold]
pub(crate) fn fail(bad: Bad, wrong: Use) -> ! {
    let native = running();
    let of_thread = |(owner, _): (ThreadId, usize)| {
        format!("memory of {}, which has ended", native.title(owner))
    };
    let memory = native.memory(wrong.address);
    let memory = memory.or_else(|| stacks::owner(wrong.address).map(of_thread));
    let memory = memory.unwrap_or_else(|| "memory that was not allocated".to_owned());
    let memory = match wrong.what {
        blocks::FREES | blocks::RESIZES => {
            memory.trim_start_matches("the beginning of ").to_owned()
        }
        what if what.starts_with(USES) && bad == Bad::Ended => format!("in {memory}"),
        what if what.starts_with(USES) => memory.replace("the beginning of", "at the beginning of"),
        _ => memory,
    };
    let (manner, help) = match bad {
        Bad::Freed if matches!(wrong.what, blocks::FREES | blocks::RESIZES) => (
            Manner::FreedTwice,
            "a block is freed once, by one owner; a pointer to it is cleared then, or not kept",
        ),
        Bad::Freed => (
            Manner::Memory,
            "memory may be freed only after its last use",
        ),
        Bad::Outside => (
            Manner::Outside,
            "the block is smaller than that, or there is none",
        ),
        Bad::Ended => (
            Manner::Memory,
            "the variables of a thread are gone when it ends",
        ),
    };
    let message = format!("it {} {memory}\nhelp: {help}", wrong.what);
    failure::fail_in(manner, message, wrong.site)
}

/// Removes the uses of the stack that ends at `end`, which is another thread's now.
pub(crate) fn forget_stack(end: usize) {
    BLOCK_USES.get().0.forget(end..end + 1);
}

/// In host mode: returns the thread and site of a use of this stack that does not happen before the
/// running thread's next event.
pub(crate) fn unordered_on(stack: Range<usize>) -> Option<(ThreadId, usize)> {
    let one = BLOCK_USES.get().0.unordered(stack.end)?;
    Some((one.thread, one.site))
}

/// In guest mode: checks that the running thread may free the block at an address. Fails the thread
/// if the allocation of the block, or a use of it by another thread, does not happen before that.
pub(crate) fn check_free(address: usize, site: usize) {
    let unordered = BLOCK_USES.get().0.unordered(address);
    let unordered = unordered.or_else(|| unordered_allocation(address));
    // A second free is another failure.
    if let Some(one) = unordered.filter(|_| !blocks::was_freed(address)) {
        mode::host(|| fail_free(address, one, site));
    }
}

/// Returns the allocation of the block at an address, if it does not happen before the running
/// thread's next event. Rust's own reference counts are not always operations, so programs in Rust
/// are left out.
fn unordered_allocation(address: usize) -> Option<LastUse> {
    if regions::is_rust() {
        return None;
    }
    let (block, _) = blocks::find(address)?;
    let (made, Some(thread)) = block.made else {
        return None;
    };
    if thread == running().thread() {
        return None;
    }
    let allocation = LastUse {
        thread,
        index: block.made_before,
        site: made,
        what: ALLOCATES,
    };
    (!allocation.is_before()).then_some(allocation)
}

/// Returns the file and line of a site, after a preposition.
pub(crate) fn line(site: usize) -> String {
    let place = running().place(site);
    place.map_or(String::new(), |place| {
        // Without the column.
        let line = place.rsplit_once(':').map_or(&place[..], |(line, _)| line);
        format!(" at {line}")
    })
}

/// In host mode: ends the running thread, which frees a block that another thread uses.
#[cold]
fn fail_free(address: usize, one: LastUse, site: usize) -> ! {
    let native = running();
    let memory = native.memory(address).unwrap_or_default();
    let memory = memory.trim_start_matches("the beginning of ");
    let place = line(one.site);
    let user = native.title(one.thread);
    let what = match one.what.strip_prefix(USES) {
        Some(object) => format!("{USES}{object} in it"),
        None => format!("{} it", one.what),
    };
    let help = match one.what {
        ALLOCATES => "a pointer to new memory is published with release, and read with acquire",
        _ => "memory may be freed only after its last use",
    };
    let message = format!(
        "it frees {memory}\n\
         {user} {what}{place}, and nothing orders the two: no lock, join or release/acquire pair is \
         between them\n\
         help: {help}"
    );
    failure::fail_in(Manner::Memory, message, site)
}
