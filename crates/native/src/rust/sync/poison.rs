//! Poison flags of locks, where a program reads or clears them.
//!
//! Each lock has a flag behind its word.

use raddle_engine::object::{self, Object, mutex, rwlock};

use super::at;
use crate::memory::objects;

/// The type of lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Mutex,
    RwLock,
}

/// In guest mode: performs a read of the flag; returns its value.
pub(super) fn is_poisoned(flag: usize, of: Of, code: usize) -> bool {
    let call = match of {
        Of::Mutex => object::Call::Mutex(mutex::Call::IsPoisoned),
        Of::RwLock => object::Call::RwLock(rwlock::Call::IsPoisoned),
    };
    at(code, || perform(flag, of, call, code).to_answer())
}

/// In guest mode: performs the clearing of the flag.
pub(super) fn clear(flag: usize, of: Of, code: usize) {
    let call = match of {
        Of::Mutex => object::Call::Mutex(mutex::Call::ClearPoison),
        Of::RwLock => object::Call::RwLock(rwlock::Call::ClearPoison),
    };
    at(code, || perform(flag, of, call, code));
}

/// In host mode: performs a call on the lock of a flag. The lock begins its own size before its
/// flag; the value comes last, since it may be unsized.
fn perform(flag: usize, of: Of, call: object::Call, code: usize) -> raddle_engine::Reply {
    let (size, kind) = match of {
        Of::Mutex => (4, "Mutex"),
        Of::RwLock => (8, "RwLock"),
    };
    let initial = || match of {
        Of::Mutex => Object::Mutex(mutex::Mutex::default()),
        Of::RwLock => Object::RwLock(rwlock::RwLock::default()),
    };
    objects::call(flag - size, kind, initial, call, code)
}
