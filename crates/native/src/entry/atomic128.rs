//! Atomics of 16 bytes.
//!
//! The engine's values have 8 bytes. A value that needs more than 63 bits is stored in a list that
//! lives as long as the process. Its index, with the highest bit set, represents it. Indices can be
//! exchanged and compared but not added. So arithmetic is a loop of a load and a compare-exchange,
//! as on the processor itself.
//!
//! Programs call these by the names of ThreadSanitizer, or by those of libatomic: some compilers
//! implement these atomics by that library.

use std::arch::x86_64::cmpxchg16b;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

use raddle_engine::{LocationId, Operation, Update, UpdateKind};

use crate::abi::caller;
use crate::abi::guest_ptr::GuestPtr;
use crate::abi::trampoline::{watched, watched_full};
use crate::engine::Top;
use crate::execution::running;
use crate::host::mode::{host, is_guest};
use crate::host::process_state::ProcessState;
use crate::memory::locations::Atom;
use crate::threads::atomics::{self, entered, of_load, of_store, ordering};
use crate::threads::interrupts;

/// Bit that marks a word as the index of a value.
const STANDS_FOR: u64 = 1 << 63;

struct Values {
    list: Vec<u128>,
    numbers: BTreeMap<u128, u64>,
}

static VALUES: ProcessState<Values> = ProcessState::new(Values {
    list: Vec::new(),
    numbers: BTreeMap::new(),
});

impl Atom for u128 {
    /// Bits of the word that represents a value.
    const BITS: u8 = 64;

    fn to_word(self) -> u64 {
        if let Ok(word) = u64::try_from(self)
            && word & STANDS_FOR == 0
        {
            return word;
        }
        let mut values = VALUES.get();
        let Values { list, numbers } = &mut *values;
        let number = *numbers.entry(self).or_insert_with(|| {
            list.push(self);
            list.len() as u64 - 1
        });
        STANDS_FOR | number
    }

    fn from_word(word: u64) -> Self {
        match word & STANDS_FOR {
            0 => word.into(),
            _ => VALUES.get().list[(word & !STANDS_FOR) as usize],
        }
    }
}

/// A value in the calling convention: in two registers.
#[repr(C)]
#[derive(Clone, Copy)]
struct Halves {
    low: u64,
    high: u64,
}

impl From<u128> for Halves {
    fn from(value: u128) -> Self {
        Halves {
            low: value as u64,
            high: (value >> 64) as u64,
        }
    }
}

fn whole(low: u64, high: u64) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

type Address = *mut u128;

/// In host mode: performs one operation of the running thread.
fn perform(
    address: Address,
    top: Top,
    code: usize,
    operation: impl FnOnce(LocationId) -> Operation,
) -> u128 {
    interrupts::scheduling_point(code);
    let reply = atomics::perform_by(address, code, operation, |operation| {
        running().observe(code, top, operation)
    });
    u128::from_word(reply.to_value())
}

/// Performs a compare-exchange; returns the value found, and true if it was exchanged.
fn compare_exchange(
    address: Address,
    (expected, new): (u128, u128),
    (order, failure): (Ordering, Ordering),
    weak: bool,
    (top, code): (Top, usize),
) -> (u128, bool) {
    let native = running();
    let weak = weak && native.may_fail_spuriously();
    let kind = UpdateKind::CompareExchange {
        expected: expected.to_word(),
        new: new.to_word(),
        weak,
    };
    let found = perform(address, top, code, |location| Operation::Update {
        location,
        ordering: order,
        failure,
        update: Update {
            kind,
            bits: <u128 as Atom>::BITS,
        },
    });
    let fails = weak && native.has_failed_spuriously();
    (found, found == expected && !fails)
}

/// Performs the instruction, for callers that are not controlled.
fn compare_exchange_for_real(address: Address, expected: u128, new: u128) -> u128 {
    let order = Ordering::SeqCst;
    // SAFETY: the instruction needs 16 aligned bytes that can be written, which compilers guarantee
    // where they call this instead of it. It also needs a processor that has it, as all do that run
    // x86-64 Linux with FSGSBASE.
    unsafe { cmpxchg16b(address, expected, new, order, order) }
}

