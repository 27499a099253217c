//! Small blocks whose addresses are the same in every execution.
//!
//! Programs keep addresses in atomics, and these values must not depend on earlier executions. So
//! every thread of the program has *lanes*, one for each size, from which it takes blocks in order
//! from the beginning in every execution. No block is reused before the execution is over. A thread
//! is identified by its place in the tree of creations, so neither other threads nor the schedule
//! matter. A block still in use at the end stays where it is, and the lane begins behind it from
//! then on.

use std::alloc::Layout;
use std::collections::BTreeMap;

/// Maximum block size in lanes, and the unit of all sizes, in bytes.
const LARGEST: usize = 1024;
const STEP: usize = 16;
/// Bytes by which a lane grows.
const CHUNK: usize = 64 << 10;

/// The identity of a lane: its thread and its block size.
pub(super) type LaneId = (u64, usize);

/// The lanes of all threads, for all executions that one OS thread runs.
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
    /// Takes a block for a thread and returns its address, lane and position; `None` if it is too
    /// large or there is no room.
    pub(super) fn take(&mut self, thread: u64, layout: Layout) -> Option<(usize, LaneId, usize)> {
        let size = lane_size(layout)?;
        let id = (thread, size);
        let lane = self.0.entry(id).or_default();
        let (chunk, place) = (lane.next / (CHUNK / size), lane.next % (CHUNK / size));
        while lane.chunks.len() <= chunk {
            lane.chunks.push(region::chunk()?);
        }
        lane.next += 1;
        Some((lane.chunks[chunk] + place * size, id, lane.next - 1))
    }

    /// Keeps a block that is still in use at the end of the execution.
    pub(super) fn keep(&mut self, id: LaneId, position: usize) {
        if let Some(lane) = self.0.get_mut(&id) {
            lane.start = lane.start.max(position + 1);
        }
    }

    /// Begins the next execution.
    pub(super) fn rewind(&mut self) {
        for lane in self.0.values_mut() {
            lane.next = lane.start;
        }
    }
}

/// Returns the block size of the lane for a layout; `None` if it is too large for lanes.
pub(super) fn lane_size(layout: Layout) -> Option<usize> {
    let fits = layout.size() <= LARGEST && layout.align() <= STEP;
    fits.then(|| layout.size().next_multiple_of(STEP).max(STEP))
}

/// True when the block is from a lane of any OS thread.
pub(super) fn is_in_lane(block: *mut u8) -> bool {
    region::contains(block as usize)
}

#[cfg(all(unix, target_pointer_width = "64"))]
mod region {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::CHUNK;

    /// Size of the reserved address range; only written pages use memory.
    const SIZE: usize = 64 << 30;

    static BASE: AtomicUsize = AtomicUsize::new(0);
    static USED: AtomicUsize = AtomicUsize::new(0);

    /// Returns the start of the region; 0 if there is none.
    fn base() -> usize {
        static MAPPED: OnceLock<usize> = OnceLock::new();
        *MAPPED.get_or_init(|| {
            // SAFETY: without MAP_FIXED, `mmap` touches no memory that is in use.
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

    /// Returns a chunk that was never used.
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
    /// Returns `None`: other systems have no lanes.
    pub(super) fn chunk() -> Option<usize> {
        None
    }

    pub(super) fn contains(_address: usize) -> bool {
        false
    }
}
