//! Handles that tell when they are made and dropped.

use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Weak};

use raddle_engine::object::counted::Call;

use super::life::Life;
use crate::labelled::{Labelled, Thing};

/// A shared value, as [`std::sync::Arc`], whose handles are part of the search.
///
/// `Arc` itself stays std's own: who drops the last handle, and what `strong_count`, `upgrade`,
/// `try_unwrap` or `get_mut` say, is not explored. Use this type where it matters, because the
/// value's destructor does something that others notice, or because the program asks.
///
/// That has its price. Handles that different threads drop are dropped in every order, so *n* of
/// them have *n*! classes, although only the last one makes a difference. Making handles costs less:
/// those that different threads make come in every order too, but in no order with anything else.
/// Counting them is dear.
///
/// It cannot be unsized (`TrackedArc<dyn Trait>`) except from a `Box`, nor be used as the type of
/// `self`.
pub struct TrackedArc<T: ?Sized> {
    /// Nothing when the value was taken out.
    value: Option<Arc<T>>,
    life: Arc<Life>,
    /// Where the handle was made: the place of its drop is not known.
    place: &'static Location<'static>,
}

/// A handle to a shared value that does not keep it alive, as [`std::sync::Weak`]; see
/// [`TrackedArc`].
pub struct TrackedWeak<T: ?Sized> {
    value: Weak<T>,
    /// Nothing for a handle that never had a value.
    life: Option<Arc<Life>>,
    place: &'static Location<'static>,
}

const TAKEN: &str = "only a handle that is being dropped has no value";

impl<T> TrackedArc<T> {
    /// Shares `value`.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Self::around(Arc::new(value), Location::caller())
    }

    /// Shares a value that has a weak handle to itself.
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

    /// The value, if this is the only strong handle; else the handle.
    #[track_caller]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        this.life.end(Call::TryUnwrap, Location::caller());
        let mut this = this;
        match Arc::try_unwrap(this.value.take().expect(TAKEN)) {
            Ok(value) => Ok(value),
            Err(shared) => {
                this.value = Some(shared);
                Err(this)
            }
        }
    }

    /// Drops the handle; the value, if it was the last strong one.
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        this.life.end(Call::Drop, Location::caller());
        let mut this = this;
        Arc::into_inner(this.value.take().expect(TAKEN))
    }

    /// The value, if this is the only strong handle; else a clone of it.
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

    /// A weak handle to the same value.
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

    /// How many strong handles there are.
    #[track_caller]
    #[must_use]
    pub fn strong_count(this: &Self) -> usize {
        let count = || Arc::strong_count(this.value());
        this.life.count(Location::caller(), count)
    }

    /// How many weak handles there are.
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

    /// A pointer to the value.
    #[must_use]
    pub fn as_ptr(this: &Self) -> *const T {
        Arc::as_ptr(this.value())
    }

    /// The value to change, if there is no other handle, strong or weak.
    #[track_caller]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        this.life.end(Call::IsUnique, Location::caller());
        Arc::get_mut(this.value.as_mut().expect(TAKEN))
    }
}

impl<T: Clone> TrackedArc<T> {
    /// The value to change. If there are other strong handles, this one gets a clone of it; if there
    /// are weak ones only, they lose it.
    #[track_caller]
    pub fn make_mut(this: &mut Self) -> &mut T {
        let place = Location::caller();
        this.life.end(Call::TryUnwrap, place);
        let value = this.value.as_mut().expect(TAKEN);
        if Arc::strong_count(value) > 1 {
            *this = Self::around(Arc::new((**value).clone()), place);
        } else if Arc::get_mut(value).is_none() {
            // It leaves the weak handles behind, without a drop that others could notice.
            Arc::make_mut(value);
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
            drop(value);
        }
    }
}

impl<T> TrackedWeak<T> {
    /// A handle to nothing.
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
    /// A strong handle to the same value, if it is still there.
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

    /// How many strong handles there are.
    #[track_caller]
    #[must_use]
    pub fn strong_count(&self) -> usize {
        let count = || self.value.strong_count();
        (self.life.as_ref()).map_or(0, |life| life.count(Location::caller(), count))
    }

    /// How many weak handles there are; none if no strong one is left.
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

    /// A pointer to the value, if it is still there.
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
