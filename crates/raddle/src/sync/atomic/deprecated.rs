//! Deprecated names of std.

#![allow(
    clippy::declare_interior_mutable_const,
    reason = "to be copied, as std's"
)]

use super::{AtomicBool, AtomicIsize, AtomicUsize};

/// A flag that is not set, as [`std::sync::atomic::ATOMIC_BOOL_INIT`].
#[deprecated(note = "use `AtomicBool::new` instead")]
pub const ATOMIC_BOOL_INIT: AtomicBool = AtomicBool::new(false);

/// Zero, as [`std::sync::atomic::ATOMIC_ISIZE_INIT`].
#[deprecated(note = "use `AtomicIsize::new` instead")]
pub const ATOMIC_ISIZE_INIT: AtomicIsize = AtomicIsize::new(0);

/// Zero, as [`std::sync::atomic::ATOMIC_USIZE_INIT`].
#[deprecated(note = "use `AtomicUsize::new` instead")]
pub const ATOMIC_USIZE_INIT: AtomicUsize = AtomicUsize::new(0);

/// Calls [`spin_loop`](crate::hint::spin_loop).
#[deprecated(note = "use `hint::spin_loop` instead")]
#[track_caller]
#[inline]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
