//! Mutexes: a word with the state of the lock.
//!
//! Compiled code of std's takes and releases its own locks without instrumentation. So the word is
//! read too: a thread waits for a lock that was taken that way by std's own protocol.

use std::sync::atomic::Ordering;

use raddle_engine::object::{self, Object, mutex::Call};
use raddle_engine::{Grant, Operation, Reply, ThreadId, Update, UpdateKind};

use crate::abi::caller::keeping_top;
use crate::engine::Top;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::memory::objects;
use crate::threads::{atomics, futex};

pub(super) const KIND: &str = "Mutex";
const USES: &str = "uses a mutex";
const UNLOCKED: u32 = 0;
const LOCKED: u32 = 1;
/// Locked, with waiters.
const CONTENDED: u32 = 2;

type Word = *mut u32;

/// The thread that has poisoned the lock which it is about to release.
#[derive(Default)]
pub(crate) struct Poisons(Option<ThreadId>);

impl Part for Poisons {}

pub(crate) static POISONS: PartCell<Poisons> = PartCell::new();

fn read(word: Word) -> u32 {
    // SAFETY: the address must be that of a live lock: a method of the lock is running, and has passed it.
    unsafe { word.read_volatile() }
}

fn write(word: Word, value: u32) {
    // SAFETY: as for `read`; other threads of the program do not run meanwhile.
    unsafe { word.write_volatile(value) };
}

/// Records that the running thread has begun to panic while it holds the lock that it releases
/// next.
pub(super) fn poison() {
    POISONS.get().0 = Some(running().thread());
}

/// True if the running thread has poisoned the lock that it releases.
pub(super) fn is_poisoned() -> bool {
    let thread = running().thread();
    POISONS.get().0.take_if(|by| *by == thread).is_some()
}

fn initial() -> Object {
    Object::Mutex(object::mutex::Mutex::default())
}

fn call(word: Word, call: Call, code: usize) -> Reply {
    super::during(word as usize, USES, code, || {
        objects::call(word as usize, KIND, initial, call, code)
    })
}

/// Takes the lock; returns the value that a compare-exchange must find in the word, which is
/// unlocked if it was taken.
pub(super) fn lock(word: Word, code: usize) -> u32 {
    take(word, Call::Lock, code)
}

/// As [`lock`], without waiting.
pub(super) fn try_lock(word: Word, code: usize) -> u32 {
    take(word, Call::TryLock, code)
}

fn take(word: Word, wanted: Call, code: usize) -> u32 {
    take_by(word, code, || call(word, wanted, code))
}

fn take_by(word: Word, code: usize, call: impl FnOnce() -> Reply) -> u32 {
    let address = word as usize;
    if is_held(word) && read(word) == UNLOCKED {
        keeping_top(|| give(word, code));
    }
    match call().to_grant() {
        Grant::Refused => read(word).max(LOCKED),
        Grant::Taken { .. } if read(word) != UNLOCKED => {
            // Code without instrumentation holds the lock.
            give(word, code);
            read(word)
        }
        Grant::Taken { .. } => {
            objects::hold(address);
            write(word, LOCKED);
            UNLOCKED
        }
    }
}

fn give(word: Word, code: usize) {
    let poison = is_poisoned();
    objects::let_go(word as usize);
    call(word, Call::Unlock { poison }, code);
}

/// True if the lock has a holder that the model knows.
pub(super) fn is_held(word: Word) -> bool {
    objects::with(word as usize, |known| known.holder.is_some()) == Some(true)
}

/// Releases the lock; returns the value before.
pub(super) fn unlock(word: Word, code: usize) -> u32 {
    give(word, code);
    let before = read(word);
    write(word, UNLOCKED);
    before
}

/// In host mode: releases the lock for a while, and wakes a thread that waits by std's own
/// protocol.
pub(super) fn give_back(word: Word, code: usize) {
    if unlock(word, code) == CONTENDED {
        futex::wake(word, 1, code);
    }
}

/// In host mode: takes the lock, by std's own protocol if the model does not know its holder.
pub(super) fn take_again(word: Word, code: usize) {
    if lock(word, code) != UNLOCKED {
        wait_for(word, code);
    }
}

/// As [`take_again`], after a wait with a time limit, which a loop of the caller at `top` may repeat.
pub(super) fn take_again_in_a_round(word: Word, (code, top): (usize, Top)) {
    let lock = || {
        super::during(word as usize, USES, code, || {
            objects::call_of_a_round(word as usize, KIND, initial, Call::Lock, (code, top))
        })
    };
    if take_by(word, code, lock) != UNLOCKED {
        wait_for(word, code);
    }
}

/// Takes a lock whose holder the model does not know, by std's own protocol.
fn wait_for(word: Word, code: usize) {
    let swap = |location| Operation::Update {
        location,
        ordering: Ordering::Acquire,
        failure: Ordering::Acquire,
        update: Update {
            kind: UpdateKind::Swap(CONTENDED.into()),
            bits: 32,
        },
    };
    loop {
        let seen = atomics::perform_by(word, code, swap, |swap| running().perform(code, swap));
        if seen.to_value() as u32 == UNLOCKED {
            return;
        }
        let place = futex::WaitSite {
            site: code,
            is_seen: true,
        };
        futex::wait(word, CONTENDED, None, place);
    }
}

/// Stand-in of `Mutex::lock_contended`: the fast path has failed.
pub(super) extern "C-unwind" fn lock_contended(word: Word, code: usize) {
    let code = shadow_stack::users(code);
    host(|| match is_held(word) {
        true => take_again(word, code),
        false => wait_for(word, code),
    });
}
