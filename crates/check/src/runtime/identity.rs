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
//! A static keeps the identity it was built with: see [`statics`](crate::runtime::statics).

use std::sync::atomic::{AtomicU64, Ordering};

const INDEX_BITS: u32 = 24;
/// The identity of a value that no execution has used. Not zero, so that a value built by the
/// compiler differs from memory that was zero at program start.
pub(crate) const FRESH: u64 = 0xadd1e5;

/// Every byte of freed memory, and of memory before a value is made there
/// ([`crate::runtime::alloc`]).
pub(crate) const FREED: u8 = 0xdb;
pub(crate) const UNMADE: u8 = 0xa5;
/// Flag in the identity of a dropped value.
const DROPPED: u64 = 1 << 63;

/// The reason why a value does not exist.
#[derive(Clone, Copy)]
pub(crate) enum Gone {
    Freed,
    Dropped,
    NeverMade,
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

    /// True when an execution has used the value, this one or another.
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FRESH
    }

    /// Returns why there is no value here, as far as known. Called before a first use.
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

    pub(crate) fn next(&mut self) -> u64 {
        if self.next == self.end {
            self.next = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
            self.end = self.next + BLOCK;
        }
        self.next += 1;
        self.next
    }
}
