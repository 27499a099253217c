//! Memory that is freed inside an execution and not used again before its end.
//!
//! One OS thread runs a whole execution, so what it holds is that thread's own business. Inside an
//! execution every block is filled when it is asked for and when it is freed, with bytes that a
//! controlled value never has where its identity is; so who comes to such a value at its first use
//! knows that it is not there.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use raddle_engine::check::memory_error::Moment;

use super::lanes::{LaneId, Lanes, is_in_lane};
use crate::runtime::current;
use crate::runtime::identity::{FREED, UNMADE};

/// So much is held; what is freed after that is given back at once.
const MAX_HELD: usize = 256 << 20;

/// The system's allocator, except that what is freed inside an execution of a check is held until
/// that is over.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: raddle::alloc::Quarantine = raddle::alloc::Quarantine;
/// # fn main() {}
/// ```
///
/// Put it into a test binary, once. A pointer that is used after what it points to was freed, as it
/// happens with lock-free structures, then finds no other value there. If that is a cell, an atomic or
/// a lock of raddle's, the check fails and says who freed it
/// ([`FailureKind::UseAfterFree`](raddle_report::FailureKind::UseAfterFree)); anything else is found full of
/// `0xDB`, the same in every run. What was asked for and never written is full of `0xA5`.
///
/// It also knows who asked for the memory of a cell, so that a cell which was published without a
/// release, and never written again, is a data race as well.
///
/// Inside an execution, blocks of up to a kilobyte have addresses that depend on nothing but what their
/// thread asked for before, so that a program which keeps addresses in atomics does the same in every
/// run. What is kept beyond the end of the execution may spoil that.
///
/// Everything that is freed inside an execution stays in memory until its end, up to 256 megabytes.
/// Outside checks, and without feature `check`, this is the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarantine;

/// What one OS thread holds.
#[derive(Default)]
struct Held {
    lanes: Lanes,
    /// In use, by address.
    used: BTreeMap<usize, Block>,
    /// Freed, by address.
    freed: BTreeMap<usize, Block>,
    bytes: usize,
}

/// A block that was asked for or freed inside an execution.
struct Block {
    layout: Layout,
    lane: Option<(LaneId, usize)>,
    stamp: u64,
    moment: Moment,
}

/// Who asks, and when: a thread of the running execution.
struct Asker {
    thread: u64,
    stamp: u64,
    moment: Moment,
}

