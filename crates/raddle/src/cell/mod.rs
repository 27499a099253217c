//! Mirrors `std::cell`.
//!
//! [`UnsafeCell`] is raddle's own, with loom's `with` and `with_mut`. The others, which threads do
//! not share, are std's.

#[cfg(feature = "check")]
mod controlled;

#[cfg(not(feature = "check"))]
pub use crate::plain::cell::UnsafeCell;
#[cfg(feature = "check")]
pub use controlled::UnsafeCell;
pub use std::cell::{BorrowError, BorrowMutError, Cell, LazyCell, OnceCell, Ref, RefCell, RefMut};
