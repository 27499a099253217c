//! The address range of the program's heap.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::thread_heaps;

/// Size of the first thread's heap; the kernel provides only the pages that are used.
pub(crate) const SIZE: usize = 4 << 30;

/// Start of the heap; 0 before there is one.
static START: AtomicUsize = AtomicUsize::new(0);

/// Returns the start of the heap; 0 before there is one.
pub(super) fn start() -> usize {
    START.load(Relaxed)
}

/// Sets the start of the heap.
pub(super) fn begin_at(start: usize) {
    START.store(start, Relaxed);
}

/// True if the address is in the heap.
pub(crate) fn contains(address: usize) -> bool {
    let start = start();
    start != 0 && ((start..start + SIZE).contains(&address) || thread_heaps::at(address).is_some())
}
