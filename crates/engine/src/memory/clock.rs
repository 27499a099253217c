//! Vector clocks: for each thread, a number of its first events.

use crate::base::ids::EventId;

/// Several clocks of one width, stored one after the other.
pub(crate) type Clocks = Vec<u32>;

/// True when the clock includes the event.
#[inline]
pub(crate) fn covers(clock: &[u32], event: EventId) -> bool {
    clock[event.thread.index()] > event.index
}

/// Joins another clock into a clock; returns true if that changes it.
#[inline]
pub(crate) fn join(clock: &mut [u32], other: &[u32]) -> bool {
    // Most clocks have four entries, or a multiple of four: a loop over parts of that length is
    // short, where a loop over entries is unrolled far beyond the length of a clock.
    let common = clock.len().min(other.len());
    let (parts, rest) = clock[..common].as_chunks_mut::<4>();
    let (other_parts, other_rest) = other[..common].as_chunks::<4>();
    let mut changes = [0; 4];
    for at in 0..parts.len().min(other_parts.len()) {
        let ([a, b, c, d], [e, f, g, h]) = (parts[at], other_parts[at]);
        let [w, x, y, z] = [later(a, e), later(b, f), later(c, g), later(d, h)];
        parts[at] = [w, x, y, z];
        let [i, j, k, l] = changes;
        changes = [i | (a ^ w), j | (b ^ x), k | (c ^ y), l | (d ^ z)];
    }
    let mut changed = changes != [0; 4];
    for at in 0..rest.len().min(other_rest.len()) {
        let joined = later(rest[at], other_rest[at]);
        changed |= joined != rest[at];
        rest[at] = joined;
    }
    changed
}

/// Returns the larger of two entries, neither of which is as large as 2^31. Signed numbers, because x86-64
/// has no instruction for the maxima of several unsigned ones.
#[inline(always)]
fn later(one: u32, other: u32) -> u32 {
    (one as i32).max(other as i32) as u32
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

/// Widens every clock of a list from `old` to `new` entries.
pub(crate) fn widen(clocks: &mut Clocks, old: usize, new: usize) {
    let mut wide = vec![0; clocks.len() / old * new];
    for (clock, from) in wide.chunks_exact_mut(new).zip(clocks.chunks_exact(old)) {
        clock[..old].copy_from_slice(from);
    }
    *clocks = wide;
}
