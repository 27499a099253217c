//! Plain stores that are operations, before their value is known.
//!
//! The program itself writes, after its operation and before any other thread can run. So the
//! engine receives the value at the program's next operation.

use raddle_engine::LocationId;

use super::RUNNING;
use crate::engine::Native;

const WORD: usize = 8;

/// Location, address and size in bytes of each pending store.
#[derive(Default)]
pub(super) struct PendingStores(Vec<(LocationId, usize, usize)>);

impl PendingStores {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes the stored values, which are in memory by now, to the engine.
    #[cold]
    pub(super) fn pass_values(&mut self, native: Native<'_>) {
        for (location, address, size) in self.0.drain(..) {
            native.set_stored_value(location, read(address, size));
        }
    }
}

/// Records that the running thread is about to store to a location.
pub(crate) fn add(location: LocationId, address: usize, size: usize) {
    if let Some(running) = &mut *RUNNING.get() {
        running.stores.0.push((location, address, size));
    }
}

/// Returns the value in memory.
pub(crate) fn read(address: usize, size: usize) -> u64 {
    let mut bytes = [0; WORD];
    // SAFETY: the program has accessed these bytes, so they are readable, and `bytes` has room for
    // all of them: there are at most 8.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size) };
    u64::from_le_bytes(bytes)
}
