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

use super::quarantine::Record;

/// Maximum block size in lanes, and the unit of all sizes, in bytes.
const LARGEST: usize = 1024;
const STEP: usize = 16;
/// Bytes by which a lane grows.
const CHUNK: usize = 64 << 10;

/// The identity of a lane: its thread and its block size.
type LaneId = (u64, usize);

/// The lanes of all threads, for all executions that one OS thread runs.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    by_id: BTreeMap<LaneId, u32>,
    /// By the number of a chunk of the region, the lane that has it and its index there; `None` for those of other
    /// OS threads.
    owners: Vec<Option<(u32, u32)>>,
    /// Blocks that a thread has freed and may get again, by thread and size. The last is the first to be used.
    again: BTreeMap<LaneId, Vec<LanePlace>>,
}

#[derive(Default)]
struct Lane {
    size: usize,
    chunks: Vec<usize>,
    /// The first block that an execution may use, and the next.
    start: usize,
    next: usize,
    /// The blocks of the execution, from `start` on.
    blocks: Vec<(BlockState, Record)>,
}

/// The state of a block of the running execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockState {
    Used,
    Freed,
    /// Freed after the execution.
    GivenUp,
}

/// A block: its lane, and its position there.
#[derive(Clone, Copy)]
pub(super) struct LanePlace {
    lane: u32,
    position: usize,
}

impl Lanes {
    /// Takes a block for a thread and returns its address; `None` if it is too large or there is no room.
    pub(super) fn take(&mut self, thread: u64, layout: Layout, record: Record) -> Option<usize> {
        let size = lane_size(layout)?;
        let lanes = &mut self.lanes;
        let index = *self.by_id.entry((thread, size)).or_insert_with(|| {
            lanes.push(Lane {
                size,
                ..Lane::default()
            });
            lanes.len() as u32 - 1
        });
        let lane = &mut self.lanes[index as usize];
        let chunk = lane.next / (CHUNK / size);
        while lane.chunks.len() <= chunk {
            let (number, address) = region::chunk()?;
            if self.owners.len() <= number {
                self.owners.resize(number + 1, None);
            }
            self.owners[number] = Some((index, lane.chunks.len() as u32));
            lane.chunks.push(address);
        }
        lane.blocks.push((BlockState::Used, record));
        lane.next += 1;
        Some(lane.address(lane.next - 1))
    }

    /// Takes the block of this size that the thread has freed last. Returns its address and the record of its
    /// deallocation.
    pub(super) fn take_again(
        &mut self,
        thread: u64,
        layout: Layout,
        record: Record,
    ) -> Option<(usize, Record)> {
        let place = self.again.get_mut(&(thread, lane_size(layout)?))?.pop()?;
        let freed = std::mem::replace(self.block_mut(place), (BlockState::Used, record));
        Some((self.get(place).0, freed.1))
    }

    /// Returns the place of the block with this address in it, if the block is of the running execution.
    #[inline]
    pub(super) fn find(&self, address: usize) -> Option<LanePlace> {
        let (number, offset) = region::locate(address)?;
        let (index, chunk) = (*self.owners.get(number)?)?;
        let lane = &self.lanes[index as usize];
        let in_chunk = CHUNK / lane.size;
        let position = chunk as usize * in_chunk + offset / lane.size;
        // The end of a chunk may be less than a block.
        let is_current =
            offset / lane.size < in_chunk && (lane.start..lane.next).contains(&position);
        is_current.then_some(LanePlace {
            lane: index,
            position,
        })
    }

    fn block_mut(&mut self, place: LanePlace) -> &mut (BlockState, Record) {
        let lane = &mut self.lanes[place.lane as usize];
        &mut lane.blocks[place.position - lane.start]
    }

    /// Returns the address of a block, its state and its record.
    #[inline]
    pub(super) fn get(&self, place: LanePlace) -> (usize, BlockState, Record) {
        let lane = &self.lanes[place.lane as usize];
        let (state, record) = lane.blocks[place.position - lane.start];
        (lane.address(place.position), state, record)
    }

    /// Records that a thread has freed a block, which it may get again if it `reuses` memory.
    pub(super) fn free(&mut self, place: LanePlace, record: Record, reuses: Option<u64>) {
        *self.block_mut(place) = (BlockState::Freed, record);
        if let Some(thread) = reuses {
            let size = self.lanes[place.lane as usize].size;
            self.again.entry((thread, size)).or_default().push(place);
        }
    }

    /// Records that a block in use was freed after the execution.
    pub(super) fn give_up(&mut self, place: LanePlace) {
        let (state, _) = self.block_mut(place);
        if *state == BlockState::Used {
            *state = BlockState::GivenUp;
        }
    }

    /// Begins the next execution. Blocks still in use are kept.
    pub(super) fn rewind(&mut self) {
        for lane in &mut self.lanes {
            let mut states = lane.blocks.iter().map(|&(state, _)| state);
            let kept = states.rposition(|state| state == BlockState::Used);
            lane.start += kept.map_or(0, |last| last + 1);
            lane.next = lane.start;
            lane.blocks.clear();
        }
        self.again.clear();
    }
}

impl Lane {
    fn address(&self, position: usize) -> usize {
        let in_chunk = CHUNK / self.size;
        self.chunks[position / in_chunk] + position % in_chunk * self.size
    }
}

