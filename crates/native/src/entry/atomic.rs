//! Atomic operations, which the program has done for it.
//!
//! The engine says what is read and written; memory is kept up to date for whoever looks at it in
//! another way. Where memory differs from what the engine knows, somebody has written it plainly, as
//! one does before others know of a variable, and it is a new variable from then on.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::Ordering;

use raddle_engine::{LocationId, Operation, Reply, Update, UpdateKind, World};

use crate::abi::trampoline::{self, watched};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode::{host, is_guest};
use crate::host::solo::Solo;
use crate::memory::shadow;
use crate::names::regions;
use crate::rust::sync::{self, Access};
use crate::rust::{self, arc_counts, std_atomics};
use crate::threads::interrupts;

const KIND: &str = "atomic";

static LOCATIONS: Solo<Table<LocationId>> = Solo::new(Table::new());

/// Where each location is, and how large.
static EXTENTS: Solo<Vec<Range<usize>>> = Solo::new(Vec::new());

pub(crate) fn begin(stamp: u64) {
    LOCATIONS.get().begin(stamp);
    EXTENTS.get().clear();
}

/// Whether a location has one of these bytes.
pub(crate) fn covers(location: LocationId, bytes: Range<usize>) -> bool {
    let extents = EXTENTS.get();
    let extent = extents.get(location.index());
    extent.is_some_and(|extent| extent.start < bytes.end && bytes.start < extent.end)
}

/// What comes next at these addresses is something else.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    LOCATIONS.get().forget(range);
}

