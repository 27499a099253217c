//! Handling of atomic accesses: those of the user are events, those of Rust's standard library
//! mostly are not.

use super::sync::{self, Access};
use super::{arc_counts, channels, threads};
use crate::execution::shadow_stack;
use crate::host::mode::is_guest;
use crate::memory::locations::Atom;
use crate::memory::relevance;
use crate::names::rust_paths::FunctionKind;

/// Handling of an atomic access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// An operation of the engine, in code of this kind.
    Operation(FunctionKind),
    /// An access in memory, which only [synchronizes](super::std_atomics) threads, in code of this kind.
    StdAtomic(FunctionKind),
    /// Part of another operation, which was performed; the access returns this value.
    Answered(u64),
    /// An access of a caller that is not controlled.
    Uncontrolled,
}

/// Returns the handling of the caller's access, and performs the operation that it is part of.
#[inline]
pub(crate) fn handling<T: Atom>(address: *mut T, access: Access, code: usize) -> Handling {
    if !is_guest() {
        return Handling::Uncontrolled;
    }
    let handling = guest_handling(address, access, code);
    if relevance::is_on() && !matches!(handling, Handling::Operation(_)) {
        relevance::keep(&(address as usize..address as usize + size_of::<T>()));
    }
    handling
}

#[inline]
fn guest_handling<T: Atom>(address: *mut T, access: Access, code: usize) -> Handling {
    let region = sync::region(code);
    if region.is_inside() {
        return Handling::StdAtomic(region);
    }
    match sync::perform((address as usize, T::BITS), access, region, code) {
        Some(found) => Handling::Answered(found),
        None if !region.is_no_event(T::BITS) => Handling::Operation(region),
        None if arc_counts::is_operation(region, address as usize) => Handling::Operation(region),
        None => Handling::StdAtomic(region),
    }
}

/// In guest mode: performs the operation that begins with an atomic of the standard library, if
/// there is one. Returns the value that a load must return, if it is determined.
#[inline]
pub(crate) fn touch(address: usize, code: usize) -> Option<u64> {
    match shadow_stack::is_armed() {
        true => super::touch(address, code),
        false if shadow_stack::is_answered() => channels::found(address),
        false if sync::is_question(code) => threads::look_inlined(address, code),
        false => None,
    }
}
