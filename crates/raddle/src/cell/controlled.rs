//! A cell whose accesses are checked for data races.

use std::fmt;
use std::mem::offset_of;
use std::panic::Location;

use crate::labelled::{Labelled, Thing};
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::{self, using};
use raddle_check::runtime::statics::Virtual;
use raddle_check::runtime::{Made, Ongoing, current};

/// A value that may be changed through a shared reference, as [`std::cell::UnsafeCell`], with
/// loom's [`with`](Self::with) and [`with_mut`](Self::with_mut) besides.
///
/// Inside a check, two accesses that happens-before does not order, one of them a write, are a data
/// race, and the check fails. Prefer `with` and `with_mut`: they state whether the value is read or
/// written, and for how long. A call of [`get`](Self::get) counts as one write; later accesses
/// through the pointer are not checked. Nor is the creation of the cell, unless
/// [`Quarantine`](crate::alloc::Quarantine) is in use. Accesses are no scheduling points, because
/// code without data races cannot observe when they happen.
///
/// Inside a check, a static has its initial value at the beginning of every execution. A pointer to
/// its value is invalid after the execution, so do not keep one beyond that.
///
/// There is no `from_mut`, because this cell is larger than its value, and `get_mut` is not `const`.
pub struct UnsafeCell<T: ?Sized> {
    identity: CellIdentity,
    value: std::cell::UnsafeCell<T>,
}

/// The identity of a cell, whose destructor reports the drop of the cell. (A destructor of the cell
/// itself would change what the compiler lets the value borrow.)
struct CellIdentity {
    identity: Identity,
    made: Made,
}

impl Drop for CellIdentity {
    fn drop(&mut self) {
        match current() {
            Some(context) => context.drop_cell(&self.identity),
            None => foreign::drops(&self.identity, &self.made, self.made.place),
        }
    }
}

impl<T> UnsafeCell<T> {
    /// Creates a cell around `value`.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        UnsafeCell {
            identity: CellIdentity {
                identity: Identity::new(),
                made: Made {
                    kind: "UnsafeCell",
                    place: Location::caller(),
                },
            },
            value: std::cell::UnsafeCell::new(value),
        }
    }

    /// Returns the value, when no other thread can access it.
    #[track_caller]
    pub fn into_inner(self) -> T {
        let CellIdentity { identity, made } = &self.identity;
        using(identity, made, Location::caller());
        self.value.into_inner()
    }

    /// Returns a pointer to the value of a cell that is known by a pointer only, and may not have
    /// been initialised yet. Accesses through it are not checked, and the pointer of a static is
    /// the same inside a check and outside.
    pub const fn raw_get(this: *const Self) -> *mut T {
        this.wrapping_byte_add(offset_of!(Self, value))
            .cast_mut()
            .cast()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Returns a pointer to the value.
    #[track_caller]
    pub fn get(&self) -> *mut T {
        let CellIdentity { identity, made } = &self.identity;
        let Some(context) = using(identity, made, Location::caller()) else {
            return self.value.get();
        };
        let this = context.here(self);
        context.access_cell(
            &this.identity.identity,
            &this.identity.made,
            true,
            Location::caller(),
        );
        this.value.get()
    }

    /// Returns the value, when no other thread can access it.
    #[track_caller]
    pub fn get_mut(&mut self) -> &mut T {
        let CellIdentity { identity, made } = &self.identity;
        if let Some(context) = using(identity, made, Location::caller()) {
            context.own_cell(identity, Some(Location::caller()));
        }
        self.value.get_mut()
    }

    /// Calls `f` to read the value.
    #[track_caller]
    pub fn with<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        self.access(false, Location::caller(), |value| f(value))
    }

    /// Calls `f` to read and write the value.
    #[track_caller]
    pub fn with_mut<F, R>(&self, f: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        self.access(true, Location::caller(), f)
    }

    /// For `raddle-loom`: begins an access that lasts as long as the second value; the first is the address
    /// of the value in the running execution.
    #[doc(hidden)]
    #[track_caller]
    pub fn __begin(&self, writes: bool) -> (*mut T, Option<Ongoing>) {
        let CellIdentity { identity, made } = &self.identity;
        let place = Location::caller();
        let Some(context) = using(identity, made, place) else {
            return (self.value.get(), None);
        };
        let this = context.here(self);
        let CellIdentity { identity, made } = &this.identity;
        let ongoing = context.begin_access(identity, made, writes, place);
        (this.value.get(), ongoing)
    }

    /// Calls `f` with the address of the value in the running execution.
    #[inline]
    fn access<R>(
        &self,
        writes: bool,
        place: &'static Location<'static>,
        f: impl FnOnce(*mut T) -> R,
    ) -> R {
        let CellIdentity { identity, made } = &self.identity;
        let Some(context) = using(identity, made, place) else {
            return f(self.value.get());
        };
        let this = context.here(self);
        let _ongoing =
            context.begin_access(&this.identity.identity, &this.identity.made, writes, place);
        f(this.value.get())
    }
}

impl<T: ?Sized> Labelled for UnsafeCell<T> {
    fn thing(&self) -> Thing<'_> {
        let this = current().map_or(self, |context| context.here(self));
        Thing::cell(&this.identity.identity, this.identity.made)
    }
}

impl<T: ?Sized> Virtual for UnsafeCell<T> {
    const LENDS: bool = true;
    const DROPS: bool = std::mem::needs_drop::<T>();

    fn identity(&self) -> &Identity {
        &self.identity.identity
    }

    fn made(&self) -> &Made {
        &self.identity.made
    }

    fn is_guarded(&self) -> bool {
        false
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}
