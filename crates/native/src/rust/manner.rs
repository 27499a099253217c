//! How atomic operations of Rust programs are done.

use super::sync::{self, Access};
use super::{arc_counts, threads};
use crate::execution::shadow_stack;
use crate::host::mode::is_guest;
use crate::memory::locations::Atom;

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
        None if !region.is_quiet(T::BITS) => Manner::Told,
        None if arc_counts::is_operation(region, address as usize) => Manner::Told,
        None => Manner::Quiet,
    }
}

/// In guest mode: an operation that nobody wants to hear of may be the first of something else, which may
/// know what a load is to find.
#[inline]
pub(crate) fn touch(address: usize, code: usize) -> Option<u64> {
    match shadow_stack::is_armed() {
        true => super::touch(address, code),
        false if sync::is_question(code) => threads::look_inlined(address, code),
        false => None,
    }
}
