//! Parts of the heap for threads other than the first.
//!
//! Programs keep addresses in atomics, and in the same execution these must be the same whatever the search
//! has done in between. So every thread has a heap of its own, which it fills from the start in every
//! execution. A thread is identified by its place in the tree of creations: neither other threads nor the
//! schedule matter. Pieces that do not fit are allocated in the first thread's heap.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::execution;
use crate::execution::part::{Part, PartCell};
use crate::host::phase;

/// Number of heaps, and size of each.
const COUNT: usize = 256;
const LENGTH: usize = 256 << 20;
/// Size of all of them; the kernel provides only the pages that are used.
pub(crate) const SIZE: usize = COUNT * LENGTH;

static START: AtomicUsize = AtomicUsize::new(0);
/// Number of bytes in use in each heap, and in all.
static TAKEN: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
static TOTAL: AtomicUsize = AtomicUsize::new(0);
/// Fingerprint of the thread that owns each heap, in all executions; 0 if it is free.
static OWNERS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];

/// The heap of each thread of the execution, as far as they are known.
#[derive(Default)]
pub(crate) struct ThreadHeaps(Vec<Option<u16>>);

impl Part for ThreadHeaps {
    fn renew(&mut self) {
        let ThreadHeaps(heaps) = self;
        heaps.clear();
    }
}

pub(crate) static THREAD_HEAPS: PartCell<ThreadHeaps> = PartCell::new();

/// The heaps are there.
pub(crate) fn begin_at(start: usize) {
    START.store(start, Relaxed);
}

/// Frees all heaps.
pub(crate) fn reset() {
    if TOTAL.swap(0, Relaxed) > 0 {
        for taken in &TAKEN {
            taken.store(0, Relaxed);
        }
    }
}

/// Returns the number of bytes in use in all heaps.
pub(crate) fn used() -> usize {
    TOTAL.load(Relaxed)
}

/// The heap that an address is in.
#[inline]
pub(crate) fn at(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(START.load(Relaxed));
    (offset < SIZE && START.load(Relaxed) != 0).then_some(offset / LENGTH)
}

/// The heap of the running thread; the first thread has none.
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
    let name = native
        .with_world(|world| world.state().fingerprint(thread))
        .max(1);
    let first = name as usize % COUNT;
    let heap = (0..COUNT)
        .map(|step| (first + step) % COUNT)
        .find(|&heap| {
            let owner = OWNERS[heap].load(Relaxed);
            owner == 0 || owner == name
        })?;
    OWNERS[heap].store(name, Relaxed);
    if heaps.len() <= thread.index() {
        heaps.resize(thread.index() + 1, None);
    }
    heaps[thread.index()] = Some(heap as u16);
    Some(heap)
}

/// Under the heap's lock: allocates a piece for the running thread, behind `header` bytes.
pub(crate) fn take(size: usize, alignment: usize, header: usize) -> Option<usize> {
    let heap = own()?;
    let start = START.load(Relaxed) + heap * LENGTH;
    let taken = TAKEN[heap].load(Relaxed);
    let piece = (start + taken + header).next_multiple_of(alignment);
    let after = piece + size - start;
    if after > LENGTH {
        return None;
    }
    TAKEN[heap].store(after, Relaxed);
    TOTAL.store(used() + after - taken, Relaxed);
    Some(piece)
}

/// Returns the address of the running thread's next piece, if it has a heap.
pub(crate) fn end() -> Option<usize> {
    let heap = own()?;
    Some(START.load(Relaxed) + heap * LENGTH + TAKEN[heap].load(Relaxed))
}
