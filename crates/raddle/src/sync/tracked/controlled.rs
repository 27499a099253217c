//! Handles whose creations and drops are operations of the engine.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Weak};

use raddle_engine::object::counted::Call;

use super::exposed;
use super::life::Life;
use crate::labelled::{Labelled, Thing};

/// A shared value, as [`std::sync::Arc`], whose handles are part of the search.
///
/// `Arc` itself stays std's own: the order of its drops, and the results of `strong_count`,
/// `upgrade`, `try_unwrap` or `get_mut`, are not explored. Use this type where they matter, because
/// other threads can observe the value's destructor, or because the program calls these methods.
///
/// This has a cost. Handles that different threads drop are dropped in every order, so *n* of them
/// have *n*! classes, although only the last one makes a difference. Creating handles costs less:
/// creations by different threads are explored in every order too, but are not ordered with
/// anything else. Counting them is expensive.
///
/// It becomes a `TrackedArc<dyn Trait>` only through [`coerce`](Self::coerce), from a `Box`, or from an
/// `Arc`, and cannot be the type of `self`.
///
/// A value whose last strong handle is not dropped in the execution that made it is a leak; see
/// [`Checker::leaks`](crate::Checker::leaks).
pub struct TrackedArc<T: ?Sized> {
    /// `None` when the value was taken out.
    value: Option<Arc<T>>,
    life: Arc<Life>,
    /// Place where the handle was created: that of its drop is not known.
    place: &'static Location<'static>,
}

/// A handle to a shared value that does not keep it alive, as [`std::sync::Weak`]; see
/// [`TrackedArc`].
pub struct TrackedWeak<T: ?Sized> {
    value: Weak<T>,
    /// `None` for a handle that never had a value.
    life: Option<Arc<Life>>,
    place: &'static Location<'static>,
}

const TAKEN: &str = "only a handle that is being dropped has no value";

