//! A readers-writer lock that is held across `.await`.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::object::fair::Access;

use super::fair::{Fair, Taken};
use super::mutex::{TryLockError, held};
use crate::object::Place;

/// Number of permits: one for a reader, all for a writer.
const READERS: usize = (u32::MAX >> 3) as usize;

/// A fair readers-writer lock, as `tokio::sync::RwLock`: a writer that waits keeps later readers out.
pub struct RwLock<T: ?Sized> {
    permits: Fair,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through guards, of which one writes or several read, or through an
// exclusive reference.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; several threads may have references to the value at once.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// Creates a lock that no task holds.
    #[track_caller]
    pub fn new(value: T) -> Self {
        RwLock {
            permits: Fair::new("RwLock", READERS),
            value: UnsafeCell::new(value),
        }
    }

    /// Creates a lock in a constant; a check refuses it.
    #[track_caller]
    pub const fn const_new(value: T) -> Self {
        RwLock {
            permits: Fair::new_const("RwLock", READERS),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> + use<'_, T> {
        let place = Location::caller();
        let acquire = self.permits.acquire(Access::Read, 1);
        async move {
            acquire.await;
            RwLockReadGuard { lock: self, place }
        }
    }

    /// Locks for writing.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> + use<'_, T> {
        let place = Location::caller();
        let acquire = self.permits.acquire(Access::Write, READERS);
        async move {
            acquire.await;
            RwLockWriteGuard { lock: self, place }
        }
    }

    /// Locks for reading; the guard owns the lock.
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> + use<T> {
        let place = Location::caller();
        async move {
            self.permits.acquire_at(place, Access::Read, 1).await;
            OwnedRwLockReadGuard { lock: self, place }
        }
    }

    /// Locks for writing; the guard owns the lock.
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> + use<T> {
        let place = Location::caller();
        async move {
            self.permits.acquire_at(place, Access::Write, READERS).await;
            OwnedRwLockWriteGuard { lock: self, place }
        }
    }

    /// Locks for reading if no task writes or waits.
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        let place = Location::caller();
        match self.permits.try_take(place, Access::Read, 1) {
            Taken::Yes => Ok(RwLockReadGuard { lock: self, place }),
            _ => Err(held()),
        }
    }

    /// Locks for writing if no task holds the lock or waits.
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        let place = Location::caller();
        match self.permits.try_take(place, Access::Write, READERS) {
            Taken::Yes => Ok(RwLockWriteGuard { lock: self, place }),
            _ => Err(held()),
        }
    }

    /// Locks for reading from a thread that runs no task.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        raddle::future::__block_on_thread(self.read())
    }

    /// Locks for writing from a thread that runs no task.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        raddle::future::__block_on_thread(self.write())
    }

    /// Returns the value, which no other reference reaches.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T: Default> Default for RwLock<T> {
    #[track_caller]
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").finish_non_exhaustive()
    }
}

/// The right to read the value of a [`RwLock`].
#[must_use = "the lock is released when the guard is dropped"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    place: Place,
}

/// The right to write the value of a [`RwLock`].
#[must_use = "the lock is released when the guard is dropped"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    place: Place,
}

/// The right to read the value of a [`RwLock`] that the guard owns.
#[must_use = "the lock is released when the guard is dropped"]
pub struct OwnedRwLockReadGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    place: Place,
}

/// The right to write the value of a [`RwLock`] that the guard owns.
#[must_use = "the lock is released when the guard is dropped"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    place: Place,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Becomes a reader; no writer comes between.
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        let (lock, place) = (self.lock, self.place);
        std::mem::forget(self);
        lock.permits.downgrade(place, READERS - 1);
        RwLockReadGuard { lock, place }
    }
}

macro_rules! guards {
    ($($guard:ty, $access:ident, $permits:expr;)*) => {$(
        impl<T: ?Sized> Deref for $guard {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: the guard has a permit, so no other guard writes.
                unsafe { &*self.lock.value.get() }
            }
        }

        impl<T: ?Sized> Drop for $guard {
            fn drop(&mut self) {
                self.lock.permits.release(self.place, Access::$access, $permits);
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        // SAFETY: a shared guard gives shared references to the value only.
        unsafe impl<T: ?Sized + Send + Sync> Sync for $guard {}
    )*};
}
guards! {
    RwLockReadGuard<'_, T>, Read, 1;
    RwLockWriteGuard<'_, T>, Write, READERS;
    OwnedRwLockReadGuard<T>, Read, 1;
    OwnedRwLockWriteGuard<T>, Write, READERS;
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has all permits, and is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has all permits, and is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}
