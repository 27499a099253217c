//! The functions of std's that are replaced.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::{barrier, condvar, mutex, once, parker, parking_lot, uninstrumented};
use crate::abi::trampoline::{jumping_stand_in, stand_in};
use crate::host::patch;
use crate::rust::threads;

/// Defines stand-ins, and statics for the addresses of the originals; see [`stand_in!`] and
/// [`jumping_stand_in!`].
macro_rules! stand_ins {
    ($macro:ident $(fn $enter:ident for $original:ident as $to:path, $register:literal $(-> $result:ty)?;)*) => {
        $(
            /// Address of the original function, if it was replaced.
            pub(super) static $original: AtomicUsize = AtomicUsize::new(0);

            $macro! {
                fn $enter for $original as $to, $register $(-> $result)?;
            }
        )*
    };
}

stand_ins! { stand_in
    fn enter_lock_contended for LOCK_CONTENDED as mutex::lock_contended, "rsi" -> ();
    fn enter_wait for CONDVAR_WAIT as condvar::wait, "rdx" -> ();
    fn enter_wait_timeout for CONDVAR_WAIT_TIMEOUT as condvar::wait_timeout, "r8" -> bool;
    fn enter_notify_one for NOTIFY_ONE as condvar::notify_one, "rsi" -> ();
    fn enter_notify_all for NOTIFY_ALL as condvar::notify_all, "rsi" -> ();
    fn enter_once_wait_force for ONCE_WAIT_FORCE as once::wait_force, "rdx" -> ();
    fn enter_is_leader for IS_LEADER as barrier::is_leader, "rsi" -> bool;
    fn enter_barrier_wait for BARRIER_WAIT as barrier::wait, "rsi" -> bool;
    fn enter_parking_lock for PARKING_LOCK as parking_lot::lock_slowly, "rdi" -> bool;
    fn enter_parking_write for PARKING_WRITE as parking_lot::lock_slowly, "rdi" -> bool;
    fn enter_parking_read for PARKING_READ as parking_lot::lock_slowly, "rdi" -> bool;
    fn enter_parking_try_read for PARKING_TRY_READ as parking_lot::lock_slowly, "rdi" -> bool;
    fn enter_parking_wait for PARKING_WAIT as parking_lot::wait, "r8" -> bool;
    fn enter_parking_notify_one for PARKING_NOTIFY_ONE as parking_lot::notify_one, "rdx" -> bool;
    fn enter_parking_notify_all for PARKING_NOTIFY_ALL as parking_lot::notify_all, "rdx" -> usize;
}

stand_ins! { jumping_stand_in
    fn enter_once for ONCE_CALL as once::do_once, "r9";
    fn enter_once_wait for ONCE_WAIT as once::wait, "rdx";
    fn enter_grow_scope for SCOPE_GROWS as grow_scope, "rsi";
}

/// In guest mode: records that a scope has one more thread, which is about to be started.
extern "C" fn grow_scope(count: usize, _code: usize) {
    threads::count(count);
    // SAFETY: the number is the address of the function that this one replaces, which has this
    // type.
    unsafe {
        let original: extern "C-unwind" fn(usize) = std::mem::transmute(SCOPE_GROWS.load(Relaxed));
        original(count);
    }
}

/// A function of the program's: its path, address and size in bytes.
pub(super) type Found = (String, usize, usize);

/// Replaces the functions of a file that have stand-ins. Returns the methods of atomics that cannot be replaced.
pub(super) fn replace_all(functions: &[Found]) -> BTreeSet<&'static str> {
    let mut unchanged = BTreeSet::new();
    for (path, function, size) in functions {
        unchanged.extend(uninstrumented::replace(path, *function, *size));
        replace(path, *function, *size);
    }
    unchanged
}

