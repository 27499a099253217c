//! The identity of a controlled value: its location or object in the running execution.
//!
//! It is assigned at the first use in an execution and stored inside the value, so it moves with
//! the value and is new when the value is. Addresses, which move and are reused, play no part. A
//! stamp that differs for every execution in the process distinguishes a present identity from an
//! old one.
//!
//! A value that several checks use at the same time, such as a capture of a closure, is the
//! exception: the checks overwrite each other's identity. Such a value was made outside the
//! execution, so it does not move during the execution, and its address identifies it.
//!
//! A static keeps the identity it was built with: see [`statics`](crate::runtime::statics). A thread
//! outside checks leaves a mark while checks run: see `foreign.rs`.

use std::sync::atomic::{AtomicU64, Ordering};

const INDEX_BITS: u32 = 24;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
/// The identity of a value that no execution has used. Not zero, so that a value built by the
/// compiler differs from memory that was zero at program start.
pub(crate) const FRESH: u64 = 0xadd1e5;

/// Every byte of freed memory, and of memory before a value is made there
/// ([`crate::runtime::alloc`]).
pub(crate) const FREED: u8 = 0xdb;
pub(crate) const UNMADE: u8 = 0xa5;
/// Flag in the identity of a dropped value.
const DROPPED: u64 = 1 << 63;
/// Flag in an identity that has a mark instead of a stamp.
const MARKED: u64 = 1 << 62;

/// The reason why an execution may not be able to use a value.
#[derive(Clone, Copy)]
pub(crate) enum Refusal {
    Freed,
    Dropped,
    NeverMade,
    /// A foreign thread has used it.
    Marked(Mark),
}

/// The mark of a foreign thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// Numbers marks in the order in which they are left.
    pub(crate) number: u64,
    /// The index of the operation that left it, in less than 24 bits.
    pub(crate) touch: usize,
}

/// The part of a controlled value where the running execution stores its identity.
pub struct Identity(AtomicU64);

impl Identity {
    /// The identity of a value that no execution has used.
    #[expect(clippy::new_without_default, reason = "values are made in constants")]
    #[inline]
    pub const fn new() -> Self {
        Identity(AtomicU64::new(FRESH))
    }

    /// Returns the index of this value in the execution with this stamp, if it has one.
    #[inline]
    pub(crate) fn get(&self, stamp: u64) -> Option<usize> {
        let value = self.0.load(Ordering::Relaxed);
        (value >> INDEX_BITS == stamp).then_some((value & INDEX_MASK) as usize)
    }

    #[inline]
    pub(crate) fn set(&self, stamp: u64, index: usize) {
        assert!(
            index < 1 << INDEX_BITS,
            "raddle: more than 2^24 objects in one execution"
        );
        self.0
            .store(stamp << INDEX_BITS | index as u64, Ordering::Relaxed);
    }

