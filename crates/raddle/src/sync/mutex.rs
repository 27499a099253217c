//! A mutual-exclusion lock with std's surface.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use raddle_engine::object::{self, Object, mutex::Call};
use raddle_engine::{ObjectId, Operation, Reply, World};

use crate::labelled::{Labelled, Thing};
use raddle_check::protocol;
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::using;
use raddle_check::runtime::statics::Virtual;
use raddle_check::runtime::{Context, Made, current};

/// A mutual-exclusion lock, as [`std::sync::Mutex`].
///
/// Inside a check, locking and unlocking are operations that the engine schedules; the thread that
/// gets a free lock is one of the choices that it explores. Outside one, this is std's lock.
pub struct Mutex<T: ?Sized> {
    identity: Identity,
    made: Made,
    /// Locked inside a check too, so that code outside it can never share the data.
    raw: std::sync::Mutex<()>,
    /// Poison outside checks; inside one, the engine has it.
    poisoned: AtomicBool,
    /// True when the thread that has the lock has borrowed the data mutably. It is not in the guard, which is on a stack whose
    /// bytes tell the rounds of a loop apart.
    changed: AtomicBool,
    data: UnsafeCell<T>,
}

// SAFETY: the lock gives out one reference at a time, so sharing it needs what sending `T` needs.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

// As in std: a panic while the lock is held poisons it.
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

/// Access to the data of a locked [`Mutex`]; unlocks when dropped.
#[must_use = "if unused the Mutex will immediately unlock"]
#[clippy::has_significant_drop]
pub struct MutexGuard<'a, T: ?Sized + 'a> {
    lock: &'a Mutex<T>,
    raw: Option<std::sync::MutexGuard<'a, ()>>,
    /// Stamp of the execution in which it was locked; 0 outside.
    stamp: u64,
    /// True when the thread was panicking already when it took the lock.
    panicking: WideBool,
    /// 1 when the data was used since, so that a wait is for a condition of the data.
    looked: AtomicUsize,
    place: &'static Location<'static>,
}

/// A bool of the size of a word. A thread's loop that waits is found by the bytes of its stack, and those
/// of padding may differ from round to round.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct WideBool(usize);

impl WideBool {
    #[inline]
    pub(super) fn new(value: bool) -> Self {
        WideBool(value.into())
    }

    #[inline]
    pub(super) fn get(self) -> bool {
        self.0 != 0
    }
}

