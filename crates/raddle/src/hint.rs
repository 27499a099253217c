//! Mirrors `std::hint`.
//!
//! Without feature `check` all items here are std's own; with it, all but [`spin_loop`] are.

#[cfg(not(feature = "check"))]
pub use std::hint::spin_loop;
pub use std::hint::{
    assert_unchecked, black_box, cold_path, select_unpredictable, unreachable_unchecked,
};

/// Signals the processor that the calling thread waits for another one, as
/// [`std::hint::spin_loop`]. Inside a check, other threads may run, as with
/// [`yield_now`](crate::thread::yield_now).
#[cfg(feature = "check")]
#[track_caller]
#[inline]
pub fn spin_loop() {
    match raddle_check::runtime::current() {
        None => std::hint::spin_loop(),
        Some(_) => crate::thread::yield_now(),
    }
}
