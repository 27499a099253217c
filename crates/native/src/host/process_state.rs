//! State that outlives executions.

use std::cell::{RefCell, RefMut};

/// A value of the process, which only the OS thread that runs the check uses. Threads of the
/// program take turns on that thread, and [`is_guest`](super::mode::is_guest) excludes other OS
/// threads before they come here.
///
/// It is not reset between executions. State of one execution is a [part](crate::execution::part::Part) of
/// that instead.
pub(crate) struct ProcessState<T>(RefCell<T>);

// SAFETY: `Sync` needs exclusion between threads: only the OS thread that runs the check accesses
// the value.
unsafe impl<T> Sync for ProcessState<T> {}

impl<T> ProcessState<T> {
    pub(crate) const fn new(value: T) -> Self {
        ProcessState(RefCell::new(value))
    }

    /// Returns the value, or nothing inside a signal handler of the program's that has interrupted
    /// a use of it.
    #[inline]
    pub(crate) fn try_get(&self) -> Option<RefMut<'_, T>> {
        self.0.try_borrow_mut().ok()
    }

    /// Returns the value. The guard must be dropped before another thread of the program can run.
    #[inline]
    pub(crate) fn get(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}
