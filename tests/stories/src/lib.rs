//! Small programs that retell real concurrency bugs, each with a correct twin and what is known
//! about it: what goes wrong, how many threads it takes and how few preemptions.
//!
//! The programs know nothing of raddle. They are written over `backend`, which is raddle here; the
//! benchmarks compile the same files once more over another checker.

mod programs;
mod story;

/// What the programs are written over.
mod backend {
    pub(crate) use raddle::{sync, thread};
}

pub use programs::all;
pub use story::{Facts, FailureKind, Memory, Story};
