//! A readers-writer lock with std's surface.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use raddle_engine::object::{self, Object, rwlock::Call};
use raddle_engine::{ObjectId, Reply, World};

use super::mutex::or_poisoned;
use crate::labelled::{Labelled, Thing};
use raddle_check::protocol;
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::statics::Virtual;
use raddle_check::runtime::{Context, Made, current};

/// A readers-writer lock, as [`std::sync::RwLock`].
///
/// Inside a check, taking the lock and releasing it are operations that the engine schedules; the
/// thread that gets a free lock is one of the choices that it explores. Outside one, this is std's
/// lock.
///
/// std leaves open whether readers may overtake a waiting writer. Inside a check they may. A thread
/// that already reads may also have to wait behind the writer when it reads again, which is a
/// deadlock; see [`Checker::waiting_writers`](crate::Checker::waiting_writers).
pub struct RwLock<T: ?Sized> {
    lock: Lock,
    data: UnsafeCell<T>,
}

/// The lock without its data, so that the type of a read guard depends on `T` only as `&T` does.
struct Lock {
    identity: Identity,
    made: Made,
    /// Locked inside a check too, so that code outside it can never share the data.
    raw: std::sync::RwLock<()>,
    /// Poison outside checks; inside one, the engine has it.
    poisoned: AtomicBool,
}

// SAFETY: the lock owns its data.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: the lock gives out one exclusive reference, or shared ones on several threads at a time.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

// As in std: a panic of a writer poisons the lock.
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// Shared access to the data of a locked [`RwLock`]; unlocks when dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockReadGuard<'a, T: ?Sized + 'a> {
    lock: &'a Lock,
    /// Valid for reading as long as the guard exists.
    data: NonNull<T>,
    raw: Option<std::sync::RwLockReadGuard<'a, ()>>,
    /// Stamp of the execution in which it was locked; 0 outside.
    stamp: u64,
    place: &'static Location<'static>,
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