    /// True when an execution has used the value, this one or another.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FRESH
    }

    /// Returns the reason why the value cannot be used, if known. Called before a first use.
    #[inline]
    pub(crate) fn refusal(&self, stamp: u64) -> Option<Refusal> {
        const FREED_WORD: u64 = u64::from_ne_bytes([FREED; 8]);
        const UNMADE_WORD: u64 = u64::from_ne_bytes([UNMADE; 8]);
        match self.0.load(Ordering::Relaxed) {
            FRESH => None,
            FREED_WORD => Some(Refusal::Freed),
            UNMADE_WORD | 0 => Some(Refusal::NeverMade),
            value if value & DROPPED != 0 => {
                let value = value & !DROPPED;
                let known = value == FRESH || value >> INDEX_BITS == stamp;
                known.then_some(Refusal::Dropped)
            }
            value => Self::mark_in(value).map(Refusal::Marked),
        }
    }

    /// Returns the value as it is.
    pub(crate) fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the stamp of the execution that used the value last, and its index there.
    pub(crate) fn stamp_and_index(&self) -> Option<(u64, usize)> {
        let value = self.peek();
        let is_stamped = value != FRESH && value != 0 && value & (DROPPED | MARKED) == 0;
        is_stamped.then_some((value >> INDEX_BITS, (value & INDEX_MASK) as usize))
    }

    /// True when a foreign thread may leave a mark: there is a value here.
    pub(crate) fn may_be_marked(&self) -> bool {
        let value = self.peek();
        value != 0 && value & DROPPED == 0
    }

    /// True when a foreign thread has left a mark.
    pub(crate) fn is_marked(&self) -> bool {
        Self::mark_in(self.peek()).is_some()
    }

    fn mark_in(value: u64) -> Option<Mark> {
        (value & (DROPPED | MARKED) == MARKED).then_some(Mark {
            number: (value & !MARKED) >> INDEX_BITS,
            touch: (value & INDEX_MASK) as usize,
        })
    }

    /// Leaves a mark, unless the value is not `seen` any more.
    pub(crate) fn mark(&self, seen: u64, mark: Mark) -> bool {
        let value = MARKED | mark.number << INDEX_BITS | mark.touch as u64;
        let relaxed = Ordering::Relaxed;
        (self.0.compare_exchange(seen, value, relaxed, relaxed)).is_ok()
    }

    /// Marks the value as dropped in the execution with this stamp.
    pub(crate) fn drop_in(&self, stamp: u64) {
        let value = self.0.load(Ordering::Relaxed);
        if value == FRESH || value >> INDEX_BITS == stamp {
            self.0.store(value | DROPPED, Ordering::Relaxed);
        }
    }

    /// Returns the address, which identifies values made outside the execution.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Removes the identity, so that the next use is a first use.
    #[inline]
    pub fn forget(&self) {
        self.0.store(FRESH, Ordering::Relaxed);
    }
}

/// Stamps are reserved in blocks, so that parallel checks do not contend for the counter.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0);
const BLOCK: u64 = 1 << 12;

/// Assigns stamps that are unique in the process.
pub(crate) struct Stamps {
    next: u64,
    end: u64,
}

impl Stamps {
    pub(crate) const fn new() -> Self {
        Stamps { next: 0, end: 0 }
    }

    /// Returns the next stamp; `reserve` is given the number of each new block.
    pub(crate) fn next(&mut self, reserve: impl FnOnce(u64)) -> u64 {
        if self.next == self.end {
            self.next = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
            self.end = self.next + BLOCK;
            reserve(self.next / BLOCK);
        }
        self.next += 1;
        self.next
    }
}

/// Returns the number of the block that a stamp is in; `None` for the stamp of no execution.
pub(crate) fn block(stamp: u64) -> Option<u64> {
    stamp.checked_sub(1).map(|stamp| stamp / BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_neither_a_stamp_nor_a_fault() {
        let identity = Identity::new();
        assert!(identity.stamp_and_index().is_none());
        let mark = Mark {
            number: 12,
            touch: 34,
        };
        assert!(identity.mark(FRESH, mark));
        assert!(!identity.mark(FRESH, mark), "it is not fresh any more");
        assert!(identity.is_marked() && identity.stamp_and_index().is_none());
        assert!(matches!(identity.refusal(12), Some(Refusal::Marked(found)) if found == mark));
        assert_eq!(identity.get(12), None);
        identity.set(7, 5);
        assert_eq!(identity.stamp_and_index(), Some((7, 5)));
        identity.drop_in(7);
        assert!(!identity.may_be_marked() && identity.stamp_and_index().is_none());
    }

    #[test]
    fn stamps_are_in_the_block_that_was_reserved_for_them() {
        let mut stamps = Stamps::new();
        let mut reserved = None;
        for _ in 0..2 * BLOCK + 2 {
            let stamp = stamps.next(|block| reserved = Some(block));
            assert_eq!(block(stamp), reserved);
        }
    }
}
