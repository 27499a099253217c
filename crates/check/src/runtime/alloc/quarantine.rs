//! Memory that is freed inside an execution and not reused before its end.
//!
//! One OS thread runs a whole execution, so held blocks belong to that thread. Inside an execution
//! every block is filled when it is allocated and when it is freed, with bytes that the identity of
//! a controlled value never has. So the first use of a controlled value there detects that the
//! value does not exist.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use raddle_engine::check::memory_error::Moment;

use super::lanes::{BlockState, Lanes, is_in_lane};
use crate::runtime::current;
use crate::runtime::identity::{FREED, UNMADE};

/// Maximum bytes held; blocks freed beyond it are returned at once.
const MAX_HELD: usize = 256 << 20;

/// The system's allocator, except that memory freed inside an execution is held until the execution
/// is over.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: raddle::alloc::Quarantine = raddle::alloc::Quarantine;
/// # fn main() {}
/// ```
///
/// Install it once in a test binary. A dangling pointer, as in lock-free structures, then never
/// finds another value there. If it points to a cell, an atomic or a lock of raddle's, the check
/// fails and names the thread that freed it
/// ([`FailureKind::UseAfterFree`](raddle_report::FailureKind::UseAfterFree)). Other memory is full
/// of `0xDB`, the same in every run. Memory that was allocated and never written is full of `0xA5`.
///
/// It also records the thread that allocated the memory of a cell. So a cell that was published
/// without a release, and never written again, is a data race as well.
///
/// Inside an execution, the address of a block of up to a kilobyte depends only on earlier
/// allocations of its thread. So a program that keeps addresses in atomics behaves the same in
/// every run. Blocks that outlive the execution may disturb that. No memory is used twice within an
/// execution, unless the check sets `reuse_memory`. Then a thread's allocation gets the block of
/// that size that the thread has freed last, so that the ABA problem is found.
///
/// Memory freed inside an execution stays allocated until its end, up to 256 megabytes. Outside
/// checks, and without feature `check`, this is the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarantine;

/// The blocks that one OS thread holds.
#[derive(Default)]
struct Held {
    lanes: Lanes,
    /// Other blocks in use, by address.
    used: BTreeMap<usize, Record>,
    /// Other freed blocks, by address.
    freed: BTreeMap<usize, Record>,
    /// True when a block was freed in the running execution.
    has_freed: bool,
    /// Bytes of freed blocks.
    bytes: usize,
}

/// The last allocation or deallocation of a block inside an execution.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) layout: Layout,
    pub(super) stamp: u64,
    pub(super) moment: Moment,
}

/// The thread of the running execution that allocates or frees, and the current moment.
struct Asker {
    thread: u64,
    stamp: u64,
    moment: Moment,
    /// True when allocations of the thread reuse memory that it has freed.
    reuses: bool,
}

thread_local! {
    /// Tables of the OS thread, made at the first use, and never freed: other thread-locals may be
    /// freed after it.
    static HELD: Cell<*mut Held> = const { Cell::new(std::ptr::null_mut()) };
    /// True while an allocation is for these tables or for raddle itself.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Changes the tables of this OS thread; `None` during another change.
fn with_held<R>(use_it: impl FnOnce(&mut Held) -> R) -> Option<R> {
    if BUSY.replace(true) {
        return None;
    }
    if HELD.get().is_null() {
        HELD.set(Box::into_raw(Box::default()));
    }
    // SAFETY: a mutable reference must be the only one: only this OS thread has the pointer, and
    // `BUSY` prevents a nested call.
    let result = use_it(unsafe { &mut *HELD.get() });
    BUSY.set(false);
    Some(result)
}

/// Returns the allocating thread; `None` outside an execution, or if raddle itself allocates.
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
        reuses: context.reuses_memory(),
    })
}

