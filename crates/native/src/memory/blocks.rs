//! What the program has asked for on the heap, and what became of it.
//!
//! No memory is used twice in one execution, so whoever uses a block that was freed is found out. So is
//! who uses what lies between two blocks.

use std::cell::UnsafeCell;

use raddle_engine::ThreadId;

use super::{heap, thread_heaps};
use crate::engine::made_at;
use crate::execution;
use crate::host::mode;
use crate::names::{regions, symbols};

/// A piece of the heap.
#[derive(Clone, Copy)]
struct Block {
    start: usize,
    size: usize,
    /// Where it was asked for, and by whom; nobody before a check begins.
    made: (usize, Option<ThreadId>),
    freed: Option<(usize, ThreadId)>,
    /// Whether nobody must use it any more.
    is_gone: bool,
    /// Whether the standard library of Rust has made it for itself.
    is_inside: bool,
}

/// What is wrong with an access of the heap.
#[derive(Clone, Copy)]
pub(crate) enum Bad {
    /// What was there was freed.
    Freed,
    /// There is no such piece.
    Outside,
}

struct Blocks {
    /// In the order of their addresses: the first thread's, and those of each lane.
    lists: Vec<Vec<Block>>,
    /// Those that were freed in this execution.
    freed: Vec<Position>,
    /// The one that was looked for last: often it is the next that is.
    last: Position,
}

/// Which list, and where in it.
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
    // SAFETY: as said above, and `use_them` is never code that comes here again.
    use_them(unsafe { &mut *BLOCKS.0.get() })
}

fn runner() -> Option<ThreadId> {
    mode::is_guest().then(|| execution::running().thread())
}

/// A new block, under the heap's lock. The number with which it is found again.
pub(crate) fn add(start: usize, size: usize, site: usize) -> usize {
    let made = (site, runner());
    let is_inside = mode::is_guest() && regions::is_inside();
    with(|blocks| {
        let list = list_at(start);
        if blocks.lists.len() <= list {
            blocks.lists.resize(list + 1, Vec::new());
        }
        blocks.lists[list].push(Block {
            start,
            size,
            made,
            freed: None,
            is_gone: false,
            is_inside,
        });
        blocks.lists[list].len() - 1
    })
}

/// An execution begins: what was freed is there again, and nothing from this address on.
pub(crate) fn reset(next: usize) {
    with(|blocks| {
        let Some((first, lanes)) = blocks.lists.split_first_mut() else {
            return;
        };
        let left = first.partition_point(|block| block.start < next);
        first.truncate(left);
        lanes.iter_mut().for_each(Vec::clear);
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
    thread_heaps::at(address).map_or(0, |lane| lane + 1)
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

/// From now on nobody must use it.
pub(crate) fn is_freed(address: usize) {
    with(|blocks| {
        if let Some(index) = blocks.before(address) {
            blocks.at(index).is_gone = true;
        }
    });
}

/// What is wrong with the use of so many bytes.
pub(crate) fn check(address: usize, size: usize) -> Option<Bad> {
    if !heap::is_ours(address) {
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
fn find(address: usize) -> Option<(Block, usize)> {
    if !heap::is_ours(address) {
        return None;
    }
    with(|blocks| {
        let index = blocks.before(address)?;
        let block = *blocks.at(index);
        Some((block, address - block.start))
    })
}

/// Whether the standard library of Rust has made it for itself.
pub(crate) fn is_inside(address: usize) -> bool {
    find(address).is_some_and(|(block, _)| block.is_inside)
}

/// A short name for what is at an address.
pub(crate) fn name(address: usize) -> Option<String> {
    let (block, offset) = find(address)?;
    let place = symbols::place(block.made.0)?;
    let file = place.file.rsplit('/').next().unwrap_or_default();
    let plus = |offset| match offset {
        0 => String::new(),
        offset => format!("+{offset}"),
    };
    if regions::is_rust()
        && let Some((name, call)) = made_at(&place)
    {
        // Before what is shared are the counts of who shares it.
        let counts = if call.starts_with("Arc") { COUNTS } else { 0 };
        let offset = plus(offset.checked_sub(counts).unwrap_or(offset));
        let name = name.unwrap_or_else(|| format!("{call} of {file}:{}", place.line));
        return Some(name + &offset);
    }
    let at = plus(offset);
    Some(format!("block of {file}:{}{at}", place.line))
}

/// The size of the counts of an `Arc`.
const COUNTS: usize = 16;

fn bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// What is at an address, in words.
pub(crate) fn describe(address: usize) -> Option<String> {
    let (block, offset) = find(address)?;
    let at = |site: usize| {
        let place = symbols::place(site);
        place.map_or(String::new(), |place| {
            format!(" at {}:{}", place.file, place.line)
        })
    };
    let by = |thread: Option<ThreadId>| {
        let name = thread.and_then(|thread| Some(execution::if_running()?.title(thread)));
        name.map_or(String::new(), |name| format!(" by {name}"))
    };
    let mut text = match offset {
        _ if offset == block.size => "just behind the end of".to_owned(),
        _ if offset > block.size => format!("{} behind the end of", bytes(offset - block.size)),
        0 => "the beginning of".to_owned(),
        _ => format!("at offset {offset} of"),
    };
    let (made, maker) = block.made;
    text += &format!(
        " a block of {}, made{}{}",
        bytes(block.size),
        at(made),
        by(maker)
    );
    if let Some((site, thread)) = block.freed {
        text += &format!(", freed{}{}", at(site), by(Some(thread)));
    }
    Some(text)
}
