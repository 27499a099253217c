//! Mirrors `std::sync::atomic`.
//!
//! Inside a check every access is an operation that the engine schedules. The values are in the
//! engine: an atomic that outlives an execution keeps its value from before. `from_ptr` is missing,
//! because these types are larger than std's.

#[cfg(not(feature = "check"))]
pub use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
};

#[cfg(feature = "check")]
pub use controlled::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence,
};
#[cfg(feature = "check")]
pub use std::sync::atomic::{Ordering, compiler_fence};

#[cfg(not(feature = "check"))]
#[allow(deprecated, reason = "std has them too")]
pub use std::sync::atomic::{
    ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, spin_loop_hint,
};

#[cfg(feature = "check")]
#[allow(deprecated, reason = "std has them too")]
pub use deprecated::{ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT, spin_loop_hint};

#[cfg(feature = "check")]
mod controlled;
#[cfg(feature = "check")]
mod deprecated;
