//! Atomic operations that compilers do not instrument: `fetch_max` and `fetch_min` have no callback, and a
//! `compare_exchange_weak` has that of a strong one, without spurious failures. So the methods of the atomics
//! that the user's code calls are replaced, if they have the parameters that the source has.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

use iced_x86::{InstructionInfoFactory, OpAccess, Register};
use raddle_engine::{Update, UpdateKind};

use super::Access;
use super::inlined_calls::{METHODS, WEAK};
use crate::abi::trampoline::watched_stand_in;
use crate::host::patch;
use crate::memory::locations::Atom;
use crate::rust::arc_counts::{self, Change};
use crate::rust::handling::{self, Handling};
use crate::rust::std_atomics;
use crate::threads::atomics;

/// Converts the number of an ordering in Rust to that in C.
fn order(ordering: u8) -> i32 {
    match ordering {
        0 => 0,
        1 => 3,
        2 => 2,
        3 => 4,
        _ => 5,
    }
}

/// A result of two words.
#[repr(C)]
struct Pair {
    is_error: usize,
    value: u64,
}

/// Changes memory where the access is no event; uncontrolled threads may run at the same time.
fn change<T: Atom>(address: *mut T, change: impl Fn(u64) -> Option<u64>) -> u64 {
    // SAFETY: the address must be that of a live atomic: a method of it is running, and has passed it.
    let mut before = unsafe { address.read_volatile() }.to_word();
    while let Some(new) = change(before) {
        match compare_exchange(address, before, new) {
            Ok(_) => break,
            Err(found) => before = found,
        }
    }
    before
}

/// Performs the processor's compare-exchange.
fn compare_exchange<T: Atom>(address: *mut T, expected: u64, new: u64) -> Result<u64, u64> {
    macro_rules! of {
        ($atomic:ident, $type:ident) => {{
            // SAFETY: the address is that of a live and aligned atomic of this size: a method of it is
            // running, and has passed it.
            let atomic = unsafe { $atomic::from_ptr(address.cast()) };
            let result = atomic.compare_exchange(expected as $type, new as $type, SeqCst, SeqCst);
            result.map(u64::from).map_err(u64::from)
        }};
    }
    match T::BITS {
        8 => of!(AtomicU8, u8),
        16 => of!(AtomicU16, u16),
        32 => of!(AtomicU32, u32),
        _ => of!(AtomicU64, u64),
    }
}

fn update<T: Atom>(address: *mut T, kind: UpdateKind, ordering: u8, code: usize) -> T {
    let handling = handling::handling(address, Access::Other, code);
    let order = order(ordering);
    match handling {
        Handling::Operation(region) => {
            return atomics::update(address, kind, arc_counts::ordering(order, region), code);
        }
        Handling::StdAtomic(_) | Handling::Answered(_) | Handling::Uncontrolled => {}
    }
    let bits = T::BITS;
    let update = Update { kind, bits };
    let before = change(address, |before| update.apply(before, false));
    if let Handling::StdAtomic(region) = handling {
        let change = Change::of(kind, before);
        std_atomics::update(address as usize, change, order, region);
    }
    T::from_word(before)
}

fn exchange<T: Atom>(address: *mut T, values: (T, T), orderings: (u8, u8), code: usize) -> Pair {
    let (expected, new) = (values.0.to_word(), values.1.to_word());
    let orders = (order(orderings.0), order(orderings.1));
    let handling = handling::handling(address, Access::CompareExchange(expected, new), code);
    let (value, is_done) = match handling {
        Handling::Answered(found) => (found, found == expected),
        Handling::Operation(region) => {
            let orders = (arc_counts::ordering(orders.0, region), orders.1);
            let (found, is_done) = atomics::compare_exchange(address, values, orders, true, code);
            (found.to_word(), is_done)
        }
        Handling::StdAtomic(_) | Handling::Uncontrolled => {
            let found = change(address, |before| (before == expected).then_some(new));
            (found, found == expected)
        }
    };
    match (handling, is_done) {
        (Handling::StdAtomic(region), true) => {
            let by = new.wrapping_sub(expected) as i64;
            let before = expected;
            std_atomics::update(address as usize, Change { before, by }, orders.0, region);
        }
        (Handling::StdAtomic(region), false) => {
            std_atomics::fail(address as usize, orders.1, region);
        }
        _ => {}
    }
    Pair {
        is_error: (!is_done).into(),
        value,
    }
}