// SAFETY: a shared guard gives out shared references to the data only.
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    /// Creates a free lock around `value`.
    #[track_caller]
    pub const fn new(value: T) -> Self {
        Mutex {
            identity: Identity::new(),
            made: Made {
                kind: "Mutex",
                place: Location::caller(),
            },
            raw: std::sync::Mutex::new(()),
            poisoned: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            data: UnsafeCell::new(value),
        }
    }

    /// Returns the data, when no other thread can have the lock; an error if the lock is poisoned.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.owner_sees_poison();
        or_poisoned(self.data.into_inner(), poisoned)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the lock is free and takes it; returns an error if it is poisoned.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.lock_at(Location::caller())
    }

    /// Locks as [`lock`](Self::lock) does, at this place in the source.
    pub(crate) fn lock_at(
        &self,
        place: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'_, T>> {
        let Some(context) = using(&self.identity, &self.made, place) else {
            let raw = self.raw.lock().unwrap_or_else(PoisonError::into_inner);
            return self.guard_outside(raw, place);
        };
        let lock = context.here(self);
        let object = |world: &mut World| lock.object(context, world);
        let poisoned = protocol::lock::lock(context, place, Call::Lock, object);
        lock.guard_inside(context, poisoned, place)
    }

    /// Takes the lock if it is free; returns an error if it is not, or if it is poisoned.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let place = Location::caller();
        let Some(context) = using(&self.identity, &self.made, place) else {
            let raw = match self.raw.try_lock() {
                Ok(raw) => raw,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return Err(TryLockError::WouldBlock),
            };
            return Ok(self.guard_outside(raw, place)?);
        };
        let lock = context.here(self);
        let object = |world: &mut World| lock.object(context, world);
        match protocol::lock::try_lock(context, place, Call::TryLock, object) {
            Some(poisoned) => Ok(lock.guard_inside(context, poisoned, place)?),
            None => Err(TryLockError::WouldBlock),
        }
    }

    /// True when a thread panicked while it had the lock.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        match using(&self.identity, &self.made, Location::caller()) {
            None => self.poisoned.load(Ordering::Relaxed),
            Some(context) => {
                let lock = context.here(self);
                lock.call(context, Location::caller(), Call::IsPoisoned)
                    .to_answer()
            }
        }
    }

    /// Removes the poison.
    #[track_caller]
    pub fn clear_poison(&self) {
        match using(&self.identity, &self.made, Location::caller()) {
            None => self.poisoned.store(false, Ordering::Relaxed),
            Some(context) => {
                let lock = context.here(self);
                lock.call(context, Location::caller(), Call::ClearPoison);
            }
        }
    }

    /// Returns the data, when no other thread can have the lock; an error if the lock is poisoned.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.owner_sees_poison();
        or_poisoned(self.data.get_mut(), poisoned)
    }

    #[inline(always)]
    fn call(&self, context: &Context, place: &'static Location<'static>, call: Call) -> Reply {
        protocol::call(context, place, call, |world| self.object(context, world))
    }

    #[inline(always)]
    fn object(&self, context: &Context, world: &mut World) -> ObjectId {
        context.object(world, &self.identity, self.made, || self.state())
    }

    /// Returns the state at the beginning of an execution.
    fn state(&self) -> Object {
        let poisoned = self.poisoned.load(Ordering::Relaxed);
        Object::Mutex(object::mutex::Mutex::new(poisoned))
    }

    #[track_caller]
    fn owner_sees_poison(&self) -> bool {
        let context = using(&self.identity, &self.made, Location::caller());
        match context.and_then(|context| context.owned_state(&self.identity)) {
            Some(Object::Mutex(state)) => state.poisoned(),
            _ => self.poisoned.load(Ordering::Relaxed),
        }
    }

    fn guard_outside<'a>(
        &'a self,
        raw: std::sync::MutexGuard<'a, ()>,
        place: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let panicking = WideBool::new(std::thread::panicking());
        let guard = MutexGuard {
            lock: self,
            raw: Some(raw),
            stamp: 0,
            panicking,
            looked: AtomicUsize::new(0),
            place,
        };
        or_poisoned(guard, self.poisoned.load(Ordering::Relaxed))
    }

    fn guard_inside(
        &self,
        context: &Context,
        poisoned: bool,
        place: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'_, T>> {
        let raw = match self.raw.try_lock() {
            Ok(raw) => raw,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                context.stop_if_freed(place);
                panic!(
                    "raddle: the Mutex made at {} is held outside this execution: by a thread \
                 that is not controlled, another worker of the check, or a guard that an earlier \
                 execution never dropped. \
                 Create the Mutex inside the check, and use `raddle::thread` for all threads that \
                 share it",
                    self.made.place
                )
            }
        };
        self.changed.store(false, Ordering::Relaxed);
        let guard = MutexGuard {
            lock: self,
            raw: Some(raw),
            stamp: context.stamp(),
            panicking: WideBool::new(context.is_unwinding()),
            looked: AtomicUsize::new(0),
            place,
        };
        or_poisoned(guard, poisoned)
    }
}

impl<T: ?Sized> Virtual for Mutex<T> {
    const LENDS: bool = false;
    const DROPS: bool = std::mem::needs_drop::<T>();

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn made(&self) -> &Made {
        &self.made
    }

    fn is_guarded(&self) -> bool {
        matches!(self.raw.try_lock(), Err(TryLockError::WouldBlock))
    }
}

pub(super) fn or_poisoned<V>(value: V, poisoned: bool) -> LockResult<V> {
    if poisoned {
        Err(PoisonError::new(value))
    } else {
        Ok(value)
    }
}