thread_local! {
    /// Made at the first use, and never freed: others may be freed after it.
    static HELD: Cell<*mut Held> = const { Cell::new(std::ptr::null_mut()) };
    /// Whether what is asked for now is for the tables themselves, or else raddle's own.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Changes the tables of this OS thread; nothing if that is going on already.
fn with_held<R>(use_it: impl FnOnce(&mut Held) -> R) -> Option<R> {
    if BUSY.replace(true) {
        return None;
    }
    if HELD.get().is_null() {
        HELD.set(Box::into_raw(Box::default()));
    }
    // SAFETY: only this OS thread has the pointer, and `BUSY` keeps it from coming here twice.
    let result = use_it(unsafe { &mut *HELD.get() });
    BUSY.set(false);
    Some(result)
}

/// Who asks; nothing outside an execution, or if raddle asks for itself.
fn asker() -> Option<Asker> {
    if BUSY.get() {
        return None;
    }
    let context = current()?;
    let (thread, moment) = context.moment_and_thread()?;
    let stamp = context.stamp();
    Some(Asker {
        thread,
        stamp,
        moment,
    })
}

impl Held {
    fn take(&mut self, layout: Layout, asker: &Asker) -> *mut u8 {
        let in_lane = match self.bytes < MAX_HELD {
            true => self.lanes.take(asker.thread, layout),
            false => None,
        };
        let (block, lane) = match in_lane {
            Some((address, id, position)) => (address as *mut u8, Some((id, position))),
            // SAFETY: vouched for by whoever asks.
            None => (unsafe { System.alloc(layout) }, None),
        };
        if !block.is_null() {
            let known = Block {
                layout,
                lane,
                stamp: asker.stamp,
                moment: asker.moment,
            };
            self.used.insert(block as usize, known);
        }
        block
    }

    /// Whether the block, which is freed now, is held.
    fn hold(&mut self, block: *mut u8, layout: Layout, asker: &Asker) -> bool {
        let lane = self.used.remove(&(block as usize)).and_then(|it| it.lane);
        let holds = lane.is_some() || self.bytes + layout.size() <= MAX_HELD;
        if holds {
            self.bytes += layout.size();
            let known = Block {
                layout,
                lane,
                stamp: asker.stamp,
                moment: asker.moment,
            };
            self.freed.insert(block as usize, known);
        }
        holds
    }

    fn release(&mut self) {
        self.bytes = 0;
        while let Some((_, block)) = self.used.pop_first() {
            if let Some((id, position)) = block.lane {
                self.lanes.keep(id, position);
            }
        }
        while let Some((address, block)) = self.freed.pop_first() {
            if block.lane.is_none() {
                // SAFETY: it came from there, was given back with this layout, and held since then.
                unsafe { System.dealloc(address as *mut u8, block.layout) };
            }
        }
        self.lanes.rewind();
    }
}

// SAFETY: blocks are from lanes, where nobody else has them, or from the system's allocator; the latter
// go back there, once, with the layout that they came with. What is written is inside them, before they
// are handed out or after they were given back.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(asker) = asker() else {
            // SAFETY: as for this function.
            return unsafe { System.alloc(layout) };
        };
        let block = with_held(|held| held.take(layout, &asker));
        let block = block.unwrap_or(std::ptr::null_mut());
        if !block.is_null() {
            // SAFETY: the block is so large, and nobody has it yet.
            unsafe { block.write_bytes(UNMADE, layout.size()) };
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if asker().is_none() {
            // SAFETY: as for this function.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the block is so large, and nobody has it yet.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(asker) = asker() {
            let is_survivor = || with_held(|held| !held.used.contains_key(&(block as usize)));
            if is_in_lane(block) && is_survivor() == Some(true) {
                return;
            }
            if with_held(|held| held.hold(block, layout, &asker)) == Some(true) {
                // SAFETY: the block was given back, and is so large.
                unsafe { block.write_bytes(FREED, layout.size()) };
                return;
            }
        }
        if is_in_lane(block) {
            // After the execution that asked for it: at most it is no survivor.
            if !HELD.get().is_null() {
                with_held(|held| held.used.remove(&(block as usize)));
            }
            return;
        }
        // SAFETY: as for this function.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !is_in_lane(block) && asker().is_none() {
            // SAFETY: as for this function.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        // SAFETY: the caller vouches for the size.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the new block is another one, both are as large as what is copied, and the old one
        // is given back when that is done.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// While this exists, what is asked for is raddle's own, not the program's.
pub struct Aside(bool);

/// What is asked for from now on is raddle's own.
#[inline]
pub fn aside() -> Aside {
    Aside(BUSY.replace(true))
}

impl Drop for Aside {
    #[inline]
    fn drop(&mut self) {
        BUSY.set(self.0);
    }
}

/// Gives back what is held, when the execution is over.
pub(crate) fn release() {
    if !HELD.get().is_null() {
        with_held(Held::release);
    }
}

/// Who freed the block with this address in the execution with this stamp, if that is known.
pub(crate) fn freed_by(address: usize, stamp: u64) -> Option<Moment> {
    find(address, stamp, |held| &held.freed)
}

/// Who asked for the block with this address in the execution with this stamp, if that is known.
pub(crate) fn made_by(address: usize, stamp: u64) -> Option<Moment> {
    find(address, stamp, |held| &held.used)
}

fn find(
    address: usize,
    stamp: u64,
    blocks: impl FnOnce(&Held) -> &BTreeMap<usize, Block>,
) -> Option<Moment> {
    if HELD.get().is_null() {
        return None;
    }
    let find = |held: &mut Held| {
        let (start, block) = blocks(held).range(..=address).next_back()?;
        let inside = address < start + block.layout.size() && block.stamp == stamp;
        inside.then_some(block.moment)
    };
    with_held(find).flatten()
}