/// Exclusive access to the data of a locked [`RwLock`]; unlocks when dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
#[clippy::has_significant_drop]
pub struct RwLockWriteGuard<'a, T: ?Sized + 'a> {
    lock: &'a RwLock<T>,
    raw: Option<std::sync::RwLockWriteGuard<'a, ()>>,
    /// Stamp of the execution in which it was locked; 0 outside.
    stamp: u64,
    /// True when the thread was panicking already when it took the lock.
    panicking: bool,
    place: &'static Location<'static>,
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<T> RwLock<T> {
    /// Creates a free lock around `value`.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        let lock = Lock {
            identity: Identity::new(),
            made: Made {
                kind: "RwLock",
                place: Location::caller(),
            },
            raw: std::sync::RwLock::new(()),
            poisoned: AtomicBool::new(false),
        };
        RwLock {
            lock,
            data: UnsafeCell::new(value),
        }
    }

    /// Returns the data, when no other thread can have the lock; an error if the lock is poisoned.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.lock.owner_sees_poison();
        or_poisoned(self.data.into_inner(), poisoned)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock for reading, after waiting until it has no writer; returns an error if it is
    /// poisoned.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        let Some(context) = self.lock.using(place) else {
            let raw = self.lock.raw.read();
            let raw = raw.unwrap_or_else(PoisonError::into_inner);
            return self.read_outside(raw, place);
        };
        let this = context.here(self);
        let object = |world: &mut World| this.lock.object(context, world);
        let behind = |world: &World, lock| world.may_read_behind(context.thread(), lock);
        let poisoned = protocol::lock::read(context, place, object, behind);
        this.read_inside(context, poisoned, place)
    }

    /// Takes the lock for reading if it has no writer; returns an error if it has one, or if it is
    /// poisoned.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let place = Location::caller();
        let Some(context) = self.lock.using(place) else {
            let raw = taken(self.lock.raw.try_read()).ok_or(TryLockError::WouldBlock)?;
            return Ok(self.read_outside(raw, place)?);
        };
        let this = context.here(self);
        let object = |world: &mut World| this.lock.object(context, world);
        match protocol::lock::try_lock(context, place, Call::TryRead, object) {
            Some(poisoned) => Ok(this.read_inside(context, poisoned, place)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// Takes the lock for writing, after waiting until it is free; returns an error if it is
    /// poisoned.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        let Some(context) = self.lock.using(place) else {
            let raw = self.lock.raw.write();
            let raw = raw.unwrap_or_else(PoisonError::into_inner);
            return self.write_outside(raw, place);
        };
        let this = context.here(self);
        let object = |world: &mut World| this.lock.object(context, world);
        let poisoned = protocol::lock::lock(context, place, Call::Write, object);
        this.write_inside(context, poisoned, place)
    }

    /// Takes the lock for writing if it is free; returns an error if it is not, or if it is
    /// poisoned.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let place = Location::caller();
        let Some(context) = self.lock.using(place) else {
            let raw = taken(self.lock.raw.try_write()).ok_or(TryLockError::WouldBlock)?;
            return Ok(self.write_outside(raw, place)?);
        };
        let this = context.here(self);
        let object = |world: &mut World| this.lock.object(context, world);
        match protocol::lock::try_lock(context, place, Call::TryWrite, object) {
            Some(poisoned) => Ok(this.write_inside(context, poisoned, place)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// True when a thread panicked while it had the lock for writing.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        match self.lock.using(Location::caller()) {
            None => self.lock.poisoned.load(Ordering::Relaxed),
            Some(context) => {
                let lock = &context.here(self).lock;
                let reply = lock.call(context, Location::caller(), Call::IsPoisoned);
                reply.to_answer()
            }
        }
    }

    /// Removes the poison.
    #[track_caller]
    pub fn clear_poison(&self) {
        match self.lock.using(Location::caller()) {
            None => self.lock.poisoned.store(false, Ordering::Relaxed),
            Some(context) => {
                let lock = &context.here(self).lock;
                lock.call(context, Location::caller(), Call::ClearPoison);
            }
        }
    }

    /// Returns the data, when no other thread can have the lock; an error if the lock is poisoned.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.lock.owner_sees_poison();
        or_poisoned(self.data.get_mut(), poisoned)
    }

    fn read_outside<'a>(
        &'a self,
        raw: std::sync::RwLockReadGuard<'a, ()>,
        place: &'static Location<'static>,
    ) -> LockResult<RwLockReadGuard<'a, T>> {
        let guard = self.read_guard(Some(raw), 0, place);
        or_poisoned(guard, self.lock.poisoned.load(Ordering::Relaxed))
    }

    fn read_inside(
        &self,
        context: &Context,
        poisoned: bool,
        place: &'static Location<'static>,
    ) -> LockResult<RwLockReadGuard<'_, T>> {
        let raw = taken(self.lock.raw.try_read())
            .unwrap_or_else(|| self.lock.held_outside(context, place));
        or_poisoned(self.read_guard(Some(raw), context.stamp(), place), poisoned)
    }

    fn read_guard<'a>(
        &'a self,
        raw: Option<std::sync::RwLockReadGuard<'a, ()>>,
        stamp: u64,
        place: &'static Location<'static>,
    ) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            lock: &self.lock,
            // SAFETY: a cell's pointer to its data is never null.
            data: unsafe { NonNull::new_unchecked(self.data.get()) },
            raw,
            stamp,
            place,
        }
    }

    fn write_outside<'a>(
        &'a self,
        raw: std::sync::RwLockWriteGuard<'a, ()>,
        place: &'static Location<'static>,
    ) -> LockResult<RwLockWriteGuard<'a, T>> {
        let guard = RwLockWriteGuard {
            lock: self,
            raw: Some(raw),
            stamp: 0,
            panicking: std::thread::panicking(),
            place,
        };
        or_poisoned(guard, self.lock.poisoned.load(Ordering::Relaxed))
    }

    fn write_inside(
        &self,
        context: &Context,
        poisoned: bool,
        place: &'static Location<'static>,
    ) -> LockResult<RwLockWriteGuard<'_, T>> {
        let raw = taken(self.lock.raw.try_write())
            .unwrap_or_else(|| self.lock.held_outside(context, place));
        let guard = RwLockWriteGuard {
            lock: self,
            raw: Some(raw),
            stamp: context.stamp(),
            panicking: context.is_unwinding(),
            place,
        };
        or_poisoned(guard, poisoned)
    }
}

