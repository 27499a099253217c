//! How far the heap was in use when the check began.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::memory::heap;

static END: AtomicUsize = AtomicUsize::new(0);
static PIECES: AtomicUsize = AtomicUsize::new(0);

/// Remembers it.
pub(super) fn set() {
    END.store(heap::used().end, Relaxed);
    PIECES.store(heap::pieces(), Relaxed);
}

/// Gives back everything that came later.
pub(super) fn reset() {
    heap::reset(END.load(Relaxed));
}

/// The same, if the program has done so already.
pub(super) fn reset_if_unused() {
    if heap::pieces() == PIECES.load(Relaxed) {
        reset();
    }
}
