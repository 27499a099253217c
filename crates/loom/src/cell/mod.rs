//! Cells whose accesses are checked for data races.

#[expect(clippy::module_inception, reason = "std has it too")]
mod cell;
mod unsafe_cell;

pub use cell::Cell;
pub use unsafe_cell::{ConstPtr, MutPtr, UnsafeCell};
