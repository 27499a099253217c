//! Parts of the heap for threads other than the first.
//!
//! Programs keep addresses in atomics, and in the same execution they must be the same whatever the search does
//! in between. So every thread has a *lane*, which it goes along from the beginning in every execution. A thread
//! is known by its place in the tree of creations: neither other threads nor the schedule matter. What finds no
//! room in its lane is put where the first thread's is.

use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::execution;
use crate::host::phase;

/// How many lanes there are, and how long they are.
const COUNT: usize = 256;
const LENGTH: usize = 256 << 20;
/// Room for all of them; only what is used costs anything.
pub(crate) const SIZE: usize = COUNT * LENGTH;
/// The lanes of so many threads are remembered.
const REMEMBERED: usize = 1024;

static START: AtomicUsize = AtomicUsize::new(0);
/// How much of each lane is in use, and of all.
static TAKEN: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
static TOTAL: AtomicUsize = AtomicUsize::new(0);
/// Whose the lanes are, for good; 0 is nobody.
static OWNERS: [AtomicU64; COUNT] = [const { AtomicU64::new(0) }; COUNT];
/// One more than the lane of each thread of this execution; 0 if nobody has looked.
static KNOWN: [AtomicU16; REMEMBERED] = [const { AtomicU16::new(0) }; REMEMBERED];
/// All those beyond so many are 0.
static LOOKED: AtomicUsize = AtomicUsize::new(0);

/// The lanes are there.
pub(crate) fn begin_at(start: usize) {
    START.store(start, Relaxed);
}

/// An execution begins, with other threads.
pub(crate) fn forget_threads() {
    for known in &KNOWN[..LOOKED.swap(0, Relaxed)] {
        known.store(0, Relaxed);
    }
}

/// Nothing in any lane is in use.
pub(crate) fn reset() {
    if TOTAL.swap(0, Relaxed) > 0 {
        for taken in &TAKEN {
            taken.store(0, Relaxed);
        }
    }
}

/// How much of all lanes is in use.
pub(crate) fn used() -> usize {
    TOTAL.load(Relaxed)
}

/// The lane that an address is in.
#[inline]
pub(crate) fn at(address: usize) -> Option<usize> {
    let offset = address.wrapping_sub(START.load(Relaxed));
    (offset < SIZE && START.load(Relaxed) != 0).then_some(offset / LENGTH)
}

/// The lane of the running thread; the first thread has none.
fn own() -> Option<usize> {
    if START.load(Relaxed) == 0 || !phase::is_checking() || phase::is_harness_main() {
        return None;
    }
    let native = execution::if_running()?;
    let thread = native.thread();
    if thread.index() == 0 {
        return None;
    }
    let known = KNOWN.get(thread.index());
    if let Some(lane) = known.and_then(|known| known.load(Relaxed).checked_sub(1)) {
        return Some(usize::from(lane));
    }
    let name = native
        .with_world(|world| world.state().fingerprint(thread))
        .max(1);
    let first = name as usize % COUNT;
    let lane = (0..COUNT)
        .map(|step| (first + step) % COUNT)
        .find(|&lane| {
            let owner = OWNERS[lane].load(Relaxed);
            owner == 0 || owner == name
        })?;
    OWNERS[lane].store(name, Relaxed);
    if let Some(known) = known {
        known.store(lane as u16 + 1, Relaxed);
        LOOKED.fetch_max(thread.index() + 1, Relaxed);
    }
    Some(lane)
}

/// Under the heap's lock: room for a piece of the running thread's, behind so much room for its header.
pub(crate) fn take(size: usize, alignment: usize, header: usize) -> Option<usize> {
    let lane = own()?;
    let start = START.load(Relaxed) + lane * LENGTH;
    let taken = TAKEN[lane].load(Relaxed);
    let piece = (start + taken + header).next_multiple_of(alignment);
    let after = piece + size - start;
    if after > LENGTH {
        return None;
    }
    TAKEN[lane].store(after, Relaxed);
    TOTAL.store(used() + after - taken, Relaxed);
    Some(piece)
}

/// Where the next piece of the running thread will be, if it has a lane.
pub(crate) fn end() -> Option<usize> {
    let lane = own()?;
    Some(START.load(Relaxed) + lane * LENGTH + TAKEN[lane].load(Relaxed))
}