/// Retries until no other thread interferes; returns the value before.
fn update_for_real(address: Address, change: impl Fn(u128) -> u128) -> u128 {
    let mut seen = 0;
    loop {
        match compare_exchange_for_real(address, seen, change(seen)) {
            found if found == seen => return seen,
            found => seen = found,
        }
    }
}

extern "C" fn load(address: Address, order: c_int, code: usize) -> Halves {
    if !is_guest() {
        return compare_exchange_for_real(address, 0, 0).into();
    }
    let code = entered(address, code);
    let ordering = of_load(ordering(order));
    let top = caller::top();
    let load = |location| Operation::Load { location, ordering };
    host(|| perform(address, top, code, load)).into()
}

extern "C" fn store(address: Address, low: u64, high: u64, order: c_int, code: usize) {
    let value = whole(low, high);
    if !is_guest() {
        update_for_real(address, |_| value);
        return;
    }
    let code = entered(address, code);
    let ordering = of_store(ordering(order));
    let top = caller::top();
    host(|| {
        interrupts::scheduling_point(code);
        let value = value.to_word();
        atomics::perform_by(
            address,
            code,
            |location| Operation::Store {
                location,
                ordering,
                value: Some(value),
            },
            |operation| running().observe(code, top, operation),
        )
    });
}

extern "C" fn exchange(address: Address, low: u64, high: u64, order: c_int, code: usize) -> Halves {
    let value = whole(low, high);
    if !is_guest() {
        return update_for_real(address, |_| value).into();
    }
    let code = entered(address, code);
    let ordering = ordering(order);
    let top = caller::top();
    let found = host(|| {
        let kind = UpdateKind::Swap(value.to_word());
        let bits = <u128 as Atom>::BITS;
        perform(address, top, code, |location| Operation::Update {
            location,
            ordering,
            failure: of_load(ordering),
            update: Update { kind, bits },
        })
    });
    found.into()
}

/// Performs an update by a function; returns the value before.
fn change(address: Address, order: c_int, code: usize, change: impl Fn(u128) -> u128) -> u128 {
    if !is_guest() {
        return update_for_real(address, change);
    }
    let code = entered(address, code);
    let order = ordering(order);
    let top = caller::top();
    host(|| {
        let ordering = Ordering::Relaxed;
        let load = |location| Operation::Load { location, ordering };
        let mut seen = perform(address, top, code, load);
        loop {
            let values = (seen, change(seen));
            let orders = (order, Ordering::Relaxed);
            match compare_exchange(address, values, orders, false, (top, code)) {
                (found, true) => return found,
                (found, false) => seen = found,
            }
        }
    })
}

fn compare(
    address: Address,
    values: (u128, u128),
    (order, failure): (c_int, c_int),
    weak: bool,
    code: usize,
) -> (u128, bool) {
    if !is_guest() {
        let found = compare_exchange_for_real(address, values.0, values.1);
        return (found, found == values.0);
    }
    let code = entered(address, code);
    let orders = (ordering(order), of_load(ordering(failure)));
    let top = caller::top();
    host(|| compare_exchange(address, values, orders, weak, (top, code)))
}

fn through_pointer(
    address: Address,
    expected: GuestPtr<u128>,
    new: u128,
    orders: (c_int, c_int),
    weak: bool,
    code: usize,
) -> c_int {
    let values = (expected.read(), new);
    let (found, exchanged) = compare(address, values, orders, weak, code);
    if !exchanged {
        expected.write(found);
    }
    exchanged.into()
}

extern "C" fn strong(
    address: Address,
    expected: GuestPtr<u128>,
    low: u64,
    high: u64,
    order: c_int,
    failure: c_int,
    code: usize,
) -> c_int {
    let orders = (order, failure);
    through_pointer(address, expected, whole(low, high), orders, false, code)
}

extern "C" fn weak(
    address: Address,
    expected: GuestPtr<u128>,
    low: u64,
    high: u64,
    order: c_int,
    failure: c_int,
    code: usize,
) -> c_int {
    let orders = (order, failure);
    through_pointer(address, expected, whole(low, high), orders, true, code)
}

