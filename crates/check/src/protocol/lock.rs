//! Locks: a mutex, either mode of a readers-writer lock, and other objects that reply with a grant.

use raddle_engine::object::{Call, rwlock};
use raddle_engine::{Chance, Grant, ObjectId, Operation, Reply, World};

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

/// Takes a readers-writer lock for reading, waiting until no thread writes; returns true when it is
/// poisoned. `may_read_behind` returns true if the thread already holds the lock for reading, so
/// that a waiting writer may block it.
#[inline]
pub fn read<P: Perform>(
    runtime: P,
    site: P::Site,
    object: impl Fn(&mut World) -> ObjectId,
    may_read_behind: impl FnOnce(&World, ObjectId) -> bool,
) -> bool {
    let mut reads_already = false;
    let reply = runtime.perform(site, |world| {
        let object = object(world);
        reads_already = may_read_behind(world, object);
        match reads_already {
            true => Operation::Chance {
                what: Chance::WriterFirst,
            },
            false => Operation::Call {
                object,
                call: rwlock::Call::Read.into(),
            },
        }
    });
    match reads_already {
        true if reply.to_answer() => lock(runtime, site, rwlock::Call::ReadBehind, object),
        true => lock(runtime, site, rwlock::Call::Read, object),
        false => match reply.to_grant() {
            Grant::Taken { poisoned } => poisoned,
            Grant::Refused => unreachable!("raddle: a read that waits was refused"),
        },
    }
}

/// Takes a lock; returns true when it is poisoned, or `None` when the call does not wait and
/// another thread holds the lock.
#[inline(always)]
pub fn try_lock<P: Perform>(
    runtime: P,
    site: P::Site,
    take: impl Into<Call>,
    object: impl FnOnce(&mut World) -> ObjectId,
) -> Option<bool> {
    taken(call(runtime, site, take, object))
}

/// Returns true when the lock that was taken is poisoned, or `None` when it was refused.
#[inline(always)]
pub fn taken(reply: Reply) -> Option<bool> {
    match reply.to_grant() {
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
