//! Which location or object of the running execution a controlled value is.
//!
//! Given out at first use in an execution and kept inside the value itself, so it moves with the
//! value and is new when the value is; addresses, which move and are reused, play no part. A stamp
//! that is different for every execution in the process tells a present identity from an old one.
//!
//! A value that several checks use at the same time (captured by a closure, say) is the exception:
//! they overwrite each other's identity. Such a value was made outside the execution, so it stays
//! where it is while the execution lasts, and its address is good enough to find it again.
//!
//! A static keeps the identity it was built with: see [`statics`](crate::runtime::statics).

use std::sync::atomic::{AtomicU64, Ordering};

const INDEX_BITS: u32 = 24;
/// Of a value that no execution has used. Not zero, so that a value which the compiler built can be
/// told from memory that was empty when the program started.
pub(crate) const FRESH: u64 = 0xadd1e5;

/// What is found where a value was, in every byte: after it was freed, and before it is made
/// ([`crate::runtime::alloc`]).
pub(crate) const FREED: u8 = 0xdb;
pub(crate) const UNMADE: u8 = 0xa5;
/// Added to the identity of a value that was dropped.
const DROPPED: u64 = 1 << 63;

/// What is wrong with a value.
#[derive(Clone, Copy)]
pub(crate) enum Gone {
    Freed,
    Dropped,
    NeverMade,
}

/// The place in a controlled value where the running execution writes down which one it is.
pub struct Identity(AtomicU64);

impl Identity {
    /// Of a value that no execution has used.
    #[expect(clippy::new_without_default, reason = "values are made in constants")]
    #[inline]
    pub const fn new() -> Self {
        Identity(AtomicU64::new(FRESH))
    }

    /// The index this value has in the execution with this stamp, if it has one.
    #[inline]
    pub(crate) fn get(&self, stamp: u64) -> Option<usize> {
        let value = self.0.load(Ordering::Relaxed);
        (value >> INDEX_BITS == stamp).then_some((value & ((1 << INDEX_BITS) - 1)) as usize)
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

    /// Whether some execution has used the value, be it this or another one.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FRESH
    }

    /// Whether there is no value here, as far as can be told. Asked before a first use.
    #[inline]
    pub(crate) fn is_gone(&self, stamp: u64) -> Option<Gone> {
        const FREED_WORD: u64 = u64::from_ne_bytes([FREED; 8]);
        const UNMADE_WORD: u64 = u64::from_ne_bytes([UNMADE; 8]);
        match self.0.load(Ordering::Relaxed) {
            FRESH => None,
            FREED_WORD => Some(Gone::Freed),
            UNMADE_WORD | 0 => Some(Gone::NeverMade),
            value if value & DROPPED != 0 => {
                let value = value & !DROPPED;
                let known = value == FRESH || value >> INDEX_BITS == stamp;
                known.then_some(Gone::Dropped)
            }
            _ => None,
        }
    }

    /// There is no value here from now on, if the execution with this stamp can tell.
    pub(crate) fn drop_in(&self, stamp: u64) {
        let value = self.0.load(Ordering::Relaxed);
        if value == FRESH || value >> INDEX_BITS == stamp {
            self.0.store(value | DROPPED, Ordering::Relaxed);
        }
    }

    /// Tells values apart that were made outside the execution.
    #[inline]
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// The next use is the first again.
    #[inline]
    pub fn forget(&self) {
        self.0.store(FRESH, Ordering::Relaxed);
    }
}

/// Stamps are reserved in blocks, so that checks running side by side do not fight over the
/// counter.
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(0);
const BLOCK: u64 = 1 << 12;

/// Gives out stamps that no other execution in the process has.
pub(crate) struct Stamps {
    next: u64,
    end: u64,
}

impl Stamps {
    pub(crate) const fn new() -> Self {
        Stamps { next: 0, end: 0 }
    }

    pub(crate) fn next(&mut self) -> u64 {
        if self.next == self.end {
            self.next = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
            self.end = self.next + BLOCK;
        }
        self.next += 1;
        self.next
    }
}