/// Defines the methods of the atomics of one width.
macro_rules! methods {
    ($module:ident, $unsigned:ident, $signed:ident) => {
        mod $module {
            use super::*;

            type Word = *mut $unsigned;

            watched_stand_in! {
                fn enter_max as max, "rcx" -> $unsigned;
                fn enter_min as min, "rcx" -> $unsigned;
                fn enter_signed_max as signed_max, "rcx" -> $unsigned;
                fn enter_signed_min as signed_min, "rcx" -> $unsigned;
                fn enter_exchange as exchange, "r9" -> u128;
            }

            extern "C" fn max(word: Word, value: $unsigned, order: u8, code: usize) -> $unsigned {
                update(word, UpdateKind::Max(value.into()), order, code)
            }

            extern "C" fn min(word: Word, value: $unsigned, order: u8, code: usize) -> $unsigned {
                update(word, UpdateKind::Min(value.into()), order, code)
            }

            extern "C" fn signed_max(
                word: Word,
                value: $signed,
                order: u8,
                code: usize,
            ) -> $unsigned {
                update(word, UpdateKind::SignedMax(value.into()), order, code)
            }

            extern "C" fn signed_min(
                word: Word,
                value: $signed,
                order: u8,
                code: usize,
            ) -> $unsigned {
                update(word, UpdateKind::SignedMin(value.into()), order, code)
            }

            extern "C" fn exchange(
                word: Word,
                expected: $unsigned,
                new: $unsigned,
                success: u8,
                failure: u8,
                code: usize,
            ) -> Pair {
                super::exchange(word, (expected, new), (success, failure), code)
            }

            /// Returns the stand-in of a method.
            pub(super) fn stand_in(method: &str, is_signed: bool) -> Option<extern "C" fn()> {
                Some(match (method, is_signed) {
                    ("fetch_max", false) => enter_max,
                    ("fetch_min", false) => enter_min,
                    ("fetch_max", true) => enter_signed_max,
                    ("fetch_min", true) => enter_signed_min,
                    ("compare_exchange_weak", _) => enter_exchange,
                    _ => return None,
                })
            }
        }
    };
}

methods!(byte, u8, i8);
methods!(half, u16, i16);
methods!(word, u32, i32);
methods!(double, u64, i64);

/// Path of the module of atomics.
pub(super) const MODULE: &str = "core::sync::atomic::";

/// Registers of the parameters: the atomic, values and orderings.
const PARAMETERS: [Register; 5] = [
    Register::RDI,
    Register::RSI,
    Register::RDX,
    Register::RCX,
    Register::R8,
];

/// Replaces the function if it is one of these methods. Returns the name of a method that cannot be replaced.
pub(super) fn replace(path: &str, function: usize, size: usize) -> Option<&'static str> {
    let stand_in = path.strip_prefix(MODULE).and_then(find)?;
    let name = path.rsplit("::").next();
    let method = METHODS.into_iter().find(|it| Some(*it) == name)?;
    let parameters = match method {
        WEAK => &PARAMETERS[..],
        _ => &PARAMETERS[..3],
    };
    if !reads_all(function, size, parameters) {
        return Some(method);
    }
    // SAFETY: `replace` needs a function in which no thread is at its first instructions, and no thread of
    // the check has begun; and a stand-in with its parameters, all of which it reads.
    let replaced = unsafe { patch::replace(function, size, stand_in as usize) };
    replaced.is_none().then_some(method)
}

/// True if a function reads all these parameters. An optimiser may have removed those whose values it knows from
/// all calls, so that others come in other registers.
fn reads_all(function: usize, size: usize, parameters: &[Register]) -> bool {
    let mut info = InstructionInfoFactory::new();
    let mut first = vec![None; parameters.len()];
    for instruction in patch::instructions(function, size) {
        for used in info.info(&instruction).used_registers() {
            let register = used.register().full_register();
            if let Some(index) = parameters.iter().position(|it| *it == register) {
                first[index].get_or_insert(used.access() != OpAccess::Write);
            }
        }
    }
    first.iter().all(|is_read| *is_read == Some(true))
}

fn find(path: &str) -> Option<extern "C" fn()> {
    let (of, method) = path.strip_prefix("Atomic")?.split_once("::")?;
    let is_signed = of.starts_with('I');
    match of {
        "Bool" | "U8" | "I8" => byte::stand_in(method, is_signed),
        "U16" | "I16" => half::stand_in(method, is_signed),
        "U32" | "I32" => word::stand_in(method, is_signed),
        "U64" | "I64" | "Usize" | "Isize" | "Ptr" => double::stand_in(method, is_signed),
        _ => None,
    }
}
