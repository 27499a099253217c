//! Locks of the crate parking_lot, for checks with a model of them.
//!
//! They are compiled with the program, so all accesses of their words are instrumented. They are
//! recognised by the names of their functions, as with std. The first access of each is the lock's
//! operation, and its result makes the crate take the fast path. So no thread ever waits in the
//! queues of the crate itself.
//!
//! That holds for the functions here only. In a program that uses more of the crate (upgradable locks,
//! `is_locked`), its locks are atomics and futexes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use raddle_engine::object::{Object, condvar, mutex, rwlock};
use raddle_engine::{Grant, Reply};

use super::rwlock::Shared;
use super::{Access, at, replaced};
use crate::engine::protocol::condvar::Wait;
use crate::execution::{Guest, running, shadow_stack};
use crate::host::mode::host;
use crate::memory::objects;
use crate::names::rust_paths;
use crate::threads::time;

/// Operations of these locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    Lock,
    TryLock,
    /// Waits for the lock up to a deadline.
    LockInTime,
    Unlock,
    Shared(Shared),
    ReadInTime,
    WriteInTime,
    NotifyOne,
    NotifyAll,
}

const LOCKED: u64 = 1;
const WRITER: u64 = 8;
const READER: u64 = 16;

/// Prefixes of the crate's locks, and of its condition variables.
const LOCKS: &str = "parking_lot::raw_";
const CONDVARS: &str = "parking_lot::condvar::";
/// Parts of names of functions without a model.
const UNKNOWN: [&str; 3] = ["upgrad", "::is_locked", "raw_condvar"];

const CANNOT_MODEL: &str = "the program uses parts of parking_lot that have no model, so all of its own code is \
    checked";

static IS_USED: AtomicBool = AtomicBool::new(false);

/// True if the program has such locks, and they are modelled.
#[inline]
pub(super) fn is_used() -> bool {
    IS_USED.load(Relaxed)
}

/// True if the symbol may be that of a function of the crate.
pub(super) fn may_be(symbol: &str) -> bool {
    symbol.contains("parking_lot")
}

/// Replaces the functions of a file of the program's, unless some have no model.
pub(super) fn look(functions: &[replaced::Found]) {
    let paths = || functions.iter().map(|(path, ..)| path);
    let mut own = paths().filter(|path| path.starts_with(LOCKS) || path.starts_with(CONDVARS));
    let is_unknown = |path: &String| UNKNOWN.iter().any(|name| path.contains(name));
    let has_locks = paths().any(|path| path.starts_with(LOCKS));
    if !has_locks || !rust_paths::hides_parking_lot() {
        return;
    }
    match !own.any(is_unknown) && replaced::replace_parking(functions) {
        true => IS_USED.store(true, Relaxed),
        false => {
            eprintln!("raddle: {CANNOT_MODEL}");
            rust_paths::hide_parking_lot(false);
        }
    }
}

/// Returns the operation of the function with this path, if it has one.
pub(super) fn wanted(path: &str) -> Option<Wanted> {
    let (of, method) = path.strip_prefix("parking_lot::")?.rsplit_once("::")?;
    Some(match (of, method) {
        ("raw_mutex::RawMutex", "lock") => Wanted::Lock,
        ("raw_mutex::RawMutex", "try_lock") => Wanted::TryLock,
        ("raw_mutex::RawMutex", "try_lock_for" | "try_lock_until") => Wanted::LockInTime,
        ("raw_mutex::RawMutex", "unlock" | "unlock_fair") => Wanted::Unlock,
        ("condvar::Condvar", "notify_one") => Wanted::NotifyOne,
        ("condvar::Condvar", "notify_all") => Wanted::NotifyAll,
        ("raw_rwlock::RawRwLock", "try_lock_exclusive_for" | "try_lock_exclusive_until") => {
            Wanted::WriteInTime
        }
        ("raw_rwlock::RawRwLock", method) if method.starts_with("try_lock_shared_") => {
            match method.ends_with("_for") || method.ends_with("_until") {
                true => Wanted::ReadInTime,
                false => Wanted::Shared(Shared::TryRead),
            }
        }
        ("raw_rwlock::RawRwLock", method) => Wanted::Shared(match method {
            "lock_shared" | "lock_shared_recursive" => Shared::Read,
            "try_lock_shared" => Shared::TryRead,
            "lock_exclusive" => Shared::Write,
            "try_lock_exclusive" => Shared::TryWrite,
            "unlock_shared" => Shared::ReadUnlock,
            "unlock_exclusive" | "unlock_exclusive_fair" => Shared::WriteUnlock,
            "downgrade" => Shared::Downgrade,
            _ => return None,
        }),
        _ => return None,
    })
}

