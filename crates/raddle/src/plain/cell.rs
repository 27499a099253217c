//! std's cell with two more methods.

use std::fmt;

/// A value that may be changed through a shared reference, as [`std::cell::UnsafeCell`], with
/// [`with`](Self::with) and [`with_mut`](Self::with_mut) besides.
#[repr(transparent)]
#[derive(Default)]
pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    /// Creates a cell around `value`.
    #[inline(always)]
    pub const fn new(value: T) -> Self {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Returns the value, when no other thread can access it.
    #[inline(always)]
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }

    /// Returns a pointer to the value of a cell that is known by a pointer only.
    #[inline(always)]
    pub const fn raw_get(this: *const Self) -> *mut T {
        std::cell::UnsafeCell::raw_get(this.cast())
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Returns a pointer to the value.
    #[inline(always)]
    pub const fn get(&self) -> *mut T {
        self.0.get()
    }

    /// Returns the value, when no other thread can access it.
    #[inline(always)]
    pub const fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    /// Calls `f` to read the value.
    #[inline(always)]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        f(self.0.get())
    }

    /// Calls `f` to read and write the value.
    #[inline(always)]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        f(self.0.get())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stds_with_two_more_methods() {
        static EMPTY: std::sync::Mutex<UnsafeCell<u8>> = std::sync::Mutex::new(UnsafeCell::new(0));
        assert_eq!(size_of_val(&*EMPTY.lock().unwrap()), 1);
        let mut cell = UnsafeCell::from([1, 2]);
        // SAFETY: no other thread has the cell.
        unsafe {
            (*cell.get())[0] += 4;
            cell.with_mut(|value| (*value)[1] += 4);
            (*UnsafeCell::raw_get(&raw const cell))[1] += 1;
            assert_eq!(cell.with(|value| *value), [5, 7]);
        }
        cell.get_mut()[0] = 3;
        let unsized_cell: &UnsafeCell<[i32]> = &cell;
        assert_eq!(unsized_cell.with(|value| value.len()), 2);
        assert_eq!(format!("{cell:?}"), "UnsafeCell { .. }");
        assert_eq!(cell.into_inner(), [3, 7]);
        assert_eq!(UnsafeCell::<u32>::default().into_inner(), 0);
    }
}
