//! The system's allocator by another name.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator. With feature `check`, it keeps memory freed inside a check until the end
/// of the execution.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quarantine;

// SAFETY: forwards every call to the system's allocator.
unsafe impl GlobalAlloc for Quarantine {
    #[inline(always)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for this function.
        unsafe { System.alloc(layout) }
    }

    #[inline(always)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as for this function.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline(always)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline(always)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as for this function.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
