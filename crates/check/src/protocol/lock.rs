//! Locks: a mutex, either mode of a readers-writer lock, and whatever else replies with a grant.

use raddle_engine::object::Call;
use raddle_engine::{Grant, ObjectId, World};

use super::{Perform, call};

/// Takes a lock with a call that waits for it; returns true when the lock is poisoned.
#[inline(always)]
pub fn lock<P: Perform>(
    runtime: P,
    site: P::Site,
    take: impl Into<Call>,
    object: impl FnOnce(&mut World) -> ObjectId,
) -> bool {
    match try_lock(runtime, site, take, object) {
        Some(poisoned) => poisoned,
        None => unreachable!("raddle: a lock that is waited for was refused; please report this"),
    }
}

/// Takes a lock; returns whether it is poisoned, or `None` when the call does not wait and another
/// thread holds the lock.
#[inline(always)]
pub fn try_lock<P: Perform>(
    runtime: P,
    site: P::Site,
    take: impl Into<Call>,
    object: impl FnOnce(&mut World) -> ObjectId,
) -> Option<bool> {
    match call(runtime, site, take, object).to_grant() {
        Grant::Taken { poisoned } => Some(poisoned),
        Grant::Refused => None,
    }
}

/// True when a guard that is dropped poisons its lock, as in std: the thread is unwinding now and
/// was not when it took the lock.
#[inline]
pub fn poisons(was_unwinding: bool, is_unwinding: bool) -> bool {
    is_unwinding && !was_unwinding
}
