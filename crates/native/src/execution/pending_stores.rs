//! Plain stores that are operations, before their value is known.
//!
//! The program itself writes, after its operation and before anything else can run. So the engine learns what
//! was written when the program next asks for something.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_engine::LocationId;

use crate::engine::Native;
use crate::host::solo::Solo;

const WORD: usize = 8;

/// Location, address and size of each.
static PENDING: Solo<Vec<(LocationId, usize, usize)>> = Solo::new(Vec::new());
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// An execution begins.
pub(crate) fn begin() {
    IS_ANY.store(false, Relaxed);
    PENDING.get().clear();
}

/// The running thread is about to store to a location.
pub(crate) fn add(location: LocationId, address: usize, size: usize) {
    PENDING.get().push((location, address, size));
    IS_ANY.store(true, Relaxed);
}

/// True if there is one.
#[inline]
pub(super) fn is_any() -> bool {
    IS_ANY.load(Relaxed)
}

/// The running thread does something else, so that what it stored is in memory by now.
#[cold]
pub(super) fn settle(native: Native<'_>) {
    IS_ANY.store(false, Relaxed);
    let pending = std::mem::take(&mut *PENDING.get());
    for &(location, address, size) in &pending {
        native.settle_store(location, read(address, size));
    }
}

/// Returns what is in memory there.
pub(crate) fn read(address: usize, size: usize) -> u64 {
    let mut bytes = [0; WORD];
    // SAFETY: the program uses this memory.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size) };
    u64::from_le_bytes(bytes)
}
