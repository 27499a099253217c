//! End of the used heap at the beginning of the check.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::memory::heap;

static END: AtomicUsize = AtomicUsize::new(0);
static PIECES: AtomicUsize = AtomicUsize::new(0);

/// Records the end of the heap and the number of pieces.
pub(super) fn set() {
    END.store(heap::used().end, Relaxed);
    PIECES.store(heap::pieces(), Relaxed);
}

/// Frees all memory allocated since then.
pub(super) fn reset() {
    heap::reset(END.load(Relaxed));
}

/// As [`reset`], if the program has freed all pieces allocated since then.
pub(super) fn reset_if_unused() {
    if heap::pieces() == PIECES.load(Relaxed) {
        reset();
    }
}