/// True if the function is a part of several of these functions.
pub(super) fn is_part(path: &str) -> bool {
    path == "parking_lot::raw_rwlock::RawRwLock::try_lock_shared_fast"
}

/// A word and its number of bits.
#[derive(Clone, Copy)]
struct Word {
    address: usize,
    bits: u8,
}

impl Word {
    fn read(self) -> u64 {
        // SAFETY: the address must be that of a live lock: a method of the lock is running, and has passed
        // it.
        unsafe {
            match self.bits {
                8 => (self.address as *const u8).read_volatile().into(),
                _ => (self.address as *const u64).read_volatile(),
            }
        }
    }

    fn write(self, value: u64) {
        // SAFETY: as for `read`; other threads of the program do not run meanwhile.
        unsafe {
            match self.bits {
                8 => (self.address as *mut u8).write_volatile(value as u8),
                _ => (self.address as *mut u64).write_volatile(value),
            }
        }
    }

    /// Changes the word; returns the value before.
    fn change(self, to: impl FnOnce(u64) -> u64) -> u64 {
        let before = self.read();
        self.write(to(before));
        before
    }

    fn is_held(self) -> bool {
        objects::with(self.address, |known| known.holder.is_some()) == Some(true)
    }
}

/// In guest mode: performs the operation that an access in one of these functions represents;
/// returns the value that the access must return.
pub(super) fn perform(
    wanted: Wanted,
    (address, bits): (usize, u8),
    access: Access,
    code: usize,
) -> Option<u64> {
    let word = Word { address, bits };
    let in_time = || running().may_time_out();
    let wanted = match wanted {
        Wanted::LockInTime if !in_time() => Wanted::Lock,
        Wanted::ReadInTime if in_time() => Wanted::Shared(Shared::TryRead),
        Wanted::ReadInTime => Wanted::Shared(Shared::Read),
        Wanted::WriteInTime if in_time() => Wanted::Shared(Shared::TryWrite),
        Wanted::WriteInTime => Wanted::Shared(Shared::Write),
        wanted => wanted,
    };
    Some(match (wanted, access) {
        (Wanted::Lock, Access::CompareExchange(..)) => {
            at(code, || lock(word, code));
            0
        }
        (Wanted::TryLock, Access::Load) => at(code, || {
            match call_mutex(address, mutex::Call::TryLock, code).to_grant() {
                Grant::Refused => LOCKED,
                Grant::Taken { .. } => {
                    objects::hold(address);
                    word.read()
                }
            }
        }),
        (Wanted::TryLock, Access::CompareExchange(_, new)) => word.change(|_| new),
        (Wanted::LockInTime, Access::CompareExchange(_, new)) => at(code, || {
            match call_mutex(address, mutex::Call::TryLock, code).to_grant() {
                Grant::Refused => LOCKED,
                Grant::Taken { .. } => {
                    objects::hold(address);
                    word.change(|_| new)
                }
            }
        }),
        (Wanted::Unlock, Access::CompareExchange(..)) if word.is_held() => {
            at(code, || unlock(word, code));
            LOCKED
        }
        (Wanted::NotifyOne, Access::Load) => notify(address, condvar::Call::NotifyOne, code),
        (Wanted::NotifyAll, Access::Load) => notify(address, condvar::Call::NotifyAll, code),
        (Wanted::Shared(wanted), _) => shared(word, wanted, access, code)?,
        _ => return None,
    })
}

fn call_mutex(address: usize, call: mutex::Call, code: usize) -> Reply {
    let initial = || Object::Mutex(mutex::Mutex::default());
    objects::call(address, "Mutex", initial, call, code)
}

/// In host mode: takes a lock.
fn lock(word: Word, code: usize) {
    call_mutex(word.address, mutex::Call::Lock, code);
    objects::hold(word.address);
    word.write(LOCKED);
}

/// In host mode: releases a lock. There is no poisoning.
fn unlock(word: Word, code: usize) {
    objects::let_go(word.address);
    let poison = false;
    call_mutex(word.address, mutex::Call::Unlock { poison }, code);
    word.write(0);
}

/// Changes the number of readers that hold the lock; returns it.
fn count(word: Word, change: impl FnOnce(&mut u32)) -> u32 {
    objects::count(word.address, change)
}

