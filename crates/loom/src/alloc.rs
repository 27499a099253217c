//! Memory and values that must be freed before an execution ends.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use raddle_check::runtime::MustDrop;
use raddle_check::runtime::alloc::aside;

pub use std::alloc::Layout;

/// Blocks in use, by address, with the obligation to free them.
static BLOCKS: Mutex<BTreeMap<usize, Option<MustDrop>>> = Mutex::new(BTreeMap::new());

fn blocks() -> MutexGuard<'static, BTreeMap<usize, Option<MustDrop>>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates memory, as [`std::alloc::alloc`]; a block that is not freed is a leak.
///
/// # Safety
///
/// As for [`std::alloc::alloc`].
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: as for this function.
    let block = unsafe { std::alloc::alloc(layout) };
    track(block, Location::caller())
}

/// Allocates memory full of zeros, as [`std::alloc::alloc_zeroed`]; a block that is not freed is a
/// leak.
///
/// # Safety
///
/// As for [`std::alloc::alloc_zeroed`].
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as for this function.
    let block = unsafe { std::alloc::alloc_zeroed(layout) };
    track(block, Location::caller())
}

fn track(block: *mut u8, place: &'static Location<'static>) -> *mut u8 {
    if !block.is_null() {
        let must_drop = MustDrop::made("Allocation", place);
        let _aside = aside();
        blocks().insert(block.addr(), must_drop);
    }
    block
}

/// Frees memory, as [`std::alloc::dealloc`].
///
/// # Safety
///
/// As for [`std::alloc::dealloc`], for a block from [`alloc`] or [`alloc_zeroed`].
///
/// # Panics
///
/// If the block is not from there, or was freed already.
#[track_caller]
pub unsafe fn dealloc(ptr: *mut u8, layout: Layout) {
    let tracked = {
        let _aside = aside();
        blocks().remove(&ptr.addr())
    };
    assert!(
        tracked.is_some(),
        "the block was freed already, or is not from `loom::alloc::alloc`"
    );
    // SAFETY: as for this function.
    unsafe { std::alloc::dealloc(ptr, layout) }
}

/// A value that is a leak if it is not dropped before the execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _must_drop: Option<MustDrop>,
}

impl<T> Track<T> {
    /// Tracks a value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        Track {
            value,
            _must_drop: MustDrop::made("Allocation", Location::caller()),
        }
    }

    /// Returns a reference to the value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns a mutable reference to the value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the value, which is not tracked any more.
    pub fn into_inner(self) -> T {
        self.value
    }
}