impl<T: ?Sized> Virtual for RwLock<T> {
    const LENDS: bool = false;
    const DROPS: bool = std::mem::needs_drop::<T>();

    fn identity(&self) -> &Identity {
        &self.lock.identity
    }

    fn made(&self) -> &Made {
        &self.lock.made
    }

    fn is_guarded(&self) -> bool {
        taken(self.lock.raw.try_write()).is_none()
    }
}

/// Returns the guard of std's lock, if it was free; its own poison is not used.
fn taken<G>(result: TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Lock {
    /// Returns the check that the calling thread belongs to.
    #[inline]
    fn using<'a>(&self, place: &'static Location<'static>) -> Option<&'a Context> {
        using(&self.identity, &self.made, place)
    }

    fn call(&self, context: &Context, place: &'static Location<'static>, call: Call) -> Reply {
        protocol::call(context, place, call, |world| self.object(context, world))
    }

    fn object(&self, context: &Context, world: &mut World) -> ObjectId {
        context.object(world, &self.identity, self.made, || self.state())
    }

    /// Returns the state at the beginning of an execution.
    fn state(&self) -> Object {
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        Object::RwLock(object::rwlock::RwLock::new(poisoned))
    }

    #[track_caller]
    fn owner_sees_poison(&self) -> bool {
        let context = self.using(Location::caller());
        match context.and_then(|context| context.owned_state(&self.identity)) {
            Some(Object::RwLock(state)) => state.poisoned(),
            _ => self.poisoned.load(Ordering::Relaxed),
        }
    }

    #[cold]
    fn held_outside(&self, context: &Context, place: &'static Location<'static>) -> ! {
        context.stop_if_freed(place);
        panic!(
            "raddle: the RwLock made at {} is held outside this execution: by a thread \
             that is not controlled, another worker of the check, or a guard that an earlier \
             execution never dropped. Create \
             the RwLock inside the check, and use `raddle::thread` for all threads that share it",
            self.made.place
        )
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Turns the guard into one for reading, with no other writer in between.
    #[track_caller]
    pub fn downgrade(mut s: Self) -> RwLockReadGuard<'a, T> {
        let place = Location::caller();
        // Before the operation, which may let another thread read.
        let raw = s.raw.take().map(std::sync::RwLockWriteGuard::downgrade);
        if let Some(context) = current()
            && context.stamp() == s.stamp
        {
            // If this unwinds, the lock is still a writer's, and `s` releases it.
            s.lock.lock.call(context, place, Call::Downgrade);
        }
        let guard = s.lock.read_guard(raw, s.stamp, place);
        std::mem::forget(s);
        guard
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        // Before the unlocking operation, which may let another thread take the lock.
        self.raw = None;
        if let Some(context) = current()
            && context.stamp() == self.stamp
        {
            self.lock.call(context, self.place, Call::ReadUnlock);
        }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        // Before the unlocking operation, which may let another thread take the lock.
        self.raw = None;
        let lock = &self.lock.lock;
        match current() {
            Some(context) if context.stamp() == self.stamp => {
                let is_unwinding = context.is_unwinding() && !context.has_stopped();
                let poison = protocol::lock::poisons(self.panicking, is_unwinding);
                lock.call(context, self.place, Call::WriteUnlock { poison });
            }
            _ => {
                let is_unwinding = std::thread::panicking();
                if self.stamp == 0 && protocol::lock::poisons(self.panicking, is_unwinding) {
                    lock.poisoned.store(true, Ordering::Relaxed);
                }
            }
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard has the lock, so no thread writes; the lock outlives it.
        unsafe { self.data.as_ref() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard has the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard has the lock and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Labelled for RwLock<T> {
    fn thing(&self) -> Thing<'_> {
        let Self { lock, .. } = current().map_or(self, |context| context.here(self));
        Thing::object(&lock.identity, lock.made, lock.state())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => text.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &format_args!("<locked>")),
        };
        text.field("poisoned", &self.is_poisoned());
        text.finish_non_exhaustive()
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
