//! Mutexes of all types.
//!
//! The memory of a mutex has only its type. A lock with a time limit takes the mutex if it is free,
//! and times out otherwise: the limit may always pass before an unlock. An unlock within the limit
//! is covered by executions in which it precedes the lock.

use std::ffi::{c_int, c_void};

use raddle_engine::object::{self, Object, mutex::Call};
use raddle_engine::{Grant, Reply, ThreadId};

use super::object_life::PosixObject;
use crate::abi::real::forward;
use crate::engine::Top;
use crate::execution::part::{Part, PartCell};
use crate::execution::running;
use crate::memory::objects;
use crate::threads::interpose::interpose;
use crate::threads::time;

type Mutex = *mut libc::pthread_mutex_t;
type Time = *const libc::timespec;

const KIND: &str = "mutex";
/// Offset of the type in a mutex, and the mask of its bits.
const TYPE_FIELD: usize = 16;
const TYPE: c_int = 3;

/// Bit of the type of a robust mutex, whose users are notified when its holder has ended.
const ROBUST: c_int = 16;

fn type_field(mutex: Mutex) -> c_int {
    // SAFETY: the address is that of an initialised mutex, because a function of POSIX for mutexes was called
    // with it; the type is inside of it.
    unsafe { mutex.cast::<u8>().add(TYPE_FIELD).cast::<c_int>().read() }
}

fn type_of(mutex: Mutex) -> c_int {
    type_field(mutex) & TYPE
}

fn is_robust(mutex: Mutex) -> bool {
    type_field(mutex) & ROBUST != 0
}

/// The robust mutexes of the execution.
#[derive(Default)]
pub(crate) struct RobustMutexes {
    /// Mutexes that are held, and their holders.
    taken: Vec<(ThreadId, usize)>,
    /// Mutexes that were unlocked in an inconsistent state, after their owner had ended.
    lost: Vec<usize>,
}

impl Part for RobustMutexes {}

pub(crate) static ROBUST_MUTEXES: PartCell<RobustMutexes> = PartCell::new();

/// Removes the mutex at the address, where a new one follows.
fn forget(address: usize) {
    objects::forget(address..address + 1);
    ROBUST_MUTEXES
        .get()
        .taken
        .retain(|&(_, taken)| taken != address);
    ROBUST_MUTEXES.get().lost.retain(|&lost| lost != address);
}

/// Unlocks the robust mutexes of a thread that ends, as poisoned.
pub(crate) fn leave_behind() {
    let thread = running().thread();
    let is_own = |&(by, _): &(ThreadId, usize)| by == thread;
    let next = || ROBUST_MUTEXES.get().taken.pop_if(|last| is_own(last));
    ROBUST_MUTEXES.get().taken.sort_by_key(is_own);
    while let Some((_, mutex)) = next() {
        objects::let_go(mutex);
        // No code of the program that could fail runs any more.
        call_anyway(mutex as Mutex, Call::Unlock { poison: true }, 0);
        ROBUST_MUTEXES.get().taken.sort_by_key(is_own);
    }
}

/// Records that a robust mutex was taken; returns the result of the lock.
fn took_robust(mutex: Mutex, poisoned: bool, code: usize) -> c_int {
    let address = mutex as usize;
    if ROBUST_MUTEXES.get().lost.contains(&address) {
        call(mutex, Call::Unlock { poison: true }, code);
        return libc::ENOTRECOVERABLE;
    }
    objects::hold(address);
    ROBUST_MUTEXES
        .get()
        .taken
        .push((running().thread(), address));
    objects::with(address, |known| known.is_suspect = poisoned);
    if poisoned { libc::EOWNERDEAD } else { 0 }
}

/// Records that a robust mutex is about to be released.
fn give_back_robust(address: usize) {
    ROBUST_MUTEXES
        .get()
        .taken
        .retain(|&(_, taken)| taken != address);
    if objects::with(address, |known| known.is_suspect) == Some(true) {
        ROBUST_MUTEXES.get().lost.push(address);
    }
}

fn call(mutex: Mutex, call: Call, code: usize) -> Reply {
    posix_object(mutex).during(code, || call_anyway(mutex, call, code))
}

/// As [`call`], without a check that the mutex is live.
fn call_anyway(mutex: Mutex, call: Call, code: usize) -> Reply {
    objects::call(mutex as usize, KIND, initial, call, code)
}

fn initial() -> Object {
    Object::Mutex(object::mutex::Mutex::default())
}

fn posix_object(mutex: Mutex) -> PosixObject {
    PosixObject {
        address: mutex as usize,
        size: size_of::<libc::pthread_mutex_t>(),
        what: "uses a mutex",
    }
}

/// Duration of a lock's wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Patience {
    None,
    Some,
    Endless,
}

/// Takes the mutex, with or without waiting; returns an error, or 0.
fn take(mutex: Mutex, patience: Patience, code: usize) -> c_int {
    take_by(mutex, patience, code, |wanted| call(mutex, wanted, code))
}

