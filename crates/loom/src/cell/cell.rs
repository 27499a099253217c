//! A cell that is read and written as a whole.

use std::cmp::Ordering;
use std::fmt;

use super::UnsafeCell;

/// A value that may be changed through a shared reference, as [`std::cell::Cell`]. Accesses that race
/// fail the test.
pub struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    /// Creates a cell around a value.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Cell(UnsafeCell::new(value))
    }

    /// Sets the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        self.0.with_mut(|one| {
            // SAFETY: the cells are different, no reference to their values exists, and they are
            // used by one thread, because they are not `Sync`.
            other.0.with_mut(|two| unsafe { std::ptr::swap(one, two) });
        });
    }

    /// Sets the value; returns the previous one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: no reference to the value exists, and the cell is not `Sync`.
        self.0.with_mut(|old| unsafe { old.replace(value) })
    }

    /// Returns a copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the value is initialised, and the cell is not `Sync`.
        self.0.with(|value| unsafe { value.read() })
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T: Copy> Clone for Cell<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Cell::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Cell::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("value", &self.get()).finish()
    }
}
