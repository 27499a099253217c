//! The fixed address of a coroutine while it runs.
//!
//! A running coroutine may start others, so the table of threads can grow and move while one of its
//! entries is being resumed. A resumed coroutine must not move; hence the box. Boxes are reused.

use std::cell::UnsafeCell;

use corosensei::CoroutineResult;

use super::coroutine::{Coroutine, Exit};

/// Storage for one coroutine. Except for [`Home::put`], which fills an empty home, all methods are
/// called only by the loop that switches coroutines, while none runs on this OS thread.
pub(super) struct Home(Box<UnsafeCell<Option<Coroutine>>>);

impl Drop for Home {
    /// Forgets the coroutine. Only a panic inside raddle leaves one here. Unwinding it would run
    /// user code without its check.
    fn drop(&mut self) {
        std::mem::forget(self.0.get_mut().take());
    }
}

impl Home {
    pub(super) fn new() -> Self {
        Home(Box::new(UnsafeCell::new(None)))
    }

    pub(super) fn put(&self, coroutine: Coroutine) {
        // SAFETY: an empty home is not being resumed, so no other reference to its inside exists.
        unsafe { *self.0.get() = Some(coroutine) };
    }

    pub(super) fn is_empty(&self) -> bool {
        // SAFETY: no coroutine runs, so no other reference to the inside exists.
        unsafe { (*self.0.get()).is_none() }
    }

    pub(super) fn take(&self) -> Option<Coroutine> {
        // SAFETY: no coroutine runs, so no other reference to the inside exists.
        unsafe { (*self.0.get()).take() }
    }

    /// Returns a reference that stays valid while the table of threads changes.
    pub(super) fn pin(&self) -> Pinned {
        Pinned(self.0.get())
    }
}

/// The inside of a home.
pub(super) struct Pinned(*mut Option<Coroutine>);

impl Pinned {
    /// Runs the coroutine until it suspends itself, or ends and is taken out.
    ///
    /// # Safety
    ///
    /// The home must be alive until this returns, with no other use of it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn resume(self) -> (CoroutineResult<(), Exit>, Option<Coroutine>) {
        // SAFETY: the caller guarantees that the home is alive and not used elsewhere.
        let home = unsafe { &mut *self.0 };
        let coroutine = home.as_mut().expect("raddle: a thread that ended was run");
        let result = coroutine.resume(());
        let ended = match result {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(_) => home.take(),
        };
        (result, ended)
    }
}