/// As [`take`]; `perform` calls the mutex.
fn take_by(
    mutex: Mutex,
    patience: Patience,
    code: usize,
    perform: impl FnOnce(Call) -> Reply,
) -> c_int {
    let address = mutex as usize;
    posix_object(mutex).begin(code);
    if objects::is_held(address) {
        match type_of(mutex) {
            libc::PTHREAD_MUTEX_RECURSIVE => {
                objects::with(address, |known| known.depth += 1);
                return 0;
            }
            libc::PTHREAD_MUTEX_ERRORCHECK if patience != Patience::None => return libc::EDEADLK,
            _ => {}
        }
    }
    let wanted = match patience {
        Patience::Endless => Call::Lock,
        Patience::None | Patience::Some => Call::TryLock,
    };
    match perform(wanted).to_grant() {
        Grant::Refused => libc::EBUSY,
        Grant::Taken { poisoned } if is_robust(mutex) => took_robust(mutex, poisoned, code),
        Grant::Taken { .. } => {
            objects::hold(address);
            0
        }
    }
}

fn give_back(mutex: Mutex, code: usize) -> c_int {
    let address = mutex as usize;
    posix_object(mutex).begin(code);
    let is_checked = match type_of(mutex) {
        libc::PTHREAD_MUTEX_NORMAL => is_robust(mutex),
        libc::PTHREAD_MUTEX_ADAPTIVE_NP => false,
        _ => true,
    };
    if is_checked && !objects::is_held(address) {
        return libc::EPERM;
    }
    let left = objects::with(address, |known| {
        known.depth = known.depth.saturating_sub(1);
        known.depth
    });
    if left.is_none_or(|left| left == 0) {
        if is_robust(mutex) {
            give_back_robust(address);
        }
        objects::let_go(address);
        call(mutex, Call::Unlock { poison: false }, code);
    }
    0
}

/// Releases all holds of the mutex by the running thread; returns their number.
pub(super) fn let_go(mutex: Mutex, code: usize) -> u32 {
    let depth = objects::with(mutex as usize, |known| known.depth);
    if is_robust(mutex) {
        give_back_robust(mutex as usize);
    }
    objects::let_go(mutex as usize);
    call(mutex, Call::Unlock { poison: false }, code);
    depth.unwrap_or(1)
}

/// Takes the mutex again, with this number of holds; returns an error, or 0.
pub(super) fn take_again(mutex: Mutex, depth: u32, code: usize) -> c_int {
    let error = take(mutex, Patience::Endless, code);
    objects::with(mutex as usize, |known| known.depth = depth);
    error
}

/// As [`take_again`], after a wait with a time limit, which a loop of the caller at `top` may repeat.
pub(super) fn take_again_in_a_round(mutex: Mutex, depth: u32, (code, top): (usize, Top)) -> c_int {
    let perform = |wanted: Call| {
        let call = || objects::call_of_a_round(mutex as usize, KIND, initial, wanted, (code, top));
        posix_object(mutex).during(code, call)
    };
    let error = take_by(mutex, Patience::Endless, code, perform);
    objects::with(mutex as usize, |known| known.depth = depth);
    error
}

interpose! {
    fn pthread_mutex_init(mutex: Mutex, attributes: *const c_void) -> c_int as init("rdx") code {
        posix_object(mutex).initialise(code);
        forget(mutex as usize);
        forward!(fn pthread_mutex_init(mutex: Mutex, attributes: *const c_void) -> c_int)
    }

    fn pthread_mutex_destroy(mutex: Mutex) -> c_int as destroy("rsi") code {
        posix_object(mutex).begin(code);
        if objects::with(mutex as usize, |known| known.holder.is_some()) == Some(true) {
            return libc::EBUSY;
        }
        posix_object(mutex).destroy(code);
        forget(mutex as usize);
        0
    }

    fn pthread_mutex_lock(mutex: Mutex) -> c_int as lock("rsi") code {
        take(mutex, Patience::Endless, code)
    }

    fn pthread_mutex_trylock(mutex: Mutex) -> c_int as try_lock("rsi") code {
        take(mutex, Patience::None, code)
    }

    fn pthread_mutex_timedlock(mutex: Mutex, until: Time) -> c_int as timed_lock("rdx") code {
        in_time(take(mutex, Patience::Some, code), until)
    }

    fn pthread_mutex_clocklock(
        mutex: Mutex, _clock: c_int, until: Time
    ) -> c_int as clock_lock("rcx") code {
        in_time(take(mutex, Patience::Some, code), until)
    }

    fn pthread_mutex_consistent(mutex: Mutex) -> c_int as make_consistent("rsi") code {
        let address = mutex as usize;
        let is_suspect = objects::with(address, |known| std::mem::take(&mut known.is_suspect));
        if !objects::is_held(address) || is_suspect != Some(true) {
            return libc::EINVAL;
        }
        clear(mutex, code);
        0
    }

    fn pthread_mutex_unlock(mutex: Mutex) -> c_int as unlock("rsi") code {
        give_back(mutex, code)
    }
}

/// Clears the poison of the mutex.
fn clear(mutex: Mutex, code: usize) {
    call(mutex, Call::ClearPoison, code);
}

/// Converts `EBUSY` to a timeout, and advances the clock to the deadline.
pub(super) fn in_time(result: c_int, until: Time) -> c_int {
    const SECOND: i64 = 1_000_000_000;
    // SAFETY: functions with a deadline demand an address that can be read.
    let is_wrong = || !(0..SECOND).contains(unsafe { &(*until).tv_nsec });
    match result {
        libc::EBUSY if is_wrong() => libc::EINVAL,
        libc::EBUSY => {
            running().pass_time(time::time_left(until));
            libc::ETIMEDOUT
        }
        result => result,
    }
}