impl<T> TrackedArc<T> {
    /// Creates a shared value.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::around(Arc::new(value), Location::caller())
    }

    /// Creates a shared value that cannot be moved.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Self> {
        // SAFETY: pinning needs a value that does not move before its drop: no handle moves it, and
        // those that give it out by value, or mutably, are not reachable through `Pin`.
        unsafe { Pin::new_unchecked(Self::new(value)) }
    }

    /// Creates a shared value that has a weak handle to itself.
    #[track_caller]
    pub fn new_cyclic<F>(data_fn: F) -> Self
    where
        F: FnOnce(&TrackedWeak<T>) -> T,
    {
        let place = Location::caller();
        let life = Arc::new(Life::new(place));
        let value = Arc::new_cyclic(|weak| {
            let mut weak = TrackedWeak {
                value: weak.clone(),
                life: Some(Arc::clone(&life)),
                place,
            };
            let value = data_fn(&weak);
            // The drop of this one was not recorded.
            weak.life = None;
            value
        });
        TrackedArc {
            value: Some(value),
            life,
            place,
        }
    }

    /// Returns the value if this is the only strong handle, else the handle.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        this.life.end(Call::TryUnwrap, Location::caller());
        let mut this = this;
        match Arc::try_unwrap(this.value.take().expect(TAKEN)) {
            Ok(value) => {
                this.life.value_dropped();
                Ok(value)
            }
            Err(shared) => {
                this.value = Some(shared);
                Err(this)
            }
        }
    }

    /// Drops the handle; returns the value if it was the last strong one.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        this.life.end(Call::Drop, Location::caller());
        let mut this = this;
        let value = Arc::into_inner(this.value.take().expect(TAKEN));
        if value.is_some() {
            this.life.value_dropped();
        }
        value
    }

    /// Returns the value if this is the only strong handle, else a clone of it.
    #[track_caller]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T: ?Sized> TrackedArc<T> {
    pub(super) fn around(value: Arc<T>, place: &'static Location<'static>) -> Self {
        TrackedArc {
            value: Some(value),
            life: Arc::new(Life::new(place)),
            place,
        }
    }

    fn value(&self) -> &Arc<T> {
        self.value.as_ref().expect(TAKEN)
    }

    /// Returns a weak handle to the same value.
    #[track_caller]
    #[must_use = "this returns a new `TrackedWeak` pointer, without modifying the original"]
    pub fn downgrade(this: &Self) -> TrackedWeak<T> {
        this.life.birth(Call::Downgrade, Location::caller());
        TrackedWeak {
            value: Arc::downgrade(this.value()),
            life: Some(Arc::clone(&this.life)),
            place: Location::caller(),
        }
    }

    /// Returns the number of strong handles.
    #[track_caller]
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        let count = || Arc::strong_count(this.value());
        this.life.count(Location::caller(), count)
    }

    /// Returns the number of weak handles.
    #[track_caller]
    #[must_use]
    pub fn weak_count(this: &Self) -> usize {
        let count = || Arc::weak_count(this.value());
        this.life.count(Location::caller(), count)
    }

    /// True when both are handles to the same value.
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        Arc::ptr_eq(this.value(), other.value())
    }

    /// Returns a pointer to the value.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        let value = Arc::as_ptr(this.value());
        this.life.expose(value.addr());
        value
    }

    /// Turns the handle into a raw pointer, which must become a handle again by
    /// [`from_raw`](Self::from_raw) to be dropped.
    #[must_use = "losing the pointer will leak memory"]
    pub fn into_raw(this: Self) -> *const T {
        let this = ManuallyDrop::new(this);
        Self::as_ptr(&this)
    }

    /// Turns a raw pointer into the handle that it was.
    ///
    /// # Safety
    ///
    /// The pointer must be from [`into_raw`](Self::into_raw), or from [`as_ptr`](Self::as_ptr) with
    /// a count that [`increment_strong_count`](Self::increment_strong_count) has added, and each of
    /// these handles must be used once.
    #[track_caller]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        let life = exposed::life(ptr.addr());
        // SAFETY: both pointers are of an `Arc`, and the handle owns a reference to each, as the
        // caller guarantees.
        let (value, life) = unsafe { (Arc::from_raw(ptr), Arc::from_raw(life)) };
        TrackedArc {
            value: Some(value),
            life,
            place: Location::caller(),
        }
    }

    /// Creates a handle to the value of a raw pointer, without returning it.
    ///
    /// # Safety
    ///
    /// The pointer must be from [`into_raw`](Self::into_raw) or [`as_ptr`](Self::as_ptr), and the
    /// value must have a strong handle.
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: the handle that the value has exists during the call, and this one is not dropped.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(ptr) });
        let _other = ManuallyDrop::new(TrackedArc::clone(&this));
    }

    /// Drops the handle that a raw pointer stands for.
    ///
    /// # Safety
    ///
    /// As for [`from_raw`](Self::from_raw).
    #[track_caller]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: as for this function.
        drop(unsafe { Self::from_raw(ptr) });
    }

    /// Creates a handle to the value of an [`Arc`], which may be unsized.
    ///
    /// # Panics
    ///
    /// If there are other handles: their drops would not be part of the search.
    #[track_caller]
    #[must_use]
    pub fn from_std(value: Arc<T>) -> Self {
        let mut value = value;
        assert!(
            Arc::get_mut(&mut value).is_some(),
            "raddle: the `Arc` has other handles, whose drops would not be explored"
        );
        Self::around(value, Location::caller())
    }

    /// Makes the handle one of an unsized type, which stable Rust does only for its own pointers:
    ///
    /// ```
    /// use raddle::sync::{Arc, TrackedArc};
    ///
    /// let numbers = TrackedArc::new([1, 2, 3]);
    /// let numbers = TrackedArc::coerce(numbers, |arc| arc as Arc<[i32]>);
    /// assert_eq!(numbers.len(), 3);
    /// ```
    ///
    /// # Panics
    ///
    /// If `unsize` returns another `Arc` than its argument.
    #[track_caller]
    #[must_use]
    pub fn coerce<U: ?Sized>(this: Self, unsize: impl FnOnce(Arc<T>) -> Arc<U>) -> TrackedArc<U> {
        let mut this = this;
        let value = this.value.take().expect(TAKEN);
        let address = Arc::as_ptr(&value).addr();
        let value = unsize(value);
        assert!(
            Arc::as_ptr(&value).addr() == address,
            "raddle: `coerce` needs the same `Arc` with another type"
        );
        TrackedArc {
            value: Some(value),
            life: Arc::clone(&this.life),
            place: this.place,
        }
    }

    /// Returns a mutable reference to the value, if there is no other handle, strong or weak.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.life.end(Call::IsUnique, Location::caller());
        Arc::get_mut(this.value.as_mut().expect(TAKEN))
    }
}

