//! State of one execution.
//!
//! A module with state of an execution implements [`Part`] for it, and accesses it through a
//! [`PartCell`]. All parts are fields of one value, `PerExecution` in `check/per_execution.rs`, and
//! are replaced when an execution begins. A part that is not one of its fields cannot be used, so
//! no part keeps an old value. State that outlives executions is a
//! [`ProcessState`](crate::host::process_state::ProcessState).

use std::cell::{RefCell, RefMut};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// State of a module during one execution. An execution begins with the default value.
pub(crate) trait Part: Default {
    /// Resets the state to that at the beginning of an execution. Parts on hot paths keep their
    /// allocations.
    fn renew(&mut self) {
        *self = Self::default();
    }
}

/// Access to a part of the running execution.
pub(crate) struct PartCell<T>(AtomicPtr<RefCell<T>>);

impl<T> PartCell<T> {
    pub(crate) const fn new() -> Self {
        PartCell(AtomicPtr::new(null_mut()))
    }

    /// Makes the cell refer to this part. Only the OS thread that runs the check uses it, as with
    /// [`ProcessState`](crate::host::process_state::ProcessState).
    pub(crate) fn install(&self, part: &'static RefCell<T>) {
        self.0.store(std::ptr::from_ref(part).cast_mut(), Relaxed);
    }

    #[inline]
    fn cell(&self) -> Option<&'static RefCell<T>> {
        // SAFETY: the pointer is null or comes from a `&'static` reference.
        unsafe { self.0.load(Relaxed).as_ref() }
    }

    /// Returns the part, or nothing if no execution has begun or a signal handler of the program's
    /// has interrupted a use of it.
    #[inline]
    pub(crate) fn try_get(&self) -> Option<RefMut<'static, T>> {
        self.cell()?.try_borrow_mut().ok()
    }

    /// Returns the part. The guard must be dropped before another thread of the program can run.
    #[inline]
    pub(crate) fn get(&self) -> RefMut<'static, T> {
        let cell = self.cell().expect("raddle: a part of no execution");
        cell.borrow_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, PartialEq, Debug)]
    struct Numbers(Vec<u32>);

    impl Part for Numbers {}

    #[test]
    fn a_part_is_found_from_when_it_is_installed() {
        static NUMBERS: PartCell<Numbers> = PartCell::new();
        assert!(NUMBERS.try_get().is_none());
        NUMBERS.install(Box::leak(Box::new(RefCell::new(Numbers::default()))));
        NUMBERS.get().0.push(1);
        assert_eq!(NUMBERS.get().0, [1]);
        NUMBERS.get().renew();
        assert_eq!(*NUMBERS.get(), Numbers::default());
    }

    #[test]
    fn a_handler_that_interrupts_a_use_gets_nothing() {
        static NUMBERS: PartCell<Numbers> = PartCell::new();
        NUMBERS.install(Box::leak(Box::new(RefCell::new(Numbers::default()))));
        let used = NUMBERS.get();
        assert!(NUMBERS.try_get().is_none());
        drop(used);
        assert!(NUMBERS.try_get().is_some());
    }

    #[test]
    #[should_panic(expected = "a part of no execution")]
    fn a_part_that_is_not_installed_cannot_be_used() {
        static NUMBERS: PartCell<Numbers> = PartCell::new();
        NUMBERS.get();
    }
}
