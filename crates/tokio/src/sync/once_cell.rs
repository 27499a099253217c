//! A value that is initialized once, by a future.

use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::fmt;
use std::panic::Location;

use raddle_engine::object::fair::Access;

use super::fair::{Fair, Taken};
use crate::object::Place;

pub use real::sync::SetError;

/// A value that is initialized once, as `tokio::sync::OnceCell`. If an initialization fails, panics or is
/// dropped, the next one begins.
pub struct OnceCell<T> {
    /// The permit to initialize; closed when there is a value.
    permit: Fair,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, by the task with the permit, and read only after that.
unsafe impl<T: Send> Send for OnceCell<T> {}
// SAFETY: as above; several threads may read it, and another one may drop it.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

/// The permit to initialize, which is returned when the initialization does not succeed.
struct Initializing<'a> {
    permit: &'a Fair,
    place: Place,
}

impl Drop for Initializing<'_> {
    fn drop(&mut self) {
        self.permit.release(self.place, Access::Permits, 1);
    }
}

impl<T> OnceCell<T> {
    /// Creates an empty cell.
    #[track_caller]
    pub fn new() -> Self {
        OnceCell {
            permit: Fair::new("OnceCell", 1),
            value: UnsafeCell::new(None),
        }
    }

    /// Creates an empty cell in a constant; a check refuses it.
    #[track_caller]
    pub const fn const_new() -> Self {
        OnceCell {
            permit: Fair::new_const("OnceCell", 1),
            value: UnsafeCell::new(None),
        }
    }

    /// True when there is a value.
    #[track_caller]
    pub fn initialized(&self) -> bool {
        self.permit.is_closed(Location::caller())
    }

    /// Returns the value, if there is one.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.value_at(Location::caller())
    }

    fn value_at(&self, place: Place) -> Option<&T> {
        // SAFETY: the permit is closed after the only write of the value.
        let value = || unsafe { &*self.value.get() };
        self.permit.is_closed(place).then(value)?.as_ref()
    }

    /// Writes the value and closes the permit, which the caller has.
    fn fill(&self, initializing: Initializing<'_>, value: T) -> &T {
        // SAFETY: the caller has the only permit, so no other task writes, and none reads before
        // the permit is closed.
        unsafe { *self.value.get() = Some(value) };
        self.permit.close(initializing.place);
        // SAFETY: as above; this was the only write.
        let value = unsafe { &*self.value.get() };
        value.as_ref().expect("it was written")
    }

    /// Sets the value, unless there is one or an initialization runs.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        let place = Location::caller();
        match self.permit.try_take(place, Access::Permits, 1) {
            Taken::Yes => {
                let permit = &self.permit;
                self.fill(Initializing { permit, place }, value);
                Ok(())
            }
            Taken::Closed => Err(SetError::AlreadyInitializedError(value)),
            Taken::No => Err(SetError::InitializingError(value)),
        }
    }

    /// Returns the value, after initializing it if there is none.
    #[track_caller]
    pub fn get_or_init<F, I>(&self, init: F) -> impl Future<Output = &T> + use<'_, T, F, I>
    where
        F: FnOnce() -> I,
        I: Future<Output = T>,
    {
        let value = self.get_or_try_init(|| {
            let init = init();
            async move { Ok::<T, Infallible>(init.await) }
        });
        async move {
            match value.await {
                Ok(value) => value,
                Err(never) => match never {},
            }
        }
    }

    /// Returns the value, after initializing it if there is none.
    #[track_caller]
    pub fn get_or_try_init<E, F, I>(
        &self,
        init: F,
    ) -> impl Future<Output = Result<&T, E>> + use<'_, T, E, F, I>
    where
        F: FnOnce() -> I,
        I: Future<Output = Result<T, E>>,
    {
        let place = Location::caller();
        async move {
            if let Some(value) = self.value_at(place) {
                return Ok(value);
            }
            if !self.permit.acquire_at(place, Access::Permits, 1).await {
                return Ok(self
                    .value_at(place)
                    .expect("another task has initialized it"));
            }
            let permit = &self.permit;
            let initializing = Initializing { permit, place };
            let value = init().await?;
            Ok(self.fill(initializing, value))
        }
    }

    /// Returns the value, which no other reference reaches.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Returns the value.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }
}

impl<T> Default for OnceCell<T> {
    #[track_caller]
    fn default() -> Self {
        OnceCell::new()
    }
}

impl<T> fmt::Debug for OnceCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceCell").finish_non_exhaustive()
    }
}
