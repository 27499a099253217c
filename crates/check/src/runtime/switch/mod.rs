//! Stacks of modelled threads, and switching between them.
//!
//! A thread that is not running is a [`Home`] with the place where it continues. The loop that drives an
//! execution [resumes](Pinned::resume) a thread; the thread [suspends](Pinned::suspend) itself to get back
//! there. Where [`IS_DIRECT`] holds, a thread can also [switch](Pinned::switch_to) to another one.
//!
//! On x86-64 the switch is our own, because that is where a scheduling point spends most of its time:
//! mispredicted returns. Elsewhere it is corosensei's.

#[cfg(any(not(target_arch = "x86_64"), windows, test))]
#[cfg_attr(all(target_arch = "x86_64", not(windows)), allow(dead_code))]
mod portable;
#[cfg(all(target_arch = "x86_64", not(windows)))]
mod x86_64;

#[cfg(any(not(target_arch = "x86_64"), windows))]
use portable as implementation;
#[cfg(all(target_arch = "x86_64", not(windows)))]
use x86_64 as implementation;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(super) use implementation::Guard;
pub(super) use implementation::{Driver, Home, IS_DIRECT, Pinned, Way};

/// The way a coroutine ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exit {
    Returned,
    /// It returned, and the execution has stopped.
    Finished,
    /// It returned, and raddle itself panicked then.
    Failed,
    Overflowed,
    Crashed,
}

#[cfg(test)]
mod tests;
