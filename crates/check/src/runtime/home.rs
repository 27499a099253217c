//! The fixed address of a coroutine while it runs.
//!
//! A running coroutine may start others, so the table of threads can grow and move while one of its
//! entries is being resumed. A resumed coroutine must not move; hence the box. Boxes are reused.

use std::cell::UnsafeCell;

use corosensei::CoroutineResult;
use corosensei::stack::DefaultStack;

use super::coroutine::{Coroutine, Exit};
use super::stacks::OwnedStack;

/// Storage for one coroutine. Except for [`Home::put`], which fills an empty home, all methods are
/// called only by the loop that switches coroutines, while none runs on this OS thread.
pub(super) struct Home(Box<UnsafeCell<Inside>>);

#[derive(Default)]
struct Inside {
    coroutine: Option<Coroutine>,
    /// The stack that the coroutine borrows. It is not in the coroutine, because moving that with its stack
    /// out of here at the end of a thread stalled the processor.
    stack: Option<OwnedStack>,
}

impl Drop for Home {
    /// Forgets the coroutine. Only a panic inside raddle leaves one here. Unwinding it would run
    /// user code without its check.
    fn drop(&mut self) {
        let Inside { coroutine, stack } = self.0.get_mut();
        if coroutine.is_some() {
            std::mem::forget((coroutine.take(), stack.take()));
        }
    }
}

impl Home {
    pub(super) fn new() -> Self {
        Home(Box::default())
    }

    /// Makes a coroutine on this stack.
    ///
    /// # Safety
    ///
    /// The coroutine must not use the stack after it has ended or was taken out.
    #[inline(always)]
    pub(super) unsafe fn put(
        &self,
        stack: OwnedStack,
        make: impl FnOnce(&'static mut DefaultStack) -> Coroutine,
    ) -> &Coroutine {
        // SAFETY: an empty home is not being resumed, so no other reference to its inside exists.
        let Inside {
            coroutine,
            stack: place,
        } = unsafe { &mut *self.0.get() };
        debug_assert!(coroutine.is_none() && place.is_none());
        // SAFETY: the stack stays here until the coroutine has ended or is taken out.
        let borrowed = unsafe { stack.borrow() };
        *place = Some(stack);
        coroutine.insert(make(borrowed))
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        // SAFETY: no coroutine runs, so no other reference to the inside exists.
        unsafe { (*self.0.get()).coroutine.is_none() }
    }

    /// Takes the coroutine out, with its stack.
    pub(super) fn take(&self) -> Option<(Coroutine, OwnedStack)> {
        // SAFETY: no coroutine runs, so no other reference to the inside exists.
        let inside = unsafe { &mut *self.0.get() };
        Option::zip(inside.coroutine.take(), inside.stack.take())
    }

    /// Returns a reference that stays valid while the table of threads changes.
    pub(super) fn pin(&self) -> Pinned {
        Pinned(self.0.get())
    }
}

/// The inside of a home.
pub(super) struct Pinned(*mut Inside);

impl Pinned {
    /// Runs the coroutine until it suspends itself, or ends and is removed; then returns its stack.
    ///
    /// # Safety
    ///
    /// The home must be alive until this returns, with no other use of it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn resume(self) -> (CoroutineResult<(), Exit>, Option<OwnedStack>) {
        // SAFETY: the caller guarantees that the home is alive and not used elsewhere.
        let Inside { coroutine, stack } = unsafe { &mut *self.0 };
        let running = coroutine
            .as_mut()
            .expect("raddle: a thread that ended was run");
        let result = running.resume(());
        let ended = match result {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(_) => {
                *coroutine = None;
                stack.take()
            }
        };
        (result, ended)
    }
}
