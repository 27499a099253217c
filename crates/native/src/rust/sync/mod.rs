//! Synchronisation in Rust's standard library.
//!
//! Most of it comes compiled, without instrumentation. But its functions are recognised: a mutex is
//! locked, a thread parks. So a program that uses `std::sync` has the operations of one that uses
//! raddle's types, one `lock` for each, and not those of the words behind them.
//!
//! * Functions that are called are replaced in place ([`replaced`], [`patch`](crate::host::patch)).
//! * Functions that were inlined into the program's own code are recognised by their atomic
//!   operations. The debug information, or the symbols, name the function of std's around an
//!   instruction ([`sites`]). The value returned to such an operation makes std take its fast path:
//!   the lock was free.
//!
//! The locks of the crate parking_lot are modelled in the same way ([`parking_lot`]), if the
//! setting requests it.
//!
//! A primitive is recognised in every function that uses it, or the program is not checked ([`inlined`]).
//! Where an optimiser has merged the ends of several functions, what is released there is known by its word
//! ([`by_word`]).
//!
//! Words in memory have the values that std would have stored, since other code may read them.
//! Functions that are not recognised use the model of futexes, in which std waits.

pub(crate) mod barrier;
mod by_word;
mod condvar;
mod inlined;
mod inlined_calls;
mod modules;
pub(crate) mod mutex;
mod once;
pub(crate) mod parker;
mod parking_lot;
mod poison;
mod replaced;
mod rwlock;
mod sites;
mod uninstrumented;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use raddle_settings::ModelledLibrary;

use crate::execution::shadow_stack;
use crate::host::mode::host;
use crate::memory::blocks;
use crate::names::rust_paths::{self, FunctionKind};
use crate::threads::heap_use::Use;
use crate::threads::interrupts;
use modules::Unseen;
use sites::Role;

pub(crate) use sites::INSIDE;

pub(crate) use parker::{park, waiting_call, wake};

/// True if the program has code of Rust's.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Reads the program, at the beginning of a check and before a snapshot of its memory is taken.
/// `library` is modelled, if there is one.
pub(crate) fn prepare(library: Option<ModelledLibrary>) {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if !IS_DONE.swap(true, Relaxed) {
        rust_paths::hide_parking_lot(library == Some(ModelledLibrary::ParkingLot));
        IS_USED.store(modules::read(), Relaxed);
    }
}

/// Returns the libraries of the program that are modelled.
pub(crate) fn modelled() -> impl Iterator<Item = &'static str> {
    parking_lot::is_used().then_some("parking_lot").into_iter()
}

/// Returns why the check may leave out behaviours, if methods of atomics that are known by their functions alone
/// were inlined or changed.
pub(crate) fn left_out() -> Option<String> {
    let methods = modules::unseen();
    let unseen = methods.iter().find(|it| it.0 != inlined_calls::WEAK);
    let (name, why) = unseen.or(methods.first())?;
    let why = match why {
        Unseen::Inlined => "inlined",
        Unseen::Changed => "changed by an optimiser",
    };
    let lacks = match unseen {
        Some(_) => "its accesses are not seen",
        None => "never fails spuriously here",
    };
    Some(format!(
        "`{name}` was {why}, and {lacks}: build the program without optimising"
    ))
}

/// Accesses of an atomic variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Load,
    Store(u64),
    Swap(u64),
    Add(u64),
    Subtract(u64),
    CompareExchange(u64, u64),
    Other,
}

/// In guest mode: performs the operation that an atomic access of std's represents; returns the
/// value that the access must return. Nothing if the access is the program's own.
#[inline]
pub(crate) fn perform(
    (address, bits): (usize, u8),
    access: Access,
    region: FunctionKind,
    code: usize,
) -> Option<u64> {
    if !IS_USED.load(Relaxed) {
        return None;
    }
    match bits {
        32 => match sites::role(code) {
            Some(role) => perform_role(role, address, access, code),
            None => by_word::perform(address, access, code),
        },
        8 | 64
            if parking_lot::is_used()
                && let Some(Role::Parking(wanted)) = sites::role(code) =>
        {
            let code = shadow_stack::users(code);
            parking_lot::perform(wanted, (address, bits), access, code)
        }
        8 if region == FunctionKind::Locks => {
            perform_flag(sites::role(code)?, address, access, code)
        }
        8 if access == Access::Store(1) => {
            by_word::poison(address);
            None
        }
        _ => None,
    }
}

/// In guest mode: returns the region of the running thread at the instruction before this address.
#[inline]
pub(crate) fn region(code: usize) -> FunctionKind {
    match IS_USED.load(Relaxed) {
        true => sites::region(code, shadow_stack::region()),
        false => FunctionKind::User,
    }
}

/// In guest mode: true if the instruction before this address is in code internal to the standard library,
/// whose plain accesses are not recorded. Code of the user's may be inlined in functions of std's.
#[inline]
pub(crate) fn is_inside(code: usize) -> bool {
    shadow_stack::region().is_inside() && IS_USED.load(Relaxed) && sites::is_inside(code)
}

/// In guest mode: true if an inlined function checks if another thread has ended.
#[inline]
pub(crate) fn is_question(code: usize) -> bool {
    sites::is_question(code, shadow_stack::region())
}

fn perform_flag(role: Role, flag: usize, access: Access, code: usize) -> Option<u64> {
    match (role, access) {
        // A panic while holding the lock takes effect when the lock is released.
        (Role::Poison, Access::Store(_)) => mutex::poison(),
        (Role::IsPoisoned(of), Access::Load) => {
            return Some(poison::is_poisoned(flag, of, shadow_stack::users(code)).into());
        }
        (Role::ClearsPoison(of), Access::Store(_)) => {
            poison::clear(flag, of, shadow_stack::users(code));
        }
        _ => {}
    }
    None
}

fn perform_role(role: Role, address: usize, access: Access, code: usize) -> Option<u64> {
    let code = shadow_stack::users(code);
    let word = address as *mut u32;
    let value = match (role, access) {
        (Role::Lock, Access::CompareExchange(..)) => at(code, || mutex::lock(word, code)),
        (Role::TryLock, Access::CompareExchange(..)) => at(code, || mutex::try_lock(word, code)),
        (Role::Unlock, Access::Swap(_)) if mutex::is_held(word) => {
            at(code, || mutex::unlock(word, code))
        }
        (Role::Unpark, Access::Swap(_)) if parker::is_understood() => {
            at(code, || parker::unpark(word, code))
        }
        (Role::IsCompleted, Access::Load) => at(code, || once::is_completed(word, code)),
        (Role::OnceBegins, Access::Load) => once::look()?,
        (Role::Shared(wanted), _) => rwlock::perform(word, wanted, access, code)?,
        _ => return None,
    };
    Some(value.into())
}

/// Returns the use of the program's memory by an operation on a primitive. Nothing for one that std has for itself.
fn use_of(address: usize, what: &'static str, site: usize) -> Option<Use> {
    let made = Use {
        address,
        size: size_of::<u32>(),
        what,
        site,
    };
    (!blocks::is_inside(address)).then_some(made)
}

/// In host mode: performs an operation on a primitive. Fails the thread if its memory is not live.
fn during<R>(address: usize, what: &'static str, site: usize, operation: impl FnOnce() -> R) -> R {
    let made = use_of(address, what, site);
    made.inspect(|made| made.begin_mapped());
    let result = operation();
    made.inspect(|made| made.end());
    result
}

fn at<R>(code: usize, work: impl FnOnce() -> R) -> R {
    host(|| {
        interrupts::scheduling_point(code);
        work()
    })
}