/// Returns the block size of the lane for a layout; `None` if it is too large for lanes.
fn lane_size(layout: Layout) -> Option<usize> {
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

    /// Returns the number and the address of a chunk that was never used.
    pub(super) fn chunk() -> Option<(usize, usize)> {
        let base = base();
        let offset = USED.fetch_add(CHUNK, Relaxed);
        (base != 0 && offset + CHUNK <= SIZE).then_some((offset / CHUNK, base + offset))
    }

    /// Returns the number of the chunk with this address in it, and the offset there.
    #[inline]
    pub(super) fn locate(address: usize) -> Option<(usize, usize)> {
        let offset = address.wrapping_sub(BASE.load(Relaxed));
        contains(address).then_some((offset / CHUNK, offset % CHUNK))
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
    pub(super) fn chunk() -> Option<(usize, usize)> {
        None
    }

    pub(super) fn locate(_address: usize) -> Option<(usize, usize)> {
        None
    }

    pub(super) fn contains(_address: usize) -> bool {
        false
    }
}

#[cfg(all(test, unix, target_pointer_width = "64"))]
mod tests {
    use super::*;
    use raddle_engine::ThreadId;
    use raddle_engine::check::memory_error::Moment;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("a layout")
    }

    /// A record with this number of events before it, by which it is recognised.
    fn record(size: usize, after: usize) -> Record {
        let thread = ThreadId::MAIN;
        Record {
            layout: layout(size),
            stamp: 0,
            moment: Moment { thread, after },
        }
    }

    /// The state and the number of the block with this address in it.
    fn found(lanes: &Lanes, address: usize) -> Option<(usize, BlockState, usize)> {
        let (start, state, record) = lanes.get(lanes.find(address)?);
        Some((start, state, record.moment.after))
    }

    /// Random calls, compared with a plain map from addresses to blocks.
    #[test]
    fn blocks_are_those_of_a_plain_map() {
        let mut state = 7_u64;
        let mut below = |limit: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as usize % limit
        };
        let mut lanes = Lanes::default();
        let mut first_addresses = BTreeMap::new();
        for execution in 0..20 {
            // By address: size, state and number.
            let mut known: BTreeMap<usize, (usize, BlockState, usize)> = BTreeMap::new();
            let mut taken = BTreeMap::<_, usize>::new();
            for number in 0..4_000 {
                // 48 does not divide a chunk, which has 1,365 such blocks.
                let (thread, size) = (below(3) as u64, [8, 16, 48, 1024][below(4)]);
                let block = known.keys().copied().nth(below(known.len().max(1)));
                match block.filter(|_| below(3) == 0) {
                    Some(block) if known[&block].1 == BlockState::Used => {
                        let size = known[&block].0;
                        let place = lanes.find(block).expect("it is in use");
                        match below(20) {
                            0 => lanes.give_up(place),
                            _ => lanes.free(place, record(size, number), None),
                        }
                        let now = known.get_mut(&block).expect("it is in use");
                        (now.1, now.2) = match lanes.get(place).1 {
                            BlockState::GivenUp => (BlockState::GivenUp, now.2),
                            _ => (BlockState::Freed, number),
                        };
                    }
                    _ => {
                        let address = lanes.take(thread, layout(size), record(size, number));
                        let address = address.expect("there is room");
                        let is_new = known.insert(address, (size, BlockState::Used, number));
                        assert!(is_new.is_none(), "each block has one owner");
                        let lane = (thread, size.next_multiple_of(STEP));
                        let order = taken.entry(lane).or_default();
                        *order += 1;
                        // Every execution frees all of its blocks: the next one has the same.
                        let first = first_addresses.entry((lane, *order));
                        assert_eq!(*first.or_insert(address), address, "{execution}");
                    }
                }
            }
            for (&start, &(size, state, number)) in &known {
                for inside in [start, start + size / 2, start + size - 1] {
                    assert_eq!(found(&lanes, inside), Some((start, state, number)));
                }
                let place = lanes.find(start).expect("it is known");
                lanes.give_up(place);
            }
            lanes.rewind();
            assert!(known.keys().all(|&block| lanes.find(block).is_none()));
        }
    }

    #[test]
    fn a_lane_begins_behind_the_last_block_in_use() {
        let mut lanes = Lanes::default();
        let take = |lanes: &mut Lanes| lanes.take(1, layout(16), record(16, 0)).expect("room");
        let blocks: Vec<_> = (0..4).map(|_| take(&mut lanes)).collect();
        for freed in [0, 1, 3] {
            let place = lanes.find(blocks[freed]).expect("it is in use");
            lanes.free(place, record(16, 0), None);
        }
        lanes.rewind();
        assert_eq!(take(&mut lanes), blocks[3]);
        lanes.rewind();
        assert!(take(&mut lanes) > blocks[3]);
    }

    #[test]
    fn a_thread_gets_again_what_it_has_freed_last() {
        let mut lanes = Lanes::default();
        let mut take = |thread| lanes.take(thread, layout(16), record(16, 0)).expect("room");
        let (one, two) = (take(1), take(2));
        for (number, block) in [(5, one), (6, two)] {
            let place = lanes.find(block).expect("it is in use");
            lanes.free(place, record(16, number), Some(2));
        }
        let mut again = |thread| {
            let (block, freed) = lanes.take_again(thread, layout(16), record(16, 9))?;
            Some((block, freed.moment.after))
        };
        assert_eq!(again(1), None, "it has freed none");
        assert_eq!(
            [again(2), again(2), again(2)],
            [Some((two, 6)), Some((one, 5)), None]
        );
        assert_eq!(found(&lanes, one), Some((one, BlockState::Used, 9)));
    }
}
