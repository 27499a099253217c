//! Atomic operations, as compilers call them.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use raddle_engine::{Operation, UpdateKind};

use crate::abi::caller;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::trampoline::watched;
use crate::execution::{running, shadow_stack};
use crate::host::mode::{host, is_guest};
use crate::memory::relevance;
use crate::rust::arc_counts::{self, Change};
use crate::rust::handling::{Handling, handling, touch};
use crate::rust::std_atomics;
use crate::rust::sync::{self, Access};
use crate::threads::atomics::{self, AtomicSite, compare_exchange, entered, ordering, update};

/// Returns the access of an update, for the models of the standard library's locks.
fn access(kind: UpdateKind) -> Access {
    match kind {
        UpdateKind::Swap(value) => Access::Swap(value),
        UpdateKind::Add(value) => Access::Add(value),
        UpdateKind::Sub(value) => Access::Subtract(value),
        _ => Access::Other,
    }
}

/// Defines the functions for atomics of one width.
macro_rules! atomics {
    ($module:ident, $type:ident, $atomic:ident, $load:ident, $store:ident, $exchange:ident,
     $strong:ident, $weak:ident, $value:ident,
     $($update:ident $inner:ident $kind:ident $plain:ident;)*) => {
        mod $module {
            use super::*;
            use std::sync::atomic::$atomic;

            /// Returns the variable, for callers that are not controlled.
            fn real<'a>(address: *mut $type) -> &'a $atomic {
                // SAFETY: compilers call this instead of an atomic access, which needs an aligned variable that
                // is valid and accessed by nothing but atomics at the same time.
                unsafe { $atomic::from_ptr(address) }
            }

            watched! {
                fn $load(address: *mut $type, order: c_int) -> $type as load("rdx");
                fn $store(address: *mut $type, value: $type, order: c_int) -> () as store("rcx");
                fn $exchange(address: *mut $type, value: $type, order: c_int) -> $type
                    as exchange("rcx");
                fn $strong(
                    address: *mut $type, expected: GuestPtr<$type>, new: $type, order: c_int, failure: c_int
                ) -> c_int as strong("r9");
                fn $weak(
                    address: *mut $type, expected: GuestPtr<$type>, new: $type, order: c_int, failure: c_int
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
                match handling(address, Access::Load, code) {
                    Handling::Answered(found) => found as $type,
                    Handling::Operation(_) => atomics::load(address, order, code),
                    Handling::StdAtomic(region) => {
                        if let Some(found) = touch(address as usize, code) {
                            return found as $type;
                        }
                        std_atomics::load(address as usize, order, region, code);
                        real(address).load(Ordering::SeqCst)
                    }
                    Handling::Uncontrolled => real(address).load(Ordering::SeqCst),
                }
            }

            extern "C" fn store(address: *mut $type, value: $type, order: c_int, code: usize) {
                match handling(address, Access::Store(value.into()), code) {
                    Handling::Answered(_) => {}
                    Handling::Operation(_) => {
                        let at = AtomicSite { site: entered(address, code), callback: code };
                        host(|| atomics::store(address, value, order, at))
                    }
                    Handling::StdAtomic(_) => {
                        touch(address as usize, code);
                        real(address).store(value, Ordering::SeqCst);
                        std_atomics::store(address as usize, order);
                    }
                    Handling::Uncontrolled => real(address).store(value, Ordering::SeqCst),
                }
            }

            extern "C" fn exchange(
                address: *mut $type, value: $type, order: c_int, code: usize
            ) -> $type {
                match handling(address, Access::Swap(value.into()), code) {
                    Handling::Answered(found) => found as $type,
                    Handling::Operation(region) => update(address, UpdateKind::Swap(value.into()), arc_counts::ordering(order, region), code),
                    Handling::StdAtomic(region) => {
                        touch(address as usize, code);
                        let before = real(address).load(Ordering::SeqCst);
                        let change = Change::of(UpdateKind::Swap(value.into()), before.into());
                        std_atomics::update(address as usize, change, order, region);
                        real(address).swap(value, Ordering::SeqCst)
                    }
                    Handling::Uncontrolled => real(address).swap(value, Ordering::SeqCst),
                }
            }

            fn compare(
                address: *mut $type, values: ($type, $type), orders: (c_int, c_int), weak: bool,
                code: usize,
            ) -> ($type, bool) {
                let (expected, new) = values;
                let access = Access::CompareExchange(expected.into(), new.into());
                let handling = handling(address, access, code);
                match handling {
                    Handling::Answered(found) => return (found as $type, found == expected.into()),
                    Handling::Operation(region) => {
                        let orders = (arc_counts::ordering(orders.0, region), orders.1);
                        return compare_exchange(address, values, orders, weak, code);
                    }
                    Handling::StdAtomic(_) => {
                        touch(address as usize, code);
                    }
                    Handling::Uncontrolled => {}
                }
                let order = Ordering::SeqCst;
                let found = real(address).compare_exchange(expected, new, order, order);
                match (handling, found) {
                    (Handling::StdAtomic(region), Ok(before)) => {
                        let by = u64::from(new).wrapping_sub(before.into()) as i64;
                        let change = Change { before: before.into(), by };
                        std_atomics::update(address as usize, change, orders.0, region);
                    }
                    (Handling::StdAtomic(region), Err(_)) => std_atomics::fail(address as usize, orders.1, region),
                    _ => {}
                }
                match found {
                    Ok(found) => (found, true),
                    Err(found) => (found, false),
                }
            }

            fn through_pointer(
                address: *mut $type, expected: GuestPtr<$type>, new: $type, orders: (c_int, c_int),
                weak: bool, code: usize,
            ) -> c_int {
                let values = (expected.read(), new);
                let (found, exchanged) = compare(address, values, orders, weak, code);
                if !exchanged {
                    expected.write(found);
                }
                exchanged.into()
            }

            extern "C" fn strong(
                address: *mut $type, expected: GuestPtr<$type>, new: $type, order: c_int,
                failure: c_int, code: usize,
            ) -> c_int {
                through_pointer(address, expected, new, (order, failure), false, code)
            }

            extern "C" fn weak(
                address: *mut $type, expected: GuestPtr<$type>, new: $type, order: c_int,
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
                    match handling(address, access(kind), code) {
                        Handling::Answered(found) => found as $type,
                        Handling::Operation(region) => update(address, kind, arc_counts::ordering(order, region), code),
                        Handling::StdAtomic(region) => {
                            touch(address as usize, code);
                            let before = real(address).load(Ordering::SeqCst);
                            let change = Change::of(kind, before.into());
                            std_atomics::update(address as usize, change, order, region);
                            real(address).$plain(value, Ordering::SeqCst)
                        }
                        Handling::Uncontrolled => real(address).$plain(value, Ordering::SeqCst),
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
    let is_event = !sync::region(code).is_no_event(0);
    // One that only acquires makes no relaxed store a release.
    if relevance::is_on() && (is_event || ordering != Ordering::Acquire) {
        relevance::fence();
    }
    if !is_event {
        return std_atomics::fence(order);
    }
    let code = shadow_stack::users(code);
    host(|| running().observe(code, caller::top(), |_| Operation::Fence { ordering }));
}

/// Does nothing: signals interrupt no thread here.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_atomic_signal_fence(_order: c_int) {}