impl Held {
    fn take(&mut self, layout: Layout, asker: &Asker) -> *mut u8 {
        let record = asker.record(layout);
        let again = match asker.reuses {
            true => self.lanes.take_again(asker.thread, layout, record),
            false => None,
        };
        if let Some((address, freed)) = again {
            self.bytes -= freed.layout.size();
            return address as *mut u8;
        }
        if self.bytes < MAX_HELD
            && let Some(address) = self.lanes.take(asker.thread, layout, record)
        {
            return address as *mut u8;
        }
        // SAFETY: `alloc` needs a layout of nonzero size, which the caller passes.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            self.used.insert(block as usize, record);
        }
        block
    }

    /// True when the block of a lane is in use in the running execution.
    fn uses(&self, block: *mut u8) -> bool {
        let place = self.lanes.find(block as usize);
        place.is_some_and(|place| self.lanes.get(place).1 == BlockState::Used)
    }

    /// Forgets a block of a lane that is freed after the execution.
    fn give_up(&mut self, block: *mut u8) {
        if let Some(place) = self.lanes.find(block as usize) {
            self.lanes.give_up(place);
        }
    }

    /// Holds a block that is being freed; false if it is not held.
    fn hold(&mut self, block: *mut u8, layout: Layout, asker: &Asker) -> bool {
        let record = asker.record(layout);
        match self.lanes.find(block as usize) {
            Some(place) => {
                let reuses = asker.reuses.then_some(asker.thread);
                self.lanes.free(place, record, reuses);
            }
            None => {
                self.used.remove(&(block as usize));
                if self.bytes + layout.size() > MAX_HELD {
                    return false;
                }
                self.freed.insert(block as usize, record);
            }
        }
        self.bytes += layout.size();
        self.has_freed = true;
        true
    }

    /// Returns the moment at which the block with this address came to be in this state, in the execution with this
    /// stamp.
    fn find(&self, address: usize, stamp: u64, state: BlockState) -> Option<Moment> {
        let (start, record) = match self.lanes.find(address) {
            Some(place) => {
                let (start, now, record) = self.lanes.get(place);
                (now == state).then_some((start, record))?
            }
            None => {
                let blocks = match state {
                    BlockState::Used => &self.used,
                    _ => &self.freed,
                };
                let (&start, &record) = blocks.range(..=address).next_back()?;
                (start, record)
            }
        };
        let inside = address < start + record.layout.size() && record.stamp == stamp;
        inside.then_some(record.moment)
    }

    fn release(&mut self) {
        (self.bytes, self.has_freed) = (0, false);
        self.used.clear();
        while let Some((address, block)) = self.freed.pop_first() {
            // SAFETY: `dealloc` needs a block from `System` with its own layout, once: only
            // these tables have the block, and they give it up here.
            unsafe { System.dealloc(address as *mut u8, block.layout) };
        }
        self.lanes.rewind();
    }
}

impl Asker {
    fn record(&self, layout: Layout) -> Record {
        Record {
            layout,
            stamp: self.stamp,
            moment: self.moment,
        }
    }
}

// SAFETY: blocks are from lanes, where each has one owner, or from the system's allocator. The
// latter go back there once, with their own layout. Bytes are written only inside a block, before
// it is handed out or after it was freed.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(asker) = asker() else {
            // SAFETY: the caller upholds the contract of `alloc`, which is that of `System`.
            return unsafe { System.alloc(layout) };
        };
        let block = with_held(|held| held.take(layout, &asker));
        let block = block.unwrap_or(std::ptr::null_mut());
        if !block.is_null() {
            // SAFETY: the block has this size, and the caller does not have it yet.
            unsafe { block.write_bytes(UNMADE, layout.size()) };
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if asker().is_none() {
            // SAFETY: the caller upholds the contract of `alloc_zeroed`, which is that of `System`.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the block has this size, and the caller does not have it yet.
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
            let is_survivor = || with_held(|held| !held.uses(block));
            if is_in_lane(block) && is_survivor() == Some(true) {
                return;
            }
            if let Some(context) = current() {
                let start = block as usize;
                let _aside = aside();
                context.note_free(&(start..start + layout.size()), asker.moment);
            }
            if with_held(|held| held.hold(block, layout, &asker)) == Some(true) {
                // SAFETY: writing needs memory that is not in use: the caller has freed the block,
                // which has this size.
                unsafe { block.write_bytes(FREED, layout.size()) };
                return;
            }
        }
        if is_in_lane(block) {
            // A block freed after its execution is at least removed from the kept ones.
            if !HELD.get().is_null() {
                with_held(|held| held.give_up(block));
            }
            return;
        }
        // SAFETY: the caller upholds the contract of `dealloc`, and the block is from `System`.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !is_in_lane(block) && asker().is_none() {
            // SAFETY: the caller upholds the contract of `realloc`, and the block is from `System`.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        // SAFETY: the caller passes a size that fits the alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: the new block does not overlap the old one, both have the copied size, and the
        // old one is freed after the copy.
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

/// Marks allocations as raddle's own while it exists.
pub struct Aside(bool);

/// Marks allocations from now on as raddle's own.
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

/// Frees the held blocks at the end of an execution.
pub(crate) fn release() {
    if !HELD.get().is_null() {
        with_held(Held::release);
    }
}

/// True when the calling OS thread holds a block that was freed in the running execution.
pub(crate) fn has_freed() -> bool {
    !HELD.get().is_null() && with_held(|held| held.has_freed) == Some(true)
}

/// Returns the moment and the thread that freed the block at this address in the execution with
/// this stamp, if known.
pub(crate) fn freed_by(address: usize, stamp: u64) -> Option<Moment> {
    find(address, stamp, BlockState::Freed)
}

/// Returns the moment and the thread that allocated the block at this address in the execution with
/// this stamp, if known.
pub(crate) fn made_by(address: usize, stamp: u64) -> Option<Moment> {
    find(address, stamp, BlockState::Used)
}

fn find(address: usize, stamp: u64, state: BlockState) -> Option<Moment> {
    if HELD.get().is_null() {
        return None;
    }
    with_held(|held| held.find(address, stamp, state)).flatten()
}
