//! A counter that shows the progress of a check to the watchdog's OS thread.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use super::Context;

/// Changes whenever a thread of the check reaches a scheduling point; odd while no thread runs.
///
/// Only the check's OS thread writes, so no write needs to be atomic with a read.
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

    /// Records that the running thread has reached a scheduling point.
    #[inline(always)]
    pub(super) fn beat(&self) {
        self.beats.store(self.beats.load(Relaxed) + 2, Relaxed);
    }

    /// Records that a thread is about to run.
    #[inline(always)]
    pub(super) fn begin(&self) {
        self.beats.store(self.beats.load(Relaxed) + 1, Relaxed);
    }

    /// Records that no thread runs any more.
    #[inline(always)]
    pub(super) fn end(&self) {
        self.begin();
    }

    /// Publishes the context, which is valid while the check's OS thread is stopped.
    pub(super) fn show(&self, context: &Context) {
        let context = std::ptr::from_ref(context).cast_mut();
        self.context.store(context, Relaxed);
    }

    pub(crate) fn context(&self) -> *const Context {
        self.context.load(Relaxed)
    }

    /// Returns a number that changes with progress; `None` while no thread runs.
    pub(crate) fn seen(&self) -> Option<u64> {
        Some(self.beats.load(Relaxed)).filter(|beats| beats % 2 == 0)
    }
}
