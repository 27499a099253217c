//! Memory that is freed inside an execution and not given back before its end.
//!
//! One OS thread runs a whole execution, so what it holds is that thread's own business. Inside an
//! execution every block is filled when it is asked for and when it is freed, with bytes that a
//! controlled value never has where its identity is; so who comes to such a value at its first use
//! knows that it is not there.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;

use raddle_engine::check::memory_error::Moment;

use crate::identity::{FREED, UNMADE};
use crate::substrate::current;

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
/// ([`FailureKind::UseAfterFree`](crate::FailureKind::UseAfterFree)); anything else is found full of
/// `0xDB`, the same in every run. What was asked for and never written is full of `0xA5`.
///
/// It also knows who asked for the memory of a cell, so that a cell which was published without a
/// release, and never written again, is a data race as well.
///
/// Everything that is freed inside an execution stays in memory until its end, up to 256 megabytes.
/// Outside checks, and without feature `check`, this is the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarantine;

/// What one OS thread holds.
#[derive(Default)]
struct Held {
    /// Freed, by address.
    freed: BTreeMap<usize, (Layout, Note)>,
    bytes: usize,
    /// In use, by address, with the size.
    used: BTreeMap<usize, (usize, Note)>,
}

/// When it happened; nothing if raddle itself did it.
#[derive(Clone, Copy)]
struct Note {
    stamp: u64,
    moment: Option<Moment>,
}

thread_local! {
    /// Made at the first use, and never freed: others may be freed after it.
    static HELD: Cell<*mut Held> = const { Cell::new(std::ptr::null_mut()) };
    /// Whether what is asked for now is for the tables themselves.
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

/// When and by whom, if that is inside an execution and not for the tables.
fn note() -> Option<Note> {
    if BUSY.get() {
        return None;
    }
    let context = current()?;
    Some(Note {
        stamp: context.stamp(),
        moment: context.moment(),
    })
}

// SAFETY: blocks come from the system's allocator and go back there, once, with the layout that they
// came with; what is written is inside them, before they are handed out or after they were given back.
unsafe impl GlobalAlloc for Quarantine {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for this function.
        let block = unsafe { System.alloc(layout) };
        if let Some(note) = note()
            && !block.is_null()
        {
            // SAFETY: the block is so large, and nobody has it yet.
            unsafe { block.write_bytes(UNMADE, layout.size()) };
            with_held(|held| held.used.insert(block as usize, (layout.size(), note)));
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for this function.
        let block = unsafe { System.alloc_zeroed(layout) };
        if let Some(note) = note()
            && !block.is_null()
        {
            with_held(|held| held.used.insert(block as usize, (layout.size(), note)));
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let held = note().and_then(|note| {
            with_held(|held| {
                held.used.remove(&(block as usize));
                let fits = held.bytes + layout.size() <= MAX_HELD;
                if fits {
                    held.bytes += layout.size();
                    held.freed.insert(block as usize, (layout, note));
                }
                fits
            })
        });
        if held == Some(true) {
            // SAFETY: the block was given back, and is so large.
            unsafe { block.write_bytes(FREED, layout.size()) };
        } else {
            // SAFETY: as for this function.
            unsafe { System.dealloc(block, layout) };
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if note().is_none() {
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

/// Gives back what is held, when the execution is over.
pub(crate) fn release() {
    if HELD.get().is_null() {
        return;
    }
    with_held(|held| {
        held.used.clear();
        held.bytes = 0;
        while let Some((block, (layout, _))) = held.freed.pop_first() {
            // SAFETY: it was given back with this layout, and held since then.
            unsafe { System.dealloc(block as *mut u8, layout) };
        }
    });
}

/// Who freed the block with this address in the execution with this stamp, if that is known.
pub(crate) fn freed_by(address: usize, stamp: u64) -> Option<Moment> {
    if HELD.get().is_null() {
        return None;
    }
    let find = |held: &mut Held| {
        let (start, (layout, note)) = held.freed.range(..=address).next_back()?;
        let inside = address < start + layout.size() && note.stamp == stamp;
        note.moment.filter(|_| inside)
    };
    with_held(find).flatten()
}

/// Who asked for the block with this address in the execution with this stamp, if that is known.
pub(crate) fn made_by(address: usize, stamp: u64) -> Option<Moment> {
    if HELD.get().is_null() {
        return None;
    }
    let find = |held: &mut Held| {
        let (start, (size, note)) = held.used.range(..=address).next_back()?;
        let inside = address < start + size && note.stamp == stamp;
        note.moment.filter(|_| inside)
    };
    with_held(find).flatten()
}
