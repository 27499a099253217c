//! Locks by their words, in code that has lost the functions it is from.
//!
//! Where several paths through inlined functions end with the same instructions, an optimiser keeps one copy,
//! which is then in none of these functions. Only std's functions use the word of a lock. If the word is that
//! of a lock which is held, the values say what releases it; any other access cannot be distinguished, and
//! the program is not checked.

use super::inlined::{Half, refuse};
use super::rwlock::Shared;
use super::{Access, at, mutex, once, parker, rwlock};
use crate::execution::shadow_stack;
use crate::memory::objects;

const UNLOCKED: u64 = 0;
const READER: u64 = rwlock::READER as u64;
const WRITER: u64 = rwlock::WRITER as u64;
/// Distance of the poison flag from the word of its lock.
const FLAG_OF_MUTEX: usize = 4;
const FLAG_OF_RWLOCK: usize = 8;

/// In guest mode: performs the operation that an access of a word of 32 bits stands for, in code of no function
/// of std's; returns the value that the access is to find. Nothing if the word is the program's own.
pub(super) fn perform(address: usize, access: Access, code: usize) -> Option<u64> {
    let kind = objects::kind(address)?;
    let word = address as *mut u32;
    let code = shadow_stack::users(code);
    match (kind, access) {
        (mutex::KIND, Access::Swap(UNLOCKED)) if mutex::is_held(word) => {
            Some(at(code, || mutex::unlock(word, code)).into())
        }
        (rwlock::KIND, Access::Subtract(READER)) => {
            rwlock::perform(word, Shared::ReadUnlock, access, code).map(u64::from)
        }
        (rwlock::KIND, Access::Subtract(WRITER)) => {
            rwlock::perform(word, Shared::WriteUnlock, access, code).map(u64::from)
        }
        // It was taken by code that is not instrumented, in std's own way.
        (mutex::KIND, Access::Swap(UNLOCKED)) => None,
        (mutex::KIND | rwlock::KIND | once::KIND | parker::KIND, _) => refuse(Half::Lost),
        _ => None,
    }
}

/// In guest mode: a byte is set, in code of no function of std's. Where it is the poison flag of a lock that the
/// running thread has, the lock is poisoned.
pub(super) fn poison(flag: usize) {
    let is_held = |size: usize, kind: &str| {
        let word = flag.wrapping_sub(size);
        objects::kind(word) == Some(kind) && objects::is_held(word)
    };
    if is_held(FLAG_OF_MUTEX, mutex::KIND) || is_held(FLAG_OF_RWLOCK, rwlock::KIND) {
        mutex::poison();
    }
}
