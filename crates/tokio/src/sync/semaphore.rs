//! A fair counting semaphore.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::object::fair::Access;

use super::errors::AcquireError;
use super::fair::{Fair, Taken};
use crate::object::Place;

pub use real::sync::TryAcquireError;

/// A fair counting semaphore, as `tokio::sync::Semaphore`.
pub struct Semaphore {
    permits: Fair,
}

fn refused(taken: Taken) -> TryAcquireError {
    match taken {
        Taken::Closed => TryAcquireError::Closed,
        _ => TryAcquireError::NoPermits,
    }
}

impl Semaphore {
    /// Maximum number of permits.
    pub const MAX_PERMITS: usize = real::sync::Semaphore::MAX_PERMITS;

    /// Creates a semaphore.
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        assert!(permits <= Self::MAX_PERMITS, "too many permits");
        Semaphore {
            permits: Fair::new("Semaphore", permits),
        }
    }

    /// Creates a semaphore in a constant; a check refuses it.
    #[track_caller]
    pub const fn const_new(permits: usize) -> Self {
        Semaphore {
            permits: Fair::new_const("Semaphore", permits),
        }
    }

    /// Returns the number of permits that can be acquired.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        self.permits.available(Location::caller())
    }

    /// Adds permits.
    #[track_caller]
    pub fn add_permits(&self, permits: usize) {
        self.permits.add(Location::caller(), permits);
    }

    /// Removes available permits; returns their number.
    #[track_caller]
    pub fn forget_permits(&self, permits: usize) -> usize {
        self.permits.forget(Location::caller(), permits)
    }

    /// Acquires a permit.
    #[track_caller]
    pub fn acquire(
        &self,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> + use<'_> {
        self.acquire_many(1)
    }

    /// Acquires permits.
    #[track_caller]
    pub fn acquire_many(
        &self,
        permits: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> + use<'_> {
        let place = Location::caller();
        let acquire = self.permits.acquire(Access::Permits, permits as usize);
        async move {
            match acquire.await {
                true => Ok(SemaphorePermit {
                    semaphore: self,
                    permits: permits as usize,
                    place,
                }),
                false => Err(AcquireError(())),
            }
        }
    }

    /// Acquires a permit if that is possible at once.
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Acquires permits if that is possible at once.
    #[track_caller]
    pub fn try_acquire_many(&self, permits: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let (place, permits) = (Location::caller(), permits as usize);
        match self.permits.try_take(place, Access::Permits, permits) {
            Taken::Yes => Ok(SemaphorePermit {
                semaphore: self,
                permits,
                place,
            }),
            taken => Err(refused(taken)),
        }
    }

    /// Acquires a permit that owns the semaphore.
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_many_owned(1)
    }

    /// Acquires permits that own the semaphore.
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        permits: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        let (place, permits) = (Location::caller(), permits as usize);
        async move {
            let acquire = self.permits.acquire_at(place, Access::Permits, permits);
            match acquire.await {
                true => Ok(OwnedSemaphorePermit {
                    semaphore: self,
                    permits,
                    place,
                }),
                false => Err(AcquireError(())),
            }
        }
    }

    /// Acquires a permit that owns the semaphore if that is possible at once.
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Acquires permits that own the semaphore if that is possible at once.
    #[track_caller]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        permits: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let (place, permits) = (Location::caller(), permits as usize);
        match self.permits.try_take(place, Access::Permits, permits) {
            Taken::Yes => Ok(OwnedSemaphorePermit {
                semaphore: self,
                permits,
                place,
            }),
            taken => Err(refused(taken)),
        }
    }

    /// Closes the semaphore: requests that wait, and later ones, get an error.
    #[track_caller]
    pub fn close(&self) {
        self.permits.close(Location::caller());
    }

    /// True when the semaphore is closed.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed(Location::caller())
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}

/// Permits of a [`Semaphore`], which are released when it is dropped.
#[must_use = "the permits are released when the value is dropped"]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
    place: Place,
}

/// Permits of a [`Semaphore`] that the value owns.
#[must_use = "the permits are released when the value is dropped"]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
    place: Place,
}

macro_rules! permits {
    ($($permit:ty),*) => {$(
        impl $permit {
            /// Drops the permits for good.
            #[track_caller]
            pub fn forget(mut self) {
                let permits = std::mem::take(&mut self.permits);
                self.semaphore.permits.forget_held(Location::caller(), permits);
            }

            /// Adds the permits of another value of the same semaphore.
            pub fn merge(&mut self, mut other: Self) {
                assert!(
                    std::ptr::eq(&*self.semaphore, &*other.semaphore),
                    "merging permits from different semaphore instances"
                );
                self.permits += std::mem::take(&mut other.permits);
            }

            /// Splits off permits, if there are as many.
            pub fn split(&mut self, permits: usize) -> Option<Self> {
                let left = self.permits.checked_sub(permits)?;
                self.permits = left;
                Some(Self {
                    semaphore: self.semaphore.clone(),
                    permits,
                    place: self.place,
                })
            }

            /// Returns the number of permits.
            pub fn num_permits(&self) -> usize {
                self.permits
            }
        }

        impl Drop for $permit {
            fn drop(&mut self) {
                if self.permits > 0 {
                    let semaphore = &self.semaphore.permits;
                    semaphore.release(self.place, Access::Permits, self.permits);
                }
            }
        }

        impl fmt::Debug for $permit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($permit)).field("permits", &self.permits).finish_non_exhaustive()
            }
        }
    )*};
}
permits!(SemaphorePermit<'_>, OwnedSemaphorePermit);
