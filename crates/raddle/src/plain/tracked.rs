//! std's handles under another name.

use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Weak};

/// A shared value: [`std::sync::Arc`]. With feature `check`, its handles are part of the search.
pub struct TrackedArc<T: ?Sized>(Arc<T>);

/// A handle to a shared value that does not keep it alive: [`std::sync::Weak`].
pub struct TrackedWeak<T: ?Sized>(Weak<T>);

impl<T> TrackedArc<T> {
    /// Shares `value`.
    #[inline]
    pub fn new(value: T) -> Self {
        TrackedArc(Arc::new(value))
    }

    /// Shares a value that has a weak handle to itself.
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&TrackedWeak<T>) -> T,
    {
        TrackedArc(Arc::new_cyclic(|weak| data_fn(&TrackedWeak(weak.clone()))))
    }

    /// The value, if this is the only strong handle; else the handle.
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        Arc::try_unwrap(this.0).map_err(TrackedArc)
    }

    /// Drops the handle; the value, if it was the last strong one.
    pub fn into_inner(this: Self) -> Option<T> {
        Arc::into_inner(this.0)
    }

    /// The value, if this is the only strong handle; else a clone of it.
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

    /// A weak handle to the same value.
    #[must_use = "this returns a new `TrackedWeak` pointer, without modifying the original"]
    pub fn downgrade(this: &Self) -> TrackedWeak<T> {
        TrackedWeak(Arc::downgrade(&this.0))
    }

    /// How many strong handles there are.
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        Arc::strong_count(&this.0)
    }

    /// How many weak handles there are.
    #[must_use]
    pub fn weak_count(this: &Self) -> usize {
        Arc::weak_count(&this.0)
    }

    /// True when both are handles to the same value.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Arc::ptr_eq(&this.0, &other.0)
    }

    /// A pointer to the value.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        Arc::as_ptr(&this.0)
    }

    /// The value to change, if there is no other handle, strong or weak.
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        Arc::get_mut(&mut this.0)
    }
}

impl<T: Clone> TrackedArc<T> {
    /// The value to change. If there are other strong handles, this one gets a clone of it; if there
    /// are weak ones only, they lose it.
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
    /// A handle to nothing.
    #[must_use]
    pub const fn new() -> Self {
        TrackedWeak(Weak::new())
    }
}

impl<T: ?Sized> TrackedWeak<T> {
    /// A strong handle to the same value, if it is still there.
    #[must_use = "this returns a new `TrackedArc`, without modifying the original weak pointer"]
    pub fn upgrade(&self) -> Option<TrackedArc<T>> {
        self.0.upgrade().map(TrackedArc)
    }

    /// How many strong handles there are.
    #[must_use]
    pub fn strong_count(&self) -> usize {
        self.0.strong_count()
    }

    /// How many weak handles there are; none if no strong one is left.
    #[must_use]
    pub fn weak_count(&self) -> usize {
        self.0.weak_count()
    }

    /// True when both are handles to the same value, or to none.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }

    /// A pointer to the value, if it is still there.
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
