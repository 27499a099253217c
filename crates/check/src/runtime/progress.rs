//! That a check goes on, for the watchdog to see from its own OS thread.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::Context;

/// Changes whenever a thread of the check comes to a scheduling point; odd while no thread runs.
///
/// Only the check's OS thread writes, so that no write needs to be one step with a read.
pub(crate) struct Progress {
    beats: AtomicU64,
    context: AtomicPtr<Context>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Progress {
            beats: AtomicU64::new(1),
            context: AtomicPtr::default(),
        }
    }

    /// The running thread has come to a scheduling point.
    #[inline(always)]
    pub(super) fn beat(&self) {
        self.beats.store(self.beats.load(Relaxed) + 2, Relaxed);
    }

    /// A thread is about to run.
    #[inline(always)]
    pub(super) fn begin(&self) {
        self.beats.store(self.beats.load(Relaxed) + 1, Relaxed);
    }

    /// It runs no longer.
    #[inline(always)]
    pub(super) fn end(&self) {
        self.begin();
    }

    /// Where the check is, as long as its OS thread does not go on.
    pub(super) fn show(&self, context: &Context) {
        let context = std::ptr::from_ref(context).cast_mut();
        self.context.store(context, Relaxed);
    }

    pub(crate) fn context(&self) -> *const Context {
        self.context.load(Relaxed)
    }

    /// What is another number when the check has come on; nothing while no thread runs.
    pub(crate) fn seen(&self) -> Option<u64> {
        Some(self.beats.load(Relaxed)).filter(|beats| beats % 2 == 0)
    }
}