/// A lock that is released for the duration of a wait.
pub(super) struct GivenBack<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    panicking: WideBool,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Returns the running check, if the lock was taken in it.
    pub(super) fn context(&self) -> Option<&'static Context> {
        current().filter(|context| context.stamp() == self.stamp)
    }

    /// True when the data was used since the lock was taken.
    pub(super) fn has_looked(&self) -> bool {
        self.looked.load(Ordering::Relaxed) != 0
    }

    /// Records how the data was used, right before the lock is released. It has a frame of its own, as that of the caller is
    /// part of the state that tells the rounds of a loop apart.
    #[cold]
    #[inline(never)]
    fn record_use(&self, context: &Context) {
        if self.has_looked() {
            let has_changed = self.lock.changed.load(Ordering::Relaxed);
            let lock = |world: &mut World| self.lock.object(context, world);
            context.record_data_use(has_changed, lock);
        }
    }

    /// Returns the data, without counting as a use of it.
    pub(super) fn data(&self) -> &T {
        // SAFETY: this guard has the lock.
        unsafe { &*self.lock.data.get() }
    }

    /// Unlocks for the duration of a wait inside a check. As in std, that does not poison the lock,
    /// and whether the guard poisons it later depends on the state when it was first taken.
    pub(super) fn give_back(
        mut self,
        context: &Context,
        place: &'static Location<'static>,
    ) -> GivenBack<'a, T> {
        self.raw = None;
        if context.keeps_data_uses() {
            self.record_use(context);
        }
        let unlock = Call::Unlock { poison: false };
        self.lock.call(context, place, unlock);
        let given_back = GivenBack {
            lock: self.lock,
            panicking: self.panicking,
        };
        std::mem::forget(self);
        given_back
    }

    /// Waits with std's own guard, outside a check.
    pub(super) fn wait_outside<R>(
        mut self,
        wait: impl FnOnce(std::sync::MutexGuard<'a, ()>) -> (std::sync::MutexGuard<'a, ()>, R),
    ) -> LockResult<(Self, R)> {
        let raw = self.raw.take().expect("a guard has it until it is dropped");
        let (raw, result) = wait(raw);
        self.raw = Some(raw);
        let poisoned = self.lock.poisoned.load(Ordering::Relaxed);
        or_poisoned((self, result), poisoned)
    }
}

impl<'a, T: ?Sized> GivenBack<'a, T> {
    /// Takes the lock again.
    pub(super) fn take(self, place: &'static Location<'static>) -> LockResult<MutexGuard<'a, T>> {
        let result = self.lock.lock_at(place);
        let poisoned = result.is_err();
        let mut guard = result.unwrap_or_else(PoisonError::into_inner);
        guard.panicking = self.panicking;
        or_poisoned(guard, poisoned)
    }
}

impl<'a, T> GivenBack<'a, T> {
    /// Takes the lock again after a wait with a time limit, which a loop may repeat.
    #[inline(always)]
    pub(super) fn take_again(
        self,
        context: &Context,
        place: &'static Location<'static>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let reply = context.observe(place, |world| Operation::Call {
            object: self.lock.object(context, world),
            call: Call::Lock.into(),
        });
        context.apart(|| {
            let poisoned = protocol::lock::taken(reply) == Some(true);
            let result = self.lock.guard_inside(context, poisoned, place);
            let mut guard = result.unwrap_or_else(PoisonError::into_inner);
            guard.panicking = self.panicking;
            context.keep_locked(guard.data());
            or_poisoned(guard, poisoned)
        })
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        match current() {
            Some(context) if context.stamp() == self.stamp => {
                // Before the unlocking operation, which may let another thread take the lock.
                self.raw = None;
                if context.keeps_data_uses() {
                    self.record_use(context);
                }
                let is_unwinding = context.is_unwinding() && !context.has_stopped();
                let poison = protocol::lock::poisons(self.panicking.get(), is_unwinding);
                self.lock.call(context, self.place, Call::Unlock { poison });
            }
            _ => {
                // Before std's lock is released, so that the next holder observes the poison.
                let is_unwinding = std::thread::panicking();
                if self.stamp == 0 && protocol::lock::poisons(self.panicking.get(), is_unwinding) {
                    self.lock.poisoned.store(true, Ordering::Relaxed);
                }
            }
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.looked.store(1, Ordering::Relaxed);
        // SAFETY: this guard has the lock.
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        *self.looked.get_mut() = 1;
        self.lock.changed.store(true, Ordering::Relaxed);
        // SAFETY: this guard has the lock and is borrowed exclusively.
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Labelled for Mutex<T> {
    fn thing(&self) -> Thing<'_> {
        let this = current().map_or(self, |context| context.here(self));
        Thing::object(&this.identity, this.made, this.state())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => text.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => text.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => text.field("data", &"<locked>"),
        };
        text.field("poisoned", &self.is_poisoned());
        text.finish_non_exhaustive()
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
