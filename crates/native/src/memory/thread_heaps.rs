//! Parts of the heap for threads other than the first.
//!
//! Programs keep addresses in atomics. In the same execution these addresses must be the same,
//! independently of the executions that the search has run before. So every thread has a heap of
//! its own, which it fills from the start in every execution. A thread is identified by its place
//! in the tree of creations: neither other threads nor the schedule matter. The first threads have
//! large heaps, and all others small ones. Pieces that do not fit are allocated in the first
//! thread's heap.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::execution;
use crate::execution::part::{Part, PartCell};
use crate::host::phase;

/// Number of large heaps, and size of each in bytes.
const LARGE_COUNT: usize = 192;
const LARGE: usize = 256 << 20;
/// Number of small heaps, and size of each in bytes.
const SMALL_COUNT: usize = 4096;
const SMALL: usize = 4 << 20;
const COUNT: usize = LARGE_COUNT + SMALL_COUNT;
/// Size of all large heaps in bytes.
const ALL_LARGE: usize = LARGE_COUNT * LARGE;
/// Size of all heaps in bytes; the kernel provides only the pages that are used.
pub(crate) const SIZE: usize = ALL_LARGE + SMALL_COUNT * SMALL;

static START: AtomicUsize = AtomicUsize::new(0);
/// Number of bytes in use in each heap, and in all.
static TAKEN: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
static TOTAL: AtomicUsize = AtomicUsize::new(0);
/// Name of the thread that owns each heap, in all executions, and number of those that are owned: the first ones.
static OWNERS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
static OWNED: AtomicUsize = AtomicUsize::new(0);

/// The heap of each thread of the execution, once it is assigned.
#[derive(Default)]
pub(crate) struct ThreadHeaps(Vec<Option<u16>>);

impl Part for ThreadHeaps {
    fn renew(&mut self) {
        let ThreadHeaps(heaps) = self;
        heaps.clear();
    }
}

pub(crate) static THREAD_HEAPS: PartCell<ThreadHeaps> = PartCell::new();

/// Sets the start of the heaps.
pub(crate) fn begin_at(start: usize) {
    START.store(start, Relaxed);
}

/// Frees all heaps.
pub(crate) fn reset() {
    if TOTAL.swap(0, Relaxed) > 0 {
        for taken in &TAKEN[..OWNED.load(Relaxed)] {
            taken.store(0, Relaxed);
        }
    }
}

/// Returns the number of bytes in use in all heaps.
pub(crate) fn used() -> usize {
    TOTAL.load(Relaxed)
}

/// Returns the heap that an address is in.
#[inline]
pub(crate) fn at(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(START.load(Relaxed));
    (offset < SIZE && START.load(Relaxed) != 0).then(|| match offset.checked_sub(ALL_LARGE) {
        None => offset / LARGE,
        Some(offset) => LARGE_COUNT + offset / SMALL,
    })
}

/// The start and the size of a heap.
fn extent(heap: usize) -> (usize, usize) {
    let start = START.load(Relaxed);
    match heap.checked_sub(LARGE_COUNT) {
        None => (start + heap * LARGE, LARGE),
        Some(heap) => (start + ALL_LARGE + heap * SMALL, SMALL),
    }
}

/// Returns the heap of the running thread; the first thread has none.
fn own() -> Option<usize> {
    if START.load(Relaxed) == 0 || !phase::is_checking() || phase::is_harness_main() {
        return None;
    }
    let native = execution::if_running()?;
    let thread = native.thread();
    if thread.index() == 0 {
        return None;
    }
    let mut heaps = THREAD_HEAPS.try_get()?;
    let heaps = &mut heaps.0;
    if let Some(&Some(heap)) = heaps.get(thread.index()) {
        return Some(usize::from(heap));
    }
    let name = execution::creation_name(native, thread);
    let owned = OWNED.load(Relaxed);
    let known = OWNERS[..owned]
        .iter()
        .position(|owner| owner.load(Relaxed) == name);
    let heap = known.or_else(|| {
        OWNERS.get(owned)?.store(name, Relaxed);
        OWNED.store(owned + 1, Relaxed);
        Some(owned)
    })?;
    if heaps.len() <= thread.index() {
        heaps.resize(thread.index() + 1, None);
    }
    heaps[thread.index()] = Some(heap as u16);
    Some(heap)
}

/// Under the heap's lock: allocates a piece for the running thread, behind `header` bytes.
pub(crate) fn take(size: usize, alignment: usize, header: usize) -> Option<usize> {
    let heap = own()?;
    let (start, length) = extent(heap);
    let taken = TAKEN[heap].load(Relaxed);
    let piece = (start + taken + header).next_multiple_of(alignment);
    let after = piece + size - start;
    if after > length {
        return None;
    }
    TAKEN[heap].store(after, Relaxed);
    TOTAL.store(used() + after - taken, Relaxed);
    Some(piece)
}

/// Returns the address of the running thread's next piece, if it has a heap.
pub(crate) fn end() -> Option<usize> {
    let heap = own()?;
    Some(extent(heap).0 + TAKEN[heap].load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaps_lie_one_behind_the_other() {
        begin_at(1 << 40);
        let mut end = 1 << 40;
        for heap in 0..COUNT {
            let (start, length) = extent(heap);
            assert_eq!(start, end);
            end = start + length;
            assert_eq!((at(start), at(end - 1)), (Some(heap), Some(heap)));
        }
        assert_eq!((end, at(end)), ((1 << 40) + SIZE, None));
    }
}
