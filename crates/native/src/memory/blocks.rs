//! Blocks of the heap that the program has allocated and freed.
//!
//! No memory is used twice in one execution, so each use of a freed block is found. Each use of
//! memory between two blocks is found too.

use std::cell::UnsafeCell;

use raddle_engine::ThreadId;

use super::{heap_range, thread_heaps};
use crate::execution::{self, shadow_stack};
use crate::host::mode;

/// A block of the heap.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    start: usize,
    pub(crate) size: usize,
    /// Site and thread of the allocation; no thread before a check begins.
    pub(crate) made: (usize, Option<ThreadId>),
    /// Index of the next event of that thread.
    pub(crate) made_before: u32,
    pub(crate) freed: Option<(usize, ThreadId)>,
    /// True if further uses are errors.
    is_gone: bool,
    /// True if Rust's standard library has allocated it for itself.
    pub(crate) is_inside: bool,
}

/// Errors in the use of memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The block at the address was freed.
    Freed,
    /// No block is at the address.
    Outside,
    /// The address is on the stack of a thread that has ended.
    Ended,
}

/// The verb for freeing a block.
pub(crate) const FREES: &str = "frees";
/// The verb for `realloc`, which frees a block.
pub(crate) const RESIZES: &str = "resizes";

struct Blocks {
    /// Blocks by address: those of the first thread, and those of each thread heap.
    lists: Vec<Vec<Block>>,
    /// Positions of blocks that were freed in this execution.
    freed: Vec<Position>,
    /// Positions of blocks that were freed before executions begin.
    freed_before: Vec<Position>,
    /// Position of the last search, which is often that of the next.
    last: Position,
}

/// Index of a list, and index in it.
type Position = (usize, usize);

struct Shared(UnsafeCell<Blocks>);

// SAFETY: `Sync` needs exclusion: blocks are added under the heap's lock, and all other accesses
// are by the one OS thread that runs a check, whose program adds no blocks meanwhile.
unsafe impl Sync for Shared {}

static BLOCKS: Shared = Shared(UnsafeCell::new(Blocks {
    lists: Vec::new(),
    freed: Vec::new(),
    freed_before: Vec::new(),
    last: (0, 0),
}));

fn with<R>(use_them: impl FnOnce(&mut Blocks) -> R) -> R {
    // SAFETY: there must be no other reference: only one OS thread gets here at a time, by the
    // argument for `Sync`, and `use_them` never calls `with`.
    use_them(unsafe { &mut *BLOCKS.0.get() })
}

fn runner() -> Option<ThreadId> {
    mode::is_guest().then(|| execution::running().thread())
}

/// Under the heap's lock: adds a block; returns its number.
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

/// Resets the blocks at the beginning of an execution: freed ones are in use again, and those from
/// this address on are removed.
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

/// Executions begin with the current blocks: those that are freed now are not in use again.
pub(crate) fn keep_freed() {
    with(|blocks| {
        blocks.freed_before.append(&mut blocks.freed);
    });
}

/// Executions begin as before [`keep_freed`].
pub(crate) fn go_back() {
    with(|blocks| {
        blocks.freed.append(&mut blocks.freed_before);
    });
}

impl Blocks {
    /// Returns the last block that begins at or before the address.
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

    /// Returns the block with this number, if it begins at the address. The program may have
    /// overwritten the number.
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

/// Returns the index of the list for an address.
fn list_at(address: usize) -> usize {
    thread_heaps::at(address).map_or(0, |heap| heap + 1)
}

/// Records that the running thread frees the block at this address, whose number should be
/// `number`. Returns its size.
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

/// True if a block begins at an address that was freed.
pub(crate) fn was_freed(address: usize) -> bool {
    find(address).is_some_and(|(block, offset)| offset == 0 && block.freed.is_some())
}

/// Returns the block that the address is in, or just behind, and the offset from its start.
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

/// True if Rust's standard library has allocated the block for itself.
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
            freed_before: Vec::new(),
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
