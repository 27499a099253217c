//! A mutex that is held across `.await`.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::object::fair::Access;

use super::fair::{Fair, Taken};
use crate::object::Place;

pub use real::sync::TryLockError;

/// A fair mutex, as `tokio::sync::Mutex`.
pub struct Mutex<T: ?Sized> {
    permit: Fair,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through a guard only, of which there is one at a time, or through
// an exclusive reference; so sharing the mutex sends the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// Returns the error of a lock that is held, which only tokio can make.
pub(super) fn held() -> TryLockError {
    let lock = real::sync::Mutex::new(());
    let guard = lock.try_lock();
    let error = lock.try_lock().map(drop).expect_err("it is locked");
    drop(guard);
    error
}

impl<T> Mutex<T> {
    /// Creates a mutex that no task holds.
    #[track_caller]
    pub fn new(value: T) -> Self {
        Mutex {
            permit: Fair::new("Mutex", 1),
            value: UnsafeCell::new(value),
        }
    }

    /// Creates a mutex in a constant; a check refuses it.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        Mutex {
            permit: Fair::new_const("Mutex", 1),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex. Tasks get it in the order in which they first polled.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> + use<'_, T> {
        let place = Location::caller();
        let acquire = self.permit.acquire(Access::Lock, 1);
        async move {
            acquire.await;
            MutexGuard { lock: self, place }
        }
    }

    /// Locks the mutex; the guard owns it.
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> + use<T> {
        let place = Location::caller();
        async move {
            self.permit.acquire_at(place, Access::Lock, 1).await;
            OwnedMutexGuard { lock: self, place }
        }
    }

    /// Locks the mutex from a thread that runs no task.
    #[track_caller]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        raddle::future::__block_on_thread(self.lock())
    }

    /// Locks the mutex from a thread that runs no task; the guard owns it.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        raddle::future::__block_on_thread(self.lock_owned())
    }

    /// Locks the mutex if no task holds it and none waits.
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        let place = Location::caller();
        match self.permit.try_take(place, Access::Lock, 1) {
            Taken::Yes => Ok(MutexGuard { lock: self, place }),
            _ => Err(held()),
        }
    }

    /// Locks the mutex if no task holds it and none waits; the guard owns it.
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        let place = Location::caller();
        match self.permit.try_take(place, Access::Lock, 1) {
            Taken::Yes => Ok(OwnedMutexGuard { lock: self, place }),
            _ => Err(held()),
        }
    }

    /// Returns the value, which no other reference reaches.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// The right to use the value of a [`Mutex`].
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    place: Place,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the mutex.
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.lock
    }
}

/// The right to use the value of a [`Mutex`] that the guard owns.
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct OwnedMutexGuard<T: ?Sized> {
    lock: Arc<Mutex<T>>,
    place: Place,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// Returns the mutex.
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.lock
    }
}

macro_rules! guards {
    ($($guard:ty),*) => {$(
        impl<T: ?Sized> Deref for $guard {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the guard has the only permit, so no other reference to the value exists.
                unsafe { &*self.lock.value.get() }
            }
        }

        impl<T: ?Sized> DerefMut for $guard {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: the guard has the only permit, and is borrowed exclusively.
                unsafe { &mut *self.lock.value.get() }
            }
        }

        impl<T: ?Sized> Drop for $guard {
            fn drop(&mut self) {
                self.lock.permit.release(self.place, Access::Lock, 1);
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
}
guards!(MutexGuard<'_, T>, OwnedMutexGuard<T>);

// SAFETY: a shared guard gives shared references to the value only.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}
