#![doc = include_str!("../README.md")]

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use model::model;
pub use raddle::thread_local;

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: raddle::alloc::Quarantine = raddle::alloc::Quarantine;

/// Maximum number of threads of a test in loom. Here any number is allowed.
pub const MAX_THREADS: usize = 5;

/// Has no effect: executions are explored from the beginning.
pub fn explore() {}

/// Has no effect: all executions are explored, so none that loom explores is missed.
pub fn stop_exploring() {}

/// Has no effect: all executions are explored, so none that loom explores is missed.
pub fn skip_branch() {}