/// A value of some width in memory.
pub(crate) trait Atom: Copy {
    const BITS: u8;
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

/// An ordering as C numbers them.
pub(crate) fn ordering(order: c_int) -> Ordering {
    match order & 0x7fff {
        0 => Ordering::Relaxed,
        1 | 2 => Ordering::Acquire,
        3 => Ordering::Release,
        4 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// The part of an ordering that a load can have.
pub(crate) fn of_load(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        other => other,
    }
}

/// The part of an ordering that a store can have.
pub(crate) fn of_store(ordering: Ordering) -> Ordering {
    match ordering {
        Ordering::Acquire => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Release,
        other => other,
    }
}

/// In host mode: the running thread does an operation on the variable at an address. It came by
/// [`watched!`].
fn perform<T: Atom>(
    address: *mut T,
    code: usize,
    operation: impl FnOnce(LocationId) -> Operation,
) -> Reply {
    interrupts::scheduling_point(code);
    let top = trampoline::top();
    let reply = perform_by(address, operation, |operation| {
        running().observe(code, top, operation)
    });
    shadow_stack::end_atomic();
    reply
}

/// The variable at an address, if it still has the value that it should have.
pub(crate) fn known(address: usize, memory: u64) -> Option<LocationId> {
    let known = LOCATIONS.get().get(address).copied();
    known.filter(|&location| running().last_value(location) == memory)
}

/// A new variable.
pub(crate) fn add(world: &mut World, extent: Range<usize>, memory: u64) -> LocationId {
    let kind = shadow_stack::atomic().unwrap_or(KIND);
    let new = running().add_location(world, kind, extent.start, memory);
    LOCATIONS.get().insert(extent.start, new);
    // Not all locations are variables.
    let mut extents = EXTENTS.get();
    extents.resize(new.index(), 0..0);
    extents.push(extent);
    new
}

/// The same, however it came.
pub(crate) fn perform_by<T: Atom>(
    address: *mut T,
    operation: impl FnOnce(LocationId) -> Operation,
    perform: impl FnOnce(&mut dyn FnMut(&mut World) -> Operation) -> Reply,
) -> Reply {
    let native = running();
    // SAFETY: the program wants to use the variable there.
    let memory = unsafe { address.read_unaligned() }.to_word();
    let known = known(address as usize, memory);
    let mut location = known;
    let mut operation = Some(operation);
    let reply = perform(&mut |world| {
        let at = known.unwrap_or_else(|| {
            let end = address as usize + size_of::<T>();
            add(world, address as usize..end, memory)
        });
        location = Some(at);
        let operation = operation.take().expect("raddle: an operation is done once");
        operation(at)
    });
    if let Some(location) = location {
        let value = T::from_word(native.last_value(location));
        // SAFETY: as above.
        unsafe { address.write_unaligned(value) };
        shadow::access_atomically(address as usize, size_of::<T>());
    }
    reply
}

/// In guest mode: a fault, if there is nothing at the address, is the guest's. The site of the operation.
pub(super) fn entered<T: Atom>(address: *mut T, code: usize) -> usize {
    // SAFETY: the program wants to use the variable there.
    unsafe { address.cast::<u8>().read_volatile() };
    shadow_stack::begin_atomic();
    shadow_stack::users(code)
}

fn load<T: Atom>(address: *mut T, order: c_int, code: usize) -> T {
    let code = entered(address, code);
    host(|| {
        let ordering = of_load(ordering(order));
        let reply = perform(address, code, |location| Operation::Load {
            location,
            ordering,
        });
        T::from_word(reply.to_value())
    })
}

pub(crate) fn store<T: Atom>(address: *mut T, value: T, order: c_int, code: usize) {
    let (ordering, value) = (of_store(ordering(order)), value.to_word());
    perform(address, code, |location| Operation::Store {
        location,
        ordering,
        value,
    });
}

/// In guest mode: an update; what was there before.
pub(crate) fn update<T: Atom>(address: *mut T, kind: UpdateKind, order: c_int, code: usize) -> T {
    let code = entered(address, code);
    let order = arc_counts::ordering(order);
    host(|| {
        let ordering = ordering(order);
        let reply = perform(address, code, |location| Operation::Update {
            location,
            ordering,
            failure: of_load(ordering),
            update: Update {
                kind,
                bits: T::BITS,
            },
        });
        T::from_word(reply.to_value())
    })
}

/// In guest mode: what was found, and whether it was exchanged.
pub(crate) fn compare_exchange<T: Atom>(
    address: *mut T,
    (expected, new): (T, T),
    (order, failure): (c_int, c_int),
    weak: bool,
    code: usize,
) -> (T, bool) {
    let code = entered(address, code);
    let order = arc_counts::ordering(order);
    host(|| {
        let native = running();
        let weak = weak && native.may_fail_spuriously();
        let expected = expected.to_word();
        let reply = perform(address, code, |location| Operation::Update {
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
        (T::from_word(found), found == expected && !fails)
    })
}

/// How an operation is done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The engine is told.
    Told,
    /// Nobody wants to hear of it.
    Quiet,
    /// It is done, as part of something else, and has found this.
    Done(u64),
    /// By code that nobody controls.
    Real,
}

/// How the caller does an operation.
#[inline]
pub(crate) fn manner<T: Atom>(address: *mut T, access: Access, code: usize) -> Manner {
    if !is_guest() {
        return Manner::Real;
    }
    let region = sync::region(code);
    if region.is_inside() {
        return Manner::Quiet;
    }
    match sync::perform((address as usize, T::BITS), access, region, code) {
        Some(found) => Manner::Done(found),
        None if !regions::is_quiet_in(region, T::BITS) => Manner::Told,
        None if arc_counts::is_operation(region, address as usize) => Manner::Told,
        None => Manner::Quiet,
    }
}

/// What an update is to those who only want to know what is done.
fn access(kind: UpdateKind) -> Access {
    match kind {
        UpdateKind::Swap(value) => Access::Swap(value),
        UpdateKind::Add(value) => Access::Add(value),
        UpdateKind::Sub(value) => Access::Subtract(value),
        _ => Access::Other,
    }
}

/// In guest mode: an operation that nobody wants to hear of may be the first of something else, which may
/// know what a load is to find.
#[inline]
fn touch(address: usize, code: usize) -> Option<u64> {
    match shadow_stack::is_armed() {
        true => rust::touch(address, code),
        false if sync::is_question(code) => rust::threads::look_inlined(address, code),
        false => None,
    }
}

/// The functions for atomics of one width.
macro_rules! atomics {
    ($module:ident, $type:ident, $atomic:ident, $load:ident, $store:ident, $exchange:ident,
     $strong:ident, $weak:ident, $value:ident,
     $($update:ident $inner:ident $kind:ident $plain:ident;)*) => {
        mod $module {
            use super::*;
            use std::sync::atomic::$atomic;

            impl Atom for $type {
                const BITS: u8 = $type::BITS as u8;

                fn to_word(self) -> u64 {
                    self.into()
                }

                fn from_word(word: u64) -> Self {
                    word as $type
                }
            }

            /// The variable for code that nobody controls.
            fn real<'a>(address: *mut $type) -> &'a $atomic {
                // SAFETY: the program wants to use the variable there, atomically.
                unsafe { $atomic::from_ptr(address) }
            }

            watched! {
                fn $load(address: *mut $type, order: c_int) -> $type as load("rdx");
                fn $store(address: *mut $type, value: $type, order: c_int) -> () as store("rcx");
                fn $exchange(address: *mut $type, value: $type, order: c_int) -> $type
                    as exchange("rcx");
                fn $strong(
                    address: *mut $type, expected: *mut $type, new: $type, order: c_int, failure: c_int
                ) -> c_int as strong("r9");
                fn $weak(
                    address: *mut $type, expected: *mut $type, new: $type, order: c_int, failure: c_int
                ) -> c_int as weak("r9");
                fn $value(
                    address: *mut $type, expected: $type, new: $type, order: c_int, failure: c_int
                ) -> $type as value("r9");
                $(
                    fn $update(address: *mut $type, value: $type, order: c_int) -> $type
                        as $inner("rcx");
                )*
            }

            extern "C" fn load(address: *mut $type, order: c_int, code: usize) -> $type {
                match manner(address, Access::Load, code) {
                    Manner::Done(found) => found as $type,
                    Manner::Told => super::load(address, order, code),
                    Manner::Quiet => {
                        if let Some(found) = touch(address as usize, code) {
                            return found as $type;
                        }
                        std_atomics::load(address as usize, order, code);
                        real(address).load(Ordering::SeqCst)
                    }
                    Manner::Real => real(address).load(Ordering::SeqCst),
                }
            }

            extern "C" fn store(address: *mut $type, value: $type, order: c_int, code: usize) {
                match manner(address, Access::Store(value.into()), code) {
                    Manner::Done(_) => {}
                    Manner::Told => {
                        let code = entered(address, code);
                        host(|| super::store(address, value, order, code))
                    }
                    Manner::Quiet => {
                        touch(address as usize, code);
                        real(address).store(value, Ordering::SeqCst);
                        std_atomics::store(address as usize, order);
                    }
                    Manner::Real => real(address).store(value, Ordering::SeqCst),
                }
            }

            extern "C" fn exchange(
                address: *mut $type, value: $type, order: c_int, code: usize
            ) -> $type {
                match manner(address, Access::Swap(value.into()), code) {
                    Manner::Done(found) => found as $type,
                    Manner::Told => update(address, UpdateKind::Swap(value.into()), order, code),
                    Manner::Quiet => {
                        touch(address as usize, code);
                        std_atomics::update(address as usize, order);
                        real(address).swap(value, Ordering::SeqCst)
                    }
                    Manner::Real => real(address).swap(value, Ordering::SeqCst),
                }
            }

            fn compare(
                address: *mut $type, values: ($type, $type), orders: (c_int, c_int), weak: bool,
                code: usize,
            ) -> ($type, bool) {
                let (expected, new) = values;
                let access = Access::CompareExchange(expected.into(), new.into());
                let manner = manner(address, access, code);
                match manner {
                    Manner::Done(found) => return (found as $type, found == expected.into()),
                    Manner::Told => {
                        return compare_exchange(address, values, orders, weak, code);
                    }
                    Manner::Quiet => {
                        touch(address as usize, code);
                    }
                    Manner::Real => {}
                }
                let order = Ordering::SeqCst;
                let found = real(address).compare_exchange(expected, new, order, order);
                match (manner, found) {
                    (Manner::Quiet, Ok(_)) => std_atomics::update(address as usize, orders.0),
                    (Manner::Quiet, Err(_)) => std_atomics::fail(address as usize, orders.1),
                    _ => {}
                }
                match found {
                    Ok(found) => (found, true),
                    Err(found) => (found, false),
                }
            }

            fn through_pointer(
                address: *mut $type, expected: *mut $type, new: $type, orders: (c_int, c_int),
                weak: bool, code: usize,
            ) -> c_int {
                // SAFETY: the program has the expected value there.
                let value = unsafe { expected.read() };
                let (found, exchanged) = compare(address, (value, new), orders, weak, code);
                if !exchanged {
                    // SAFETY: and wants to be told there what was found.
                    unsafe { expected.write(found) };
                }
                exchanged.into()
            }

            extern "C" fn strong(
                address: *mut $type, expected: *mut $type, new: $type, order: c_int,
                failure: c_int, code: usize,
            ) -> c_int {
                through_pointer(address, expected, new, (order, failure), false, code)
            }

            extern "C" fn weak(
                address: *mut $type, expected: *mut $type, new: $type, order: c_int,
                failure: c_int, code: usize,
            ) -> c_int {
                through_pointer(address, expected, new, (order, failure), true, code)
            }

            extern "C" fn value(
                address: *mut $type, expected: $type, new: $type, order: c_int, failure: c_int,
                code: usize,
            ) -> $type {
                compare(address, (expected, new), (order, failure), false, code).0
            }

            $(
                extern "C" fn $inner(
                    address: *mut $type, value: $type, order: c_int, code: usize
                ) -> $type {
                    let kind = UpdateKind::$kind(value.into());
                    match manner(address, super::access(kind), code) {
                        Manner::Done(found) => found as $type,
                        Manner::Told => update(address, kind, order, code),
                        Manner::Quiet => {
                            touch(address as usize, code);
                            std_atomics::update(address as usize, order);
                            real(address).$plain(value, Ordering::SeqCst)
                        }
                        Manner::Real => real(address).$plain(value, Ordering::SeqCst),
                    }
                }
            )*
        }
    };
}

atomics! {
    byte, u8, AtomicU8, __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_exchange,
    __tsan_atomic8_compare_exchange_strong, __tsan_atomic8_compare_exchange_weak,
    __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_fetch_add add Add fetch_add;
    __tsan_atomic8_fetch_sub sub Sub fetch_sub;
    __tsan_atomic8_fetch_and and And fetch_and;
    __tsan_atomic8_fetch_or or Or fetch_or;
    __tsan_atomic8_fetch_xor xor Xor fetch_xor;
    __tsan_atomic8_fetch_nand nand Nand fetch_nand;
}

atomics! {
    half, u16, AtomicU16, __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_exchange,
    __tsan_atomic16_compare_exchange_strong, __tsan_atomic16_compare_exchange_weak,
    __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_fetch_add add Add fetch_add;
    __tsan_atomic16_fetch_sub sub Sub fetch_sub;
    __tsan_atomic16_fetch_and and And fetch_and;
    __tsan_atomic16_fetch_or or Or fetch_or;
    __tsan_atomic16_fetch_xor xor Xor fetch_xor;
    __tsan_atomic16_fetch_nand nand Nand fetch_nand;
}

atomics! {
    word, u32, AtomicU32, __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_exchange,
    __tsan_atomic32_compare_exchange_strong, __tsan_atomic32_compare_exchange_weak,
    __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_fetch_add add Add fetch_add;
    __tsan_atomic32_fetch_sub sub Sub fetch_sub;
    __tsan_atomic32_fetch_and and And fetch_and;
    __tsan_atomic32_fetch_or or Or fetch_or;
    __tsan_atomic32_fetch_xor xor Xor fetch_xor;
    __tsan_atomic32_fetch_nand nand Nand fetch_nand;
}

atomics! {
    double, u64, AtomicU64, __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_exchange,
    __tsan_atomic64_compare_exchange_strong, __tsan_atomic64_compare_exchange_weak,
    __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_fetch_add add Add fetch_add;
    __tsan_atomic64_fetch_sub sub Sub fetch_sub;
    __tsan_atomic64_fetch_and and And fetch_and;
    __tsan_atomic64_fetch_or or Or fetch_or;
    __tsan_atomic64_fetch_xor xor Xor fetch_xor;
    __tsan_atomic64_fetch_nand nand Nand fetch_nand;
}

watched! {
    fn __tsan_atomic_thread_fence(order: c_int) -> () as fence("rsi");
}

extern "C" fn fence(order: c_int, code: usize) {
    let ordering = ordering(order);
    if !is_guest() || ordering == Ordering::Relaxed {
        return;
    }
    if regions::is_quiet(0) {
        return std_atomics::fence(order);
    }
    let code = shadow_stack::users(code);
    host(|| running().observe(code, trampoline::top(), |_| Operation::Fence { ordering }));
}

/// Nothing interrupts a thread here.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {}
