//! State that outlives executions.

use std::cell::{RefCell, RefMut};

/// A value of the process, which only the OS thread that runs the check uses. Threads of the program take
/// turns on that thread, and other OS threads are turned away before they come here
/// ([`is_guest`](super::mode::is_guest)).
///
/// It is not reset between executions. State of one execution is a [part](crate::execution::part::Part) of
/// that instead.
pub(crate) struct ProcessState<T>(RefCell<T>);

// SAFETY: only the OS thread that runs the check accesses the value, as said above.
unsafe impl<T> Sync for ProcessState<T> {}

impl<T> ProcessState<T> {
    pub(crate) const fn new(value: T) -> Self {
        ProcessState(RefCell::new(value))
    }

    /// Returns the value, unless a signal handler of the program's has interrupted a use of it.
    #[inline]
    pub(crate) fn try_get(&self) -> Option<RefMut<'_, T>> {
        self.0.try_borrow_mut().ok()
    }

    /// Returns the value. It must be given back before another thread of the program can run.
    #[inline]
    pub(crate) fn get(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}
