//! State that only the OS thread which runs the check uses.

use std::cell::{RefCell, RefMut};

/// A value that belongs to the check. Threads of the program take turns on one OS thread, and other
/// OS threads are turned away before they come here ([`crate::host::mode::is_guest`]).
pub(crate) struct Solo<T>(RefCell<T>);

// SAFETY: as said above, only one OS thread gets here.
unsafe impl<T> Sync for Solo<T> {}

impl<T> Solo<T> {
    pub(crate) const fn new(value: T) -> Self {
        Solo(RefCell::new(value))
    }

    /// The value, unless a signal handler of the program's has interrupted somebody who has it.
    #[inline]
    pub(crate) fn try_get(&self) -> Option<RefMut<'_, T>> {
        self.0.try_borrow_mut().ok()
    }

    /// The value. Must be given back before another thread of the program can run.
    #[inline]
    pub(crate) fn get(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}
