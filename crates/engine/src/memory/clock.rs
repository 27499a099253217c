//! Vector clocks: by thread, how many of its events. Often many of them lie one behind the other in one list.

use crate::base::ids::EventId;

/// Whether the clock includes the event.
#[inline]
pub(crate) fn covers(clock: &[u32], event: EventId) -> bool {
    clock[event.thread.index()] > event.index
}

/// Adds what another clock includes.
#[inline]
pub(crate) fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// One clock of a list, which grows as needed.
#[inline]
pub(crate) fn row(clocks: &mut Vec<u32>, index: usize, width: usize) -> &mut [u32] {
    let end = (index + 1) * width;
    if clocks.len() < end {
        clocks.resize(end, 0);
    }
    &mut clocks[end - width..end]
}

/// Makes room for `new` entries in every clock of a list.
pub(crate) fn widen(clocks: &mut Vec<u32>, old: usize, new: usize) {
    let mut wide = vec![0; clocks.len() / old * new];
    for (clock, from) in wide.chunks_exact_mut(new).zip(clocks.chunks_exact(old)) {
        clock[..old].copy_from_slice(from);
    }
    *clocks = wide;
}
