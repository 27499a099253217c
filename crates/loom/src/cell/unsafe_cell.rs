//! A cell whose pointers are accesses as long as they exist. An operation of the thread that drops the pointer next
//! counts as after the access, as in loom: destructors of guards release the cell before their fields are dropped.

use std::fmt;

use raddle_check::runtime::{Ongoing, OngoingByPointer};

/// A value that may be changed through a shared reference. Two accesses that happens-before does not
/// order, one of them a write, are a data race, and the test fails.
#[derive(Default)]
pub struct UnsafeCell<T: ?Sized>(raddle::cell::UnsafeCell<T>);

/// A read access of an [`UnsafeCell`], which lasts as long as this exists.
pub struct ConstPtr<T: ?Sized> {
    value: *const T,
    access: Option<OngoingByPointer>,
}

/// A write access of an [`UnsafeCell`], which lasts as long as this exists.
pub struct MutPtr<T: ?Sized> {
    value: *mut T,
    access: Option<OngoingByPointer>,
}

fn note_use(access: &Option<OngoingByPointer>) {
    if let Some(access) = access {
        access.note_use();
    }
}

impl<T> UnsafeCell<T> {
    /// Creates a cell around a value.
    #[track_caller]
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(raddle::cell::UnsafeCell::new(value))
    }

    /// Returns the value.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Calls `f` to read the value.
    #[track_caller]
    #[inline]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.0.with(f)
    }

    /// Calls `f` to read and write the value.
    #[track_caller]
    #[inline]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.0.with_mut(f)
    }

    /// Begins a read access.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        let (value, access) = self.0.__begin(false);
        let access = access.map(Ongoing::by_pointer);
        ConstPtr { value, access }
    }

    /// Begins a write access. Unlike [`std::cell::UnsafeCell::get_mut`] it needs no exclusive reference.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        let (value, access) = self.0.__begin(true);
        let access = access.map(Ongoing::by_pointer);
        MutPtr { value, access }
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// Returns a reference to the value.
    ///
    /// # Safety
    ///
    /// The cell must exist, and no mutable reference to its value.
    pub unsafe fn deref(&self) -> &T {
        note_use(&self.access);
        // SAFETY: as for this function.
        unsafe { &*self.value }
    }

    /// Calls `f` with the pointer, which is not valid after this value.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let result = f(self.value);
        note_use(&self.access);
        result
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// Returns a mutable reference to the value.
    ///
    /// # Safety
    ///
    /// The cell must exist, and no other reference to its value.
    #[expect(clippy::mut_from_ref, reason = "as loom's")]
    pub unsafe fn deref(&self) -> &mut T {
        note_use(&self.access);
        // SAFETY: as for this function.
        unsafe { &mut *self.value }
    }

    /// Calls `f` with the pointer, which is not valid after this value.
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let result = f(self.value);
        note_use(&self.access);
        result
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