extern "C" fn value(
    address: Address,
    expected_low: u64,
    expected_high: u64,
    low: u64,
    high: u64,
    order: c_int,
    failure: c_int,
    code: usize,
) -> Halves {
    let values = (whole(expected_low, expected_high), whole(low, high));
    compare(address, values, (order, failure), false, code)
        .0
        .into()
}

watched_full! {
    fn __tsan_atomic128_compare_exchange_strong as strong pushes ["push [rbx]", "push [rbx]"];
    fn __tsan_atomic128_compare_exchange_weak as weak pushes ["push [rbx]", "push [rbx]"];
    fn __atomic_compare_exchange_16 as strong pushes ["push [rbx]", "push [rbx]"];
    // The return address, and the ordering for failures above it.
    fn __tsan_atomic128_compare_exchange_val as value pushes ["push [rbx]", "push [rbx + 8]"];
}

watched! {
    fn __tsan_atomic128_load(address: Address, order: c_int) -> Halves as load("rdx");
    fn __atomic_load_16(address: Address, order: c_int) -> Halves as load("rdx");
    fn __tsan_atomic128_store(address: Address, low: u64, high: u64, order: c_int) -> () as store("r8");
    fn __atomic_store_16(address: Address, low: u64, high: u64, order: c_int) -> () as store("r8");
    fn __tsan_atomic128_exchange(address: Address, low: u64, high: u64, order: c_int) -> Halves
        as exchange("r8");
    fn __atomic_exchange_16(address: Address, low: u64, high: u64, order: c_int) -> Halves
        as exchange("r8");
}

/// Defines arithmetic, under the names of ThreadSanitizer and libatomic.
macro_rules! changes {
    ($($inner:ident($old:ident, $value:ident) $new:expr; $($name:ident)*;)*) => {
        $(
            extern "C" fn $inner(
                address: Address, low: u64, high: u64, order: c_int, code: usize
            ) -> Halves {
                let $value = whole(low, high);
                change(address, order, code, |$old| $new).into()
            }

            watched! {
                $(fn $name(address: Address, low: u64, high: u64, order: c_int) -> Halves
                    as $inner("r8");)*
            }
        )*
    };
}

changes! {
    add(old, value) old.wrapping_add(value); __tsan_atomic128_fetch_add __atomic_fetch_add_16;
    sub(old, value) old.wrapping_sub(value); __tsan_atomic128_fetch_sub __atomic_fetch_sub_16;
    and(old, value) old & value; __tsan_atomic128_fetch_and __atomic_fetch_and_16;
    or(old, value) old | value; __tsan_atomic128_fetch_or __atomic_fetch_or_16;
    xor(old, value) old ^ value; __tsan_atomic128_fetch_xor __atomic_fetch_xor_16;
    nand(old, value) !(old & value); __tsan_atomic128_fetch_nand __atomic_fetch_nand_16;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_inputs::Inputs;

    /// The engine compares words, so that two values must have one word if and only if they are equal.
    #[test]
    fn words_stand_for_values_and_are_equal_if_those_are() {
        let mut inputs = Inputs::new(4);
        let small = [
            0,
            1,
            STANDS_FOR.into(),
            u128::from(STANDS_FOR) - 1,
            u128::MAX,
        ];
        let mut values: Vec<u128> = small.into();
        for _ in 0..500 {
            values.push(u128::from(inputs.next()) << 64 | u128::from(inputs.next()));
            values.push(inputs.next().into());
            values.push(u128::from(inputs.below(4)) << inputs.below(127));
        }
        let words: Vec<u64> = values.iter().map(|value| value.to_word()).collect();
        for (value, word) in values.iter().zip(&words) {
            assert_eq!(u128::from_word(*word), *value);
            let same = values
                .iter()
                .zip(&words)
                .filter(|(_, other)| *other == word);
            assert!(same.into_iter().all(|(other, _)| other == value));
        }
        assert_eq!(1u128.to_word(), 1, "small values stand for themselves");
    }

    #[test]
    fn halves_are_those_of_the_value() {
        let value = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
        let Halves { low, high } = value.into();
        assert_eq!((low, high), (0x090a_0b0c_0d0e_0f10, 0x0102_0304_0506_0708));
        assert_eq!(whole(low, high), value);
    }
}
