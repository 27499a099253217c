//! Atomic operations of the running thread, which the engine performs.
//!
//! The engine decides the values that are read and written; memory is kept up to date for code that
//! accesses it in another way. If memory differs from the engine's value, the program has written
//! it plainly, as before a variable is shared. From then on it is a new variable.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use raddle_engine::{LocationId, Operation, Reply, Update, UpdateKind, World};

use super::heap_use::{ATOMICALLY, Use};
use super::{interrupts, unwritten_reads};
use crate::abi::caller;
use crate::execution::{running, shadow_stack};
use crate::host::mode::host;
use crate::memory::locations::{self, Atom};
use crate::memory::{relevance, shadow};

/// Returns the ordering with this number in C.
pub(crate) fn ordering(order: c_int) -> Ordering {
    match order & 0x7fff {
        0 => Ordering::Relaxed,
        1 | 2 => Ordering::Acquire,
        3 => Ordering::Release,
        4 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// Returns the part of an ordering that a load can have.
pub(crate) fn of_load(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

/// Returns the part of an ordering that a store can have.
pub(crate) fn of_store(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Acquire => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Release,
        other => other,
    }
}

/// The place of an atomic access.
#[derive(Clone, Copy)]
pub(crate) struct AtomicSite {
    /// The site of the operation.
    pub(crate) site: usize,
    /// Return address of the callback; 0 for an access by raddle.
    pub(crate) callback: usize,
}

/// In host mode: performs an operation of the running thread on the variable at an address. The
/// thread called through [`watched!`](crate::abi::trampoline::watched).
fn perform<T: Atom>(
    address: *mut T,
    at: AtomicSite,
    operation: impl FnOnce(LocationId) -> Operation,
) -> Reply {
    interrupts::scheduling_point(at.site);
    let top = caller::top();
    let reply = perform_at(address, at, operation, |operation| {
        running().observe(at.site, top, operation)
    });
    shadow_stack::end_atomic();
    reply
}

/// In host mode: performs an operation of the running thread on the variable at an address, by
/// `perform`. Its value decides what raddle does.
pub(crate) fn perform_by<T: Atom>(
    address: *mut T,
    site: usize,
    operation: impl FnOnce(LocationId) -> Operation,
    perform: impl FnOnce(&mut dyn FnMut(&mut World) -> Operation) -> Reply,
) -> Reply {
    let at = AtomicSite { site, callback: 0 };
    perform_at(address, at, operation, perform)
}

fn perform_at<T: Atom>(
    address: *mut T,
    AtomicSite {
        site: code,
        callback,
    }: AtomicSite,
    operation: impl FnOnce(LocationId) -> Operation,
    perform: impl FnOnce(&mut dyn FnMut(&mut World) -> Operation) -> Reply,
) -> Reply {
    let native = running();
    // SAFETY: reading needs a valid variable: compilers emit the calls that lead here instead of an
    // atomic access of one. `entered` has read it, and no other thread of the program runs now.
    let memory = unsafe { address.read_unaligned() }.to_word();
    let known = locations::known(address as usize, memory);
    let mut location = known;
    let mut operation = Some(operation);
    let reply = perform(&mut |world| {
        let at = known.unwrap_or_else(|| {
            let end = address as usize + size_of::<T>();
            locations::add(world, address as usize..end, memory)
        });
        location = Some(at);
        let operation = operation.take().expect("raddle: an operation is done once");
        let operation = operation(at);
        if relevance::is_on() {
            let bytes = address as usize..address as usize + size_of::<T>();
            relevance::decide(world, native.thread(), &operation, bytes, callback);
        }
        operation
    });
    if let Some(location) = location {
        let value = T::from_word(native.last_value(location));
        // SAFETY: the variable is valid, as for the read before, and that of an atomic can be
        // written.
        unsafe { address.write_unaligned(value) };
        shadow::access_atomically(address as usize, size_of::<T>());
        atomic_use(address, code).end();
    }
    reply
}

/// In guest mode: reads the address, so that a fault is the guest's. Returns the site of the
/// operation.
pub(crate) fn entered<T: Atom>(address: *mut T, code: usize) -> usize {
    // SAFETY: compilers emit the calls that lead here instead of an access to the variable. If it
    // cannot be read, the fault is that of the access.
    unsafe { address.cast::<u8>().read_volatile() };
    shadow_stack::begin_atomic();
    let site = shadow_stack::users(code);
    atomic_use(address, site).begin_as_guest();
    site
}

fn atomic_use<T>(address: *mut T, site: usize) -> Use {
    Use {
        address: address as usize,
        size: size_of::<T>(),
        what: ATOMICALLY,
        site,
    }
}

pub(crate) fn load<T: Atom>(address: *mut T, order: c_int, callback: usize) -> T {
    let code = entered(address, callback);
    host(|| {
        let ordering = of_load(ordering(order));
        let at = AtomicSite {
            site: code,
            callback,
        };
        let reply = perform(address, at, |location| Operation::Load {
            location,
            ordering,
        });
        let value = reply.to_value();
        access_memory(address, Some(value), false, code);
        served(address, T::from_word(value))
    })
}

/// In host mode: returns the value that a read has for the program, given the one that it has read.
#[inline]
fn served<T: Atom>(address: *mut T, value: T) -> T {
    match relevance::is_on().then(|| locations::last_at(address as usize)) {
        Some(Some(location)) => {
            let served = running().with_world(|world| world.served(location, value.to_word()));
            T::from_word(served)
        }
        _ => value,
    }
}

pub(crate) fn store<T: Atom>(address: *mut T, value: T, order: c_int, at: AtomicSite) {
    let (ordering, value) = (of_store(ordering(order)), value.to_word());
    perform(address, at, |location| Operation::Store {
        location,
        ordering,
        value: Some(value),
    });
    access_memory(address, None, true, at.site);
}

/// In host mode: an operation was performed that reads this value, or does not read.
#[inline]
fn access_memory<T>(address: *mut T, read: Option<u64>, writes: bool, site: usize) {
    unwritten_reads::access_atomically(address as usize, size_of::<T>(), read, writes, site);
}

/// In guest mode: performs an update; returns the value before.
pub(crate) fn update<T: Atom>(
    address: *mut T,
    kind: UpdateKind,
    order: c_int,
    callback: usize,
) -> T {
    let code = entered(address, callback);
    host(|| {
        let ordering = ordering(order);
        let at = AtomicSite {
            site: code,
            callback,
        };
        let reply = perform(address, at, |location| Operation::Update {
            location,
            ordering,
            failure: of_load(ordering),
            update: Update {
                kind,
                bits: T::BITS,
            },
        });
        let value = reply.to_value();
        access_memory(address, Some(value), true, code);
        served(address, T::from_word(value))
    })
}

/// In guest mode: performs a compare-exchange; returns the value found, and true if it was
/// exchanged.
pub(crate) fn compare_exchange<T: Atom>(
    address: *mut T,
    (expected, new): (T, T),
    (order, failure): (c_int, c_int),
    weak: bool,
    callback: usize,
) -> (T, bool) {
    let code = entered(address, callback);
    host(|| {
        let native = running();
        let weak = weak && native.may_fail_spuriously();
        let expected = expected.to_word();
        let at = AtomicSite {
            site: code,
            callback,
        };
        let reply = perform(address, at, |location| Operation::Update {
            location,
            ordering: ordering(order),
            failure: of_load(ordering(failure)),
            update: Update {
                kind: UpdateKind::CompareExchange {
                    expected,
                    new: new.to_word(),
                    weak,
                },
                bits: T::BITS,
            },
        });
        let found = reply.to_value();
        let fails = weak && native.has_failed_spuriously();
        let is_exchanged = found == expected && !fails;
        access_memory(address, Some(found), is_exchanged, code);
        (T::from_word(found), is_exchanged)
    })
}
