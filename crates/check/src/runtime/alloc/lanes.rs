//! Small blocks whose addresses are the same in every execution.
//!
//! Programs keep addresses in atomics, and what they keep there must not depend on how earlier
//! executions went. So every thread of the program has *lanes*, one for each size, which it goes along
//! from the beginning in every execution; nothing is used again before the execution is over. A thread
//! is known by its place in the tree of creations, so neither other threads nor the schedule matter.
//! What is still in use at the end stays where it is, and the lane begins behind it from then on.

use std::alloc::Layout;
use std::collections::BTreeMap;

/// The largest blocks in lanes, and what all sizes are multiples of.
const LARGEST: usize = 1024;
const STEP: usize = 16;
/// Lanes grow by so much.
const CHUNK: usize = 64 << 10;

/// A lane: whose it is, and how large its blocks are.
pub(super) type LaneId = (u64, usize);

/// The lanes of all threads, and of all executions that one OS thread runs.
#[derive(Default)]
pub(super) struct Lanes(BTreeMap<LaneId, Lane>);

#[derive(Default)]
struct Lane {
    chunks: Vec<usize>,
    /// The first block that an execution may use, and the next.
    start: usize,
    next: usize,
}

impl Lanes {
    /// A block for a thread, with its lane and position; nothing if it is too large or there is no
    /// room.
    pub(super) fn take(&mut self, thread: u64, layout: Layout) -> Option<(usize, LaneId, usize)> {
        if layout.size() > LARGEST || layout.align() > STEP {
            return None;
        }
        let size = layout.size().next_multiple_of(STEP).max(STEP);
        let id = (thread, size);
        let lane = self.0.entry(id).or_default();
        let (chunk, place) = (lane.next / (CHUNK / size), lane.next % (CHUNK / size));
        while lane.chunks.len() <= chunk {
            lane.chunks.push(region::chunk()?);
        }
        lane.next += 1;
        Some((lane.chunks[chunk] + place * size, id, lane.next - 1))
    }

    /// The block is still in use when the execution is over.
    pub(super) fn keep(&mut self, id: LaneId, position: usize) {
        if let Some(lane) = self.0.get_mut(&id) {
            lane.start = lane.start.max(position + 1);
        }
    }

    /// The next execution begins.
    pub(super) fn rewind(&mut self) {
        for lane in self.0.values_mut() {
            lane.next = lane.start;
        }
    }
}

/// Whether the block is from a lane, of whichever OS thread.
pub(super) fn is_in_lane(block: *mut u8) -> bool {
    region::contains(block as usize)
}

#[cfg(all(unix, target_pointer_width = "64"))]
mod region {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::CHUNK;

    /// Of addresses; memory is used where something is written.
    const SIZE: usize = 64 << 30;

    static BASE: AtomicUsize = AtomicUsize::new(0);
    static USED: AtomicUsize = AtomicUsize::new(0);

    /// Where the region begins; 0 if there is none.
    fn base() -> usize {
        static MAPPED: OnceLock<usize> = OnceLock::new();
        *MAPPED.get_or_init(|| {
            // SAFETY: asks for addresses that nobody uses.
            let address = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    SIZE,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                    -1,
                    0,
                )
            };
            let address = match address == libc::MAP_FAILED {
                true => 0,
                false => address as usize,
            };
            BASE.store(address, Relaxed);
            address
        })
    }

    /// A chunk that nobody has had.
    pub(super) fn chunk() -> Option<usize> {
        let base = base();
        let offset = USED.fetch_add(CHUNK, Relaxed);
        (base != 0 && offset + CHUNK <= SIZE).then_some(base + offset)
    }

    #[inline]
    pub(super) fn contains(address: usize) -> bool {
        let base = BASE.load(Relaxed);
        base != 0 && address.wrapping_sub(base) < SIZE
    }
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
mod region {
    /// On other systems there are no lanes.
    pub(super) fn chunk() -> Option<usize> {
        None
    }

    pub(super) fn contains(_address: usize) -> bool {
        false
    }
}