/// Replaces the functions of parking_lot; returns true if all of them could be.
pub(super) fn replace_parking(functions: &[Found]) -> bool {
    let known = |found: &Found| {
        let stand_in: StandIn = match found.0.strip_prefix("parking_lot::")? {
            "raw_mutex::RawMutex::lock_slow" => (enter_parking_lock, &PARKING_LOCK),
            "raw_rwlock::RawRwLock::lock_exclusive_slow" => (enter_parking_write, &PARKING_WRITE),
            "raw_rwlock::RawRwLock::lock_shared_slow" => (enter_parking_read, &PARKING_READ),
            "raw_rwlock::RawRwLock::try_lock_shared_slow" => {
                (enter_parking_try_read, &PARKING_TRY_READ)
            }
            "condvar::Condvar::wait_until_internal" => (enter_parking_wait, &PARKING_WAIT),
            "condvar::Condvar::notify_one_slow" => (enter_parking_notify_one, &PARKING_NOTIFY_ONE),
            "condvar::Condvar::notify_all_slow" => (enter_parking_notify_all, &PARKING_NOTIFY_ALL),
            _ => return None,
        };
        Some((found.1, found.2, stand_in))
    };
    let found: Vec<_> = functions.iter().filter_map(known).collect();
    let can_be = |(function, size, _): &(usize, usize, StandIn)| patch::can_be(*function, *size);
    if !found.iter().all(can_be) {
        return false;
    }
    found.iter().all(|(function, size, (enter, original))| {
        // SAFETY: `replace` needs a function in which no thread is at its first instructions: no
        // thread of the check has begun, and others that wait in one are past its first
        // instructions.
        let moved = unsafe { patch::replace(*function, *size, *enter as usize) };
        original.store(moved.unwrap_or(0), Relaxed);
        moved.is_some()
    })
}

/// True if the function with this path parks.
fn parks(path: &str) -> bool {
    let name = path.strip_prefix("std::").unwrap_or_default();
    matches!(
        name,
        "thread::thread::Thread::park"
            | "thread::thread::Thread::park_timeout"
            | "thread::Thread::park"
            | "thread::Thread::park_timeout"
            | "thread::functions::park"
            | "thread::functions::park_timeout"
            | "thread::park"
            | "thread::park_timeout"
            | "sys::sync::thread_parking::futex::Parker::park"
            | "sys::sync::thread_parking::futex::Parker::park_timeout"
    )
}

fn replace(path: &str, function: usize, size: usize) {
    if parks(path) {
        parker::understand(function, size);
    }
    if path.starts_with("std::sys::") && path.ends_with("::futex_wait") {
        parker::look_beyond(function, size);
    }
    let Some((enter, original)) = stand_in(path) else {
        return;
    };
    if std::ptr::eq(original, &BARRIER_WAIT) && !barrier::understand(function, size) {
        return;
    }
    // SAFETY: `replace` needs a function in which no thread is at its first instructions: no thread
    // of the check has begun, and others that wait in one are past its first instructions.
    if let Some(moved) = unsafe { patch::replace(function, size, enter as usize) } {
        // There may be several copies, which are equivalent.
        let _ = original.compare_exchange(0, moved, Relaxed, Relaxed);
        if std::ptr::eq(original, &IS_LEADER) {
            barrier::wait_for_question();
        }
    }
}

/// True if it is a function that every program has as it came with std.
pub(super) fn came_compiled(path: &str) -> bool {
    path != IS_LEADER_PATH && stand_in(path).is_some()
}

/// The only one of them that is inlined, or compiled with the program.
const IS_LEADER_PATH: &str = "std::sync::barrier::BarrierWaitResult::is_leader";

type StandIn = (extern "C" fn(), &'static AtomicUsize);

fn stand_in(path: &str) -> Option<StandIn> {
    let name = path.strip_prefix("std::")?;
    Some(match name {
        "sys::sync::mutex::futex::Mutex::lock_contended" => (enter_lock_contended, &LOCK_CONTENDED),
        "sys::sync::condvar::futex::Condvar::wait" => (enter_wait, &CONDVAR_WAIT),
        "sys::sync::condvar::futex::Condvar::wait_timeout" => {
            (enter_wait_timeout, &CONDVAR_WAIT_TIMEOUT)
        }
        "sync::poison::condvar::Condvar::notify_one"
        | "sync::nonpoison::condvar::Condvar::notify_one"
        | "sync::condvar::Condvar::notify_one" => (enter_notify_one, &NOTIFY_ONE),
        "sync::poison::condvar::Condvar::notify_all"
        | "sync::nonpoison::condvar::Condvar::notify_all"
        | "sync::condvar::Condvar::notify_all" => (enter_notify_all, &NOTIFY_ALL),
        "sys::sync::once::futex::Once::call" => (enter_once, &ONCE_CALL),
        "sync::once::Once::wait" => (enter_once_wait, &ONCE_WAIT),
        "sync::once::Once::wait_force" => (enter_once_wait_force, &ONCE_WAIT_FORCE),
        "sync::barrier::Barrier::wait" => (enter_barrier_wait, &BARRIER_WAIT),
        "sync::barrier::BarrierWaitResult::is_leader" => (enter_is_leader, &IS_LEADER),
        "thread::scoped::ScopeData::increment_num_running_threads" => {
            (enter_grow_scope, &SCOPE_GROWS)
        }
        _ => return None,
    })
}