impl<T: Clone> TrackedArc<T> {
    /// Returns a mutable reference to the value. If there are other strong handles, this one gets a
    /// clone of it; if there are weak ones only, they lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        let place = Location::caller();
        this.life.end(Call::TryUnwrap, place);
        let value = this.value.as_mut().expect(TAKEN);
        if Arc::strong_count(value) > 1 {
            *this = Self::around(Arc::new((**value).clone()), place);
        } else if Arc::get_mut(value).is_none() {
            // It abandons the weak handles, without a drop that others could observe.
            Arc::make_mut(value);
            this.life.value_dropped();
            this.life = Arc::new(Life::new(place));
        }
        Arc::get_mut(this.value.as_mut().expect(TAKEN)).expect("no other handle is left")
    }
}

impl<T: ?Sized> Labelled for TrackedArc<T> {
    fn thing(&self) -> Thing<'_> {
        self.life.thing()
    }
}

impl<T: ?Sized> Deref for TrackedArc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value()
    }
}

impl<T: ?Sized> Clone for TrackedArc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.life.birth(Call::Clone, Location::caller());
        TrackedArc {
            value: self.value.clone(),
            life: Arc::clone(&self.life),
            place: Location::caller(),
        }
    }
}

impl<T: ?Sized> Drop for TrackedArc<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.life.end(Call::Drop, self.place);
            // Other threads of the execution do not run during the drop of a handle.
            if Arc::strong_count(&value) == 1 {
                self.life.value_dropped();
            }
            drop(value);
        }
    }
}

impl<T> TrackedWeak<T> {
    /// Creates a handle without a value.
    #[track_caller]
    #[must_use]
    pub const fn new() -> Self {
        TrackedWeak {
            value: Weak::new(),
            life: None,
            place: Location::caller(),
        }
    }
}

impl<T: ?Sized> TrackedWeak<T> {
    /// Returns a strong handle to the same value, if the value still exists.
    #[track_caller]
    #[must_use = "this returns a new `TrackedArc`, without modifying the original weak pointer"]
    pub fn upgrade(&self) -> Option<TrackedArc<T>> {
        let life = self.life.as_ref()?;
        life.end(Call::Upgrade, Location::caller());
        Some(TrackedArc {
            value: Some(self.value.upgrade()?),
            life: Arc::clone(life),
            place: Location::caller(),
        })
    }

    /// Returns the number of strong handles.
    #[track_caller]
    #[must_use]
    pub fn strong_count(&self) -> usize {
        let count = || self.value.strong_count();
        (self.life.as_ref()).map_or(0, |life| life.count(Location::caller(), count))
    }

    /// Returns the number of weak handles; 0 if no strong one is left.
    #[track_caller]
    #[must_use]
    pub fn weak_count(&self) -> usize {
        let count = || self.value.weak_count();
        (self.life.as_ref()).map_or(0, |life| life.count(Location::caller(), count))
    }

    /// True when both are handles to the same value, or to none.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        self.value.ptr_eq(&other.value)
    }

    /// Returns a pointer to the value, if the value still exists.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.value.as_ptr()
    }
}

impl<T: ?Sized> Clone for TrackedWeak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        if let Some(life) = &self.life {
            life.birth(Call::Clone, Location::caller());
        }
        TrackedWeak {
            value: self.value.clone(),
            life: self.life.clone(),
            place: Location::caller(),
        }
    }
}

impl<T: ?Sized> Drop for TrackedWeak<T> {
    fn drop(&mut self) {
        if let Some(life) = &self.life {
            life.end(Call::DropWeak, self.place);
        }
    }
}
