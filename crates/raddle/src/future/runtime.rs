//! The tasks that end with the `block_on` in which they were started.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

use super::task::Control;

/// Tasks whose end no thread has awaited, in the order of their start.
///
/// The lock is one of std's: no operation of the program happens while it is held. A task leaves the list when its
/// result is taken and not when it ends: that it has ended is no event that the thread which aborts the rest has seen.
#[derive(Default)]
pub(super) struct Runtime {
    tasks: Mutex<Vec<Arc<Control>>>,
}

crate::thread_local! {
    static CURRENT: RefCell<Option<Arc<Runtime>>> = const { RefCell::new(None) };
}

/// Returns the runtime of the calling thread.
fn current() -> Option<Arc<Runtime>> {
    CURRENT.with_borrow(Option::clone)
}

/// Calls `run` with this runtime as that of the calling thread.
pub(super) fn enter<R>(runtime: Option<Arc<Runtime>>, run: impl FnOnce() -> R) -> R {
    struct Restore(Option<Arc<Runtime>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let earlier = self.0.take();
            // The value is gone when the thread is ending.
            let _ = CURRENT.try_with(|current| *current.borrow_mut() = earlier);
        }
    }
    let _restore = Restore(CURRENT.replace(runtime));
    run()
}

/// A runtime of the calling thread until it is closed or dropped.
#[must_use = "the runtime ends when its scope is dropped"]
pub(super) struct Scope {
    runtime: Option<Arc<Runtime>>,
}

impl Scope {
    /// Begins a runtime.
    ///
    /// # Panics
    ///
    /// Inside another one.
    fn begin() -> Self {
        let runtime = Arc::new(Runtime::default());
        let earlier = CURRENT.replace(Some(Arc::clone(&runtime)));
        assert!(
            earlier.is_none(),
            "raddle: a runtime begins inside another one"
        );
        Scope {
            runtime: Some(runtime),
        }
    }

    /// Begins a runtime, or nothing if the calling thread has one.
    pub(super) fn unless_inside() -> Self {
        match current() {
            Some(_) => Scope { runtime: None },
            None => Scope::begin(),
        }
    }

    /// Aborts the tasks that are left. Without this call, that is after a panic, they stay.
    #[track_caller]
    pub(super) fn close(self) {
        if let Some(runtime) = &self.runtime {
            runtime.abort_all();
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.runtime.is_some() {
            // The value is gone when the thread is ending.
            let _ = CURRENT.try_with(|current| current.borrow_mut().take());
        }
    }
}

/// Adds a task to the runtime of the calling thread, and returns that.
pub(super) fn add(task: &Arc<Control>) -> Option<Arc<Runtime>> {
    let runtime = current()?;
    runtime.lock().push(Arc::clone(task));
    Some(runtime)
}

/// Takes a task out of the runtime of the calling thread.
pub(super) fn remove(task: &Arc<Control>) {
    if let Some(runtime) = current() {
        runtime.lock().retain(|one| !Arc::ptr_eq(one, task));
    }
}

impl Runtime {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Control>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn abort_all(&self) {
        loop {
            let mut tasks = self.lock();
            if tasks.is_empty() {
                return;
            }
            let task = tasks.remove(0);
            // Aborting is an operation, at which other threads may run.
            drop(tasks);
            task.abort();
        }
    }
}
