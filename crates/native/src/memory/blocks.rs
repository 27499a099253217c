//! Blocks of the heap that the program has allocated and freed.
//!
//! No memory is used twice in one execution, so each use of a freed block is found. So is each use of memory
//! between two blocks.

use std::cell::UnsafeCell;

use raddle_engine::ThreadId;

use super::{heap_range, thread_heaps};
use crate::execution::{self, shadow_stack};
use crate::host::mode;

/// A piece of the heap.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    start: usize,
    pub(crate) size: usize,
    /// Site and thread of the allocation; no thread before a check begins.
    pub(crate) made: (usize, Option<ThreadId>),
    /// Index of the next event of that thread.
    pub(crate) made_before: u32,
    pub(crate) freed: Option<(usize, ThreadId)>,
    /// True if it must not be used any more.
    is_gone: bool,
    /// True if the standard library of Rust has made it for itself.
    is_inside: bool,
}

/// Errors in the use of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The block there was freed.
    Freed,
    /// There is no such piece.
    Outside,
    /// It is on the stack of a thread that has ended.
    Ended,
}

/// The verb for freeing a block.
pub(crate) const FREES: &str = "frees";

struct Blocks {
    /// In the order of their addresses: the first thread's, and those of each thread heap.
    lists: Vec<Vec<Block>>,
    /// Positions of blocks that were freed in this execution.
    freed: Vec<Position>,
    /// The one that was looked for last: often it is the next that is.
    last: Position,
}

/// Index of a list, and index in it.
type Position = (usize, usize);

struct Shared(UnsafeCell<Blocks>);

// SAFETY: blocks are added under the heap's lock; everything else is done by the one OS thread that runs a
// check, whose program adds no blocks meanwhile.
unsafe impl Sync for Shared {}

static BLOCKS: Shared = Shared(UnsafeCell::new(Blocks {
    lists: Vec::new(),
    freed: Vec::new(),
    last: (0, 0),
}));

fn with<R>(use_them: impl FnOnce(&mut Blocks) -> R) -> R {
    // SAFETY: there must be no other reference: only one OS thread gets here at a time, as said above, and
    // `use_them` never calls `with`.
    use_them(unsafe { &mut *BLOCKS.0.get() })
}

fn runner() -> Option<ThreadId> {
    mode::is_guest().then(|| execution::running().thread())
}

/// A new block, under the heap's lock. The number with which it is found again.
pub(crate) fn add(start: usize, size: usize, site: usize) -> usize {
    let made = (site, runner());
    let made_before = made.1.map_or(0, |_| execution::running().events());
    let is_inside = mode::is_guest() && shadow_stack::region().is_inside();
    with(|blocks| {
        let list = list_at(start);
        if blocks.lists.len() <= list {
            blocks.lists.resize(list + 1, Vec::new());
        }
        blocks.lists[list].push(Block {
            start,
            size,
            made,
            made_before,
            freed: None,
            is_gone: false,
            is_inside,
        });
        blocks.lists[list].len() - 1
    })
}

/// An execution begins: freed blocks are there again, and none from this address on.
pub(crate) fn reset(next: usize) {
    with(|blocks| {
        let Some((first, others)) = blocks.lists.split_first_mut() else {
            return;
        };
        let left = first.partition_point(|block| block.start < next);
        first.truncate(left);
        others.iter_mut().for_each(Vec::clear);
        for (list, index) in blocks.freed.drain(..) {
            if let Some(block) = blocks.lists[list].get_mut(index) {
                (block.freed, block.is_gone) = (None, false);
            }
        }
    });
}

impl Blocks {
    /// The last block that begins at the address or before it.
    fn before(&mut self, address: usize) -> Option<Position> {
        let list = list_at(address);
        let blocks = self.lists.get(list)?;
        let (last_list, last) = self.last;
        if last_list == list
            && let [block, rest @ ..] = blocks.get(last..).unwrap_or_default()
            && block.start <= address
            && rest.first().is_none_or(|next| address < next.start)
        {
            return Some(self.last);
        }
        let after = blocks.partition_point(|block| block.start <= address);
        self.last = (list, after.checked_sub(1)?);
        Some(self.last)
    }

