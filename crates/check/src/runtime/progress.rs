//! The flags and counters that a check shares with the watchdog's OS thread.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering::Relaxed};

use super::Context;

/// Flag: the next operation cannot happen.
const FAULT: u8 = 1;
/// Flag: the execution is to be cut, because its time is over.
const CUT: u8 = 2;

/// Shows the watchdog that threads of the check reach scheduling points, and shows the check that its
/// time is over.
pub(crate) struct Progress {
    /// Changes whenever a thread of the check reaches a scheduling point; odd while no thread runs.
    /// Only the check's OS thread writes it, so no write needs to be atomic with a read.
    beats: AtomicU64,
    context: AtomicPtr<Context>,
    /// Reasons for which an operation is not performed as usual: one byte, so that a scheduling point
    /// looks at all of them at once.
    attention: AtomicU8,
    is_late: AtomicBool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Progress {
            beats: AtomicU64::new(1),
            context: AtomicPtr::default(),
            attention: AtomicU8::new(0),
            is_late: AtomicBool::new(false),
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

    /// True when the next operation is not to be performed as usual.
    #[inline(always)]
    pub(super) fn wants_attention(&self) -> bool {
        self.attention.load(Relaxed) != 0
    }

    /// Records that the next operation cannot happen.
    pub(super) fn set_fault(&self) {
        self.attention.fetch_or(FAULT, Relaxed);
    }

    /// True when the next operation cannot happen.
    pub(super) fn has_fault(&self) -> bool {
        self.attention.load(Relaxed) & FAULT != 0
    }

    /// Returns true if the next operation cannot happen, and forgets that.
    #[inline]
    pub(super) fn take_fault(&self) -> bool {
        self.wants_attention() && self.attention.fetch_and(!FAULT, Relaxed) & FAULT != 0
    }

    /// True when the time of the check is over: no further execution is to begin.
    #[inline]
    pub(crate) fn is_late(&self) -> bool {
        self.is_late.load(Relaxed)
    }

    /// Records that the time of the check is over.
    pub(crate) fn set_late(&self) {
        self.is_late.store(true, Relaxed);
    }

    /// Forgets a deadline that has passed, because another one is watched from now on.
    pub(crate) fn begin_again(&self) {
        self.attention.fetch_and(!CUT, Relaxed);
        self.is_late.store(false, Relaxed);
    }

    /// Asks the running execution to stop at its next scheduling point.
    pub(crate) fn cut(&self) {
        self.attention.fetch_or(CUT, Relaxed);
    }
}
