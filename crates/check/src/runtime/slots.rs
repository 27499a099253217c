//! The table of the threads of an execution.
//!
//! Its places outlive executions, so that starting a thread neither allocates nor moves an entry: a move
//! reads in large parts what was written in small ones, which stalls the processor.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use raddle_engine::ThreadId;

use super::abandon::AfterStop;
use super::clock::Clock;
use super::coroutine::Slot;
use super::identity::Identity;
use super::switch::Home;

/// The threads of the execution, by [`ThreadId`], as a slice.
#[derive(Default)]
pub(super) struct Slots {
    /// The threads, and unused places after them.
    places: Vec<Slot>,
    len: usize,
}

impl Slots {
    /// Adds a thread without a coroutine.
    #[inline(always)]
    pub(super) fn add(&mut self, thread: ThreadId, name: Option<Arc<str>>, clock: Clock) {
        debug_assert_eq!(self.len, thread.index());
        if self.len == self.places.len() {
            self.grow();
        }
        let slot = &mut self.places[self.len];
        self.len += 1;
        slot.end_of_stack = std::ptr::null();
        slot.name = name;
        slot.unwinding = false;
        slot.counted = false;
        slot.parker = Identity::new();
        slot.clock = clock;
        slot.after_stop = AfterStop::default();
    }

    /// Removes all threads. Their names may be in memory that is freed after the execution.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        for slot in &mut self.places[..self.len] {
            if slot.name.is_some() {
                slot.name = None;
            }
        }
        self.len = 0;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.places.push(Slot {
            home: Home::new(),
            end_of_stack: std::ptr::null(),
            name: None,
            unwinding: false,
            counted: false,
            parker: Identity::new(),
            clock: Clock::default(),
            after_stop: AfterStop::default(),
        });
    }
}

impl Deref for Slots {
    type Target = [Slot];

    #[inline(always)]
    fn deref(&self) -> &[Slot] {
        &self.places[..self.len]
    }
}

impl DerefMut for Slots {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Slot] {
        &mut self.places[..self.len]
    }
}
