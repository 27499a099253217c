//! Newtypes of std's handles.

use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};

/// A shared value: [`std::sync::Arc`]. With feature `check`, its handles are part of the search.
pub struct TrackedArc<T: ?Sized>(Arc<T>);

/// A handle to a shared value that does not keep it alive: [`std::sync::Weak`].
pub struct TrackedWeak<T: ?Sized>(Weak<T>);

impl<T> TrackedArc<T> {
    /// Creates a shared value.
    #[inline]
    pub fn new(value: T) -> Self {
        TrackedArc(Arc::new(value))
    }

    /// Creates a shared value that cannot be moved.
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: pinning needs a value that does not move before its drop: no handle moves it, and
        // those that give it out by value, or mutably, are not reachable through `Pin`.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }

    /// Creates a shared value that has a weak handle to itself.
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&TrackedWeak<T>) -> T,
    {
        TrackedArc(Arc::new_cyclic(|weak| data_fn(&TrackedWeak(weak.clone()))))
    }

    /// Returns the value if this is the only strong handle, else the handle.
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        Arc::try_unwrap(this.0).map_err(TrackedArc)
    }

    /// Drops the handle; returns the value if it was the last strong one.
    pub fn into_inner(this: Self) -> Option<T> {
        Arc::into_inner(this.0)
    }

    /// Returns the value if this is the only strong handle, else a clone of it.
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Arc::unwrap_or_clone(this.0)
    }
}

impl<T: ?Sized> TrackedArc<T> {
    pub(crate) fn around(value: Arc<T>, _place: &'static Location<'static>) -> Self {
        TrackedArc(value)
    }

    /// Returns a weak handle to the same value.
    #[must_use = "this returns a new `TrackedWeak` pointer, without modifying the original"]
    pub fn downgrade(this: &Self) -> TrackedWeak<T> {
        TrackedWeak(Arc::downgrade(&this.0))
    }

    /// Returns the number of strong handles.
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        Arc::strong_count(&this.0)
    }

    /// Returns the number of weak handles.
    #[must_use]
    pub fn weak_count(this: &Self) -> usize {
        Arc::weak_count(&this.0)
    }

    /// True when both are handles to the same value.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Arc::ptr_eq(&this.0, &other.0)
    }

    /// Returns a pointer to the value.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        Arc::as_ptr(&this.0)
    }

    /// Turns the handle into a raw pointer, which must become a handle again by
    /// [`from_raw`](Self::from_raw) to be dropped.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        Arc::into_raw(this.0)
    }

    /// Turns a raw pointer into the handle that it was.
    ///
    /// # Safety
    ///
    /// As for [`Arc::from_raw`].
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: as for this function.
        TrackedArc(unsafe { Arc::from_raw(ptr) })
    }

    /// Creates a handle to the value of a raw pointer, without returning it.
    ///
    /// # Safety
    ///
    /// As for [`Arc::increment_strong_count`].
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: as for this function.
        unsafe { Arc::increment_strong_count(ptr) };
    }

    /// Drops the handle that a raw pointer stands for.
    ///
    /// # Safety
    ///
    /// As for [`Arc::decrement_strong_count`].
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: as for this function.
        unsafe { Arc::decrement_strong_count(ptr) };
    }

    /// Creates a handle to the value of an [`Arc`], which may be unsized.
    #[must_use]
    pub fn from_std(value: Arc<T>) -> Self {
        TrackedArc(value)
    }

    /// Makes the handle one of an unsized type: `TrackedArc::coerce(arc, |arc| arc)`.
    #[must_use]
    pub fn coerce<U: ?Sized>(this: Self, unsize: impl FnOnce(Arc<T>) -> Arc<U>) -> TrackedArc<U> {
        TrackedArc(unsize(this.0))
    }

    /// Returns a mutable reference to the value, if there is no other handle, strong or weak.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        Arc::get_mut(&mut this.0)
    }
}

impl<T: Clone> TrackedArc<T> {
    /// Returns a mutable reference to the value. If there are other strong handles, this one gets a
    /// clone of it; if there are weak ones only, they lose it.
    pub fn make_mut(this: &mut Self) -> &mut T {
        Arc::make_mut(&mut this.0)
    }
}

impl<T: ?Sized> Deref for TrackedArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> Clone for TrackedArc<T> {
    #[inline]
    fn clone(&self) -> Self {
        TrackedArc(Arc::clone(&self.0))
    }
}

impl<T> TrackedWeak<T> {
    /// Creates a handle without a value.
    #[must_use]
    pub const fn new() -> Self {
        TrackedWeak(Weak::new())
    }
}

impl<T: ?Sized> TrackedWeak<T> {
    /// Returns a strong handle to the same value, if the value still exists.
    #[must_use = "this returns a new `TrackedArc`, without modifying the original weak pointer"]
    pub fn upgrade(&self) -> Option<TrackedArc<T>> {
        self.0.upgrade().map(TrackedArc)
    }

    /// Returns the number of strong handles.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.0.strong_count()
    }

    /// Returns the number of weak handles; 0 if no strong one is left.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.0.weak_count()
    }

    /// True when both are handles to the same value, or to none.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// Returns a pointer to the value, if the value still exists.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.0.as_ptr()
    }
}

impl<T: ?Sized> Clone for TrackedWeak<T> {
    fn clone(&self) -> Self {
        TrackedWeak(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_stds_under_another_name() {
        let mut arc = TrackedArc::new_cyclic(|weak| (5, weak.upgrade().is_none()));
        assert_eq!(*arc, (5, true));
        let (other, weak) = (arc.clone(), TrackedArc::downgrade(&arc));
        assert!(TrackedArc::ptr_eq(&arc, &other) && weak.as_ptr() == TrackedArc::as_ptr(&arc));
        assert!(weak.ptr_eq(&weak.clone()) && TrackedArc::get_mut(&mut arc).is_none());
        assert_eq!((weak.strong_count(), weak.weak_count()), (2, 1));
        assert_eq!(TrackedArc::strong_count(&arc), 2);
        assert_eq!(TrackedArc::weak_count(&arc), 1);
        let arc = TrackedArc::try_unwrap(arc).unwrap_err();
        assert_eq!(TrackedArc::into_inner(arc), None);
        let mut other = other;
        TrackedArc::make_mut(&mut other).0 = 6;
        assert!(weak.upgrade().is_none());
        assert_eq!(TrackedArc::unwrap_or_clone(other), (6, true));
        let boxed: TrackedArc<[u8]> = Box::<[u8]>::from([1, 2]).into();
        assert_eq!(
            format!("{boxed:?} {:?}", TrackedWeak::<u8>::default()),
            "[1, 2] (Weak)"
        );
    }
}