    /// The block that begins at an address and has this number, which the program may have overwritten.
    fn numbered(&mut self, address: usize, number: usize) -> Option<Position> {
        let position = (list_at(address), number);
        let block = self.lists.get(position.0)?.get(number)?;
        if block.start != address {
            return None;
        }
        self.last = position;
        Some(position)
    }

    fn at(&mut self, (list, index): Position) -> &mut Block {
        &mut self.lists[list][index]
    }
}

/// The list for an address.
fn list_at(address: usize) -> usize {
    thread_heaps::at(address).map_or(0, |heap| heap + 1)
}

/// The running thread frees a block, which should have this number, at a site; how large it is.
pub(crate) fn free(address: usize, number: usize, site: usize) -> Result<usize, Bad> {
    let thread = execution::running().thread();
    with(|blocks| {
        let numbered = blocks.numbered(address, number);
        let index = numbered.or_else(|| blocks.before(address));
        let index = index.ok_or(Bad::Outside)?;
        let block = blocks.at(index);
        if block.start != address {
            return Err(Bad::Outside);
        }
        if block.freed.is_some() {
            return Err(Bad::Freed);
        }
        block.freed = Some((site, thread));
        let size = block.size;
        blocks.freed.push(index);
        Ok(size)
    })
}

/// Makes further uses of the block errors.
pub(crate) fn is_freed(address: usize) {
    with(|blocks| {
        if let Some(index) = blocks.before(address) {
            blocks.at(index).is_gone = true;
        }
    });
}

/// Returns the error in the use of `size` bytes, if there is one.
pub(crate) fn check(address: usize, size: usize) -> Option<Bad> {
    if !heap_range::contains(address) {
        return None;
    }
    with(|blocks| {
        let Some(index) = blocks.before(address) else {
            return Some(Bad::Outside);
        };
        let block = blocks.at(index);
        match address + size <= block.start + block.size {
            true => block.is_gone.then_some(Bad::Freed),
            false => Some(Bad::Outside),
        }
    })
}

/// The block that an address is in, or just behind, and how far from its beginning.
pub(crate) fn find(address: usize) -> Option<(Block, usize)> {
    if !heap_range::contains(address) {
        return None;
    }
    with(|blocks| {
        let index = blocks.before(address)?;
        let block = *blocks.at(index);
        Some((block, address - block.start))
    })
}

/// True if the standard library of Rust has made it for itself.
pub(crate) fn is_inside(address: usize) -> bool {
    find(address).is_some_and(|(block, _)| block.is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    fn blocks(extents: &[(usize, usize)]) -> Blocks {
        let block = |&(start, size): &(usize, usize)| Block {
            start,
            size,
            made: (0, None),
            made_before: 0,
            freed: None,
            is_gone: false,
            is_inside: false,
        };
        Blocks {
            lists: vec![extents.iter().map(block).collect()],
            freed: Vec::new(),
            last: (0, 0),
        }
    }

    #[test]
    fn a_block_is_found_by_each_of_its_addresses() {
        let mut inputs = Inputs::new(8);
        for _ in 0..50 {
            let mut next = 0x1000;
            let extents: Vec<(usize, usize)> = (0..inputs.below(40))
                .map(|_| {
                    let start = next + inputs.below(64) as usize;
                    let size = inputs.below(100) as usize;
                    next = start + size + 1;
                    (start, size)
                })
                .collect();
            let mut blocks = blocks(&extents);
            for _ in 0..300 {
                let address = 0x0f00 + inputs.below(next as u64) as usize;
                let expected = extents.iter().rposition(|&(start, _)| start <= address);
                let found = blocks.before(address);
                assert_eq!(found, expected.map(|index| (0, index)), "{address:#x}");
            }
        }
    }

    #[test]
    fn a_number_that_was_overwritten_finds_no_block() {
        let mut blocks = blocks(&[(100, 10), (200, 10)]);
        assert_eq!(blocks.numbered(200, 1), Some((0, 1)));
        assert_eq!(blocks.numbered(200, 0), None);
        assert_eq!(blocks.numbered(201, 1), None);
        assert_eq!(blocks.numbered(200, usize::MAX), None);
    }
}
