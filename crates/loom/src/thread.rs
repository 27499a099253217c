//! Mirrors `std::thread`.

pub use raddle::thread::{
    AccessError, Builder, JoinHandle, LocalKey, Thread, ThreadId, current, panicking, park,
    yield_now,
};

/// Starts a thread, whose values need not be `Send`.
///
/// # Panics
///
/// Outside a model.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    raddle::thread::__spawn_unsendable(f)
}