fn shared(word: Word, wanted: Shared, access: Access, code: usize) -> Option<u64> {
    use Shared::*;
    let call = |call: rwlock::Call| {
        let initial = || Object::RwLock(rwlock::RwLock::default());
        at(code, || {
            objects::call(word.address, "RwLock", initial, call, code)
        })
    };
    let read = || {
        count(word, |readers| *readers += 1);
        word.read()
    };
    let write = |value| {
        host(|| objects::hold(word.address));
        count(word, |readers| *readers = 0);
        word.change(|_| value)
    };
    Some(match (wanted, access) {
        (Read, Access::Load) => {
            call(rwlock::Call::Read);
            read()
        }
        (TryRead, Access::Load) => match call(rwlock::Call::TryRead).to_grant() {
            Grant::Refused => WRITER,
            Grant::Taken { .. } => read(),
        },
        (Read | TryRead, Access::CompareExchange(_, new)) => word.change(|_| new),
        (Write, Access::CompareExchange(_, new)) => {
            call(rwlock::Call::Write);
            write(new)
        }
        (TryWrite, Access::CompareExchange(_, new)) => {
            match call(rwlock::Call::TryWrite).to_grant() {
                Grant::Refused => word.read(),
                Grant::Taken { .. } => write(new),
            }
        }
        (ReadUnlock, Access::Subtract(_)) if count(word, |_| ()) > 0 => {
            count(word, |readers| *readers -= 1);
            call(rwlock::Call::ReadUnlock);
            word.change(|before| before - READER)
        }
        (WriteUnlock, Access::CompareExchange(_, new)) if word.is_held() => {
            objects::let_go(word.address);
            call(rwlock::Call::WriteUnlock { poison: false });
            word.change(|_| new)
        }
        (Downgrade, Access::Add(_)) if word.is_held() => {
            objects::let_go(word.address);
            count(word, |readers| *readers = 1);
            call(rwlock::Call::Downgrade);
            word.change(|_| READER)
        }
        _ => return None,
    })
}

fn call_condvar(address: usize, call: condvar::Call, code: usize) -> Reply {
    let initial = || Object::Condvar(condvar::Condvar::default());
    objects::call(address, "Condvar", initial, call, code)
}

/// Changes the number of waiters that were not notified; returns it.
fn waiters(address: usize, change: impl FnOnce(&mut u32)) -> u32 {
    objects::count(address, change)
}

/// Notifies; returns the value that the access of the word must return: nonzero if there are
/// waiters.
fn notify(address: usize, call: condvar::Call, code: usize) -> u64 {
    at(code, || call_condvar(address, call, code));
    waiters(address, |_| ()).into()
}

/// Stand-in of a lock's slow path, which only timed-out calls take.
pub(super) extern "C-unwind" fn lock_slowly(_code: usize) -> bool {
    false
}

/// Stand-in of `Condvar::notify_one_slow`, after a waiter was notified.
pub(super) extern "C-unwind" fn notify_one(condvar: usize, _mutex: usize, _code: usize) -> bool {
    waiters(condvar, |waiters| *waiters -= 1);
    true
}

/// Stand-in of `Condvar::notify_all_slow`; returns the number of waiters.
pub(super) extern "C-unwind" fn notify_all(condvar: usize, _mutex: usize, _code: usize) -> usize {
    let count = waiters(condvar, |_| ());
    waiters(condvar, |waiters| *waiters = 0);
    count as usize
}

/// Stand-in of `Condvar::wait_until_internal`, with the two words of an optional time; returns true
/// if it timed out.
pub(super) extern "C-unwind" fn wait(
    condvar: usize,
    mutex: usize,
    seconds: i64,
    nanoseconds: u32,
    code: usize,
) -> bool {
    const NEVER: u32 = 1_000_000_000;
    let code = shadow_stack::users(code);
    let until = (nanoseconds < NEVER).then_some(libc::timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds.into(),
    });
    let word = Word {
        address: mutex,
        bits: 8,
    };
    host(|| {
        let time = until.map(|until| time::time_left(&until));
        wait_for(condvar, word, time, code)
    })
}

fn wait_for(condvar: usize, mutex: Word, time: Option<Duration>, code: usize) -> bool {
    let wait = Wait {
        time: time.map(|time| move || time),
        // The crate promises that there are no spurious wake-ups.
        spurious: false,
        looked: true,
        call: |wanted| call_condvar(condvar, wanted, code),
    };
    let unlock = || {
        waiters(condvar, |waiters| *waiters += 1);
        unlock(mutex, code);
    };
    wait.run(Guest, unlock, |(), timed_out| {
        if timed_out {
            waiters(condvar, |waiters| *waiters -= 1);
        }
        lock(mutex, code);
        timed_out
    })
}
