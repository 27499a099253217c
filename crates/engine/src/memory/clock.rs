//! Vector clocks: by thread, a number of its first events.

use crate::base::ids::EventId;

/// Several clocks of one width, one after the other.
pub(crate) type Clocks = Vec<u32>;

/// True when the clock includes the event.
#[inline]
pub(crate) fn covers(clock: &[u32], event: EventId) -> bool {
    clock[event.thread.index()] > event.index
}

/// Joins another clock into a clock.
#[inline]
pub(crate) fn join(clock: &mut [u32], other: &[u32]) {
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// Joins another clock into one that grows as needed.
pub fn join_growing(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    join(clock, other);
}

/// Returns one clock of a list, which grows as needed.
#[inline]
pub(crate) fn row(clocks: &mut Clocks, index: usize, width: usize) -> &mut [u32] {
    let end = (index + 1) * width;
    if clocks.len() < end {
        clocks.resize(end, 0);
    }
    &mut clocks[end - width..end]
}

/// Makes room for `new` entries in every clock of a list, each of which has `old`.
pub(crate) fn widen(clocks: &mut Clocks, old: usize, new: usize) {
    let mut wide = vec![0; clocks.len() / old * new];
    for (clock, from) in wide.chunks_exact_mut(new).zip(clocks.chunks_exact(old)) {
        clock[..old].copy_from_slice(from);
    }
    *clocks = wide;
}
