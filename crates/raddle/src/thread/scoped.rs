//! Scoped threads, which may borrow: they end before the scope does.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Result;

use raddle_engine::Operation;

use super::handle::{Inner, Thread};
use super::spawn::{Builder, Modelled};
use raddle_check::runtime::foreign::{self, SharedValue};
use raddle_check::runtime::{Context, current};

/// A scope in which threads may borrow, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// Scope of std, used outside a check. A pointer, because its lifetime is std's own.
    std: AtomicPtr<()>,
    /// Execution that it was created in, inside a check.
    execution: u64,
    /// Threads that have not been waited for, inside a check.
    threads: Mutex<Vec<raddle_engine::ThreadId>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with a scope and waits for all threads started in it, as [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    scope_at(Location::caller(), f)
}

/// Runs `f` with a scope whose events are at this place. A panic of its threads is raised at the caller's.
#[track_caller]
pub(crate) fn scope_at<'env, F, T>(place: &'static Location<'static>, f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        std: AtomicPtr::new(std::ptr::null_mut()),
        execution: current().map_or(0, Context::stamp),
        threads: Mutex::new(Vec::new()),
        scope: PhantomData,
        env: PhantomData,
    };
    let Some(context) = current() else {
        return std::thread::scope(|std| {
            scope
                .std
                .store(std::ptr::from_ref(std).cast_mut().cast(), Ordering::Release);
            f(&scope)
        });
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let panicked = scope.wait(context, place);
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => {
            context.unwind_if_stopped();
            value
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Returns std's scope, outside a check.
    fn std(&self) -> Option<&'scope std::thread::Scope<'scope, 'env>> {
        let std = self.std.load(Ordering::Acquire);
        // SAFETY: null, or set by `scope` to std's scope, which outlives every use of ours: std
        // waits for its threads before `scope` returns. Both scopes end at the same point, so what
        // is valid for `'scope` is valid for std's as well.
        unsafe { std.cast::<std::thread::Scope<'scope, 'env>>().as_ref() }
    }

    /// Starts a thread in this scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new()
            .spawn_scoped(self, f)
            .expect("failed to spawn thread")
    }

    /// Waits for all threads; returns true if one of them panicked and was not joined. The wait is
    /// not cut short even when the execution stops, because the threads borrow.
    ///
    /// Their panics are received when all have ended: one that leaves others blocked is the failure.
    fn wait(&self, context: &Context, place: &'static Location<'static>) -> bool {
        let mut panicked = Vec::new();
        loop {
            let next = self
                .threads
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop();
            let Some(target) = next else { break };
            context.perform_protected(place, Operation::Join { target });
            context.wait_as_long_as(target);
            if context.has_unjoined_panic(target) {
                panicked.push(target);
            }
        }
        let received = panicked.iter().map(|&target| context.join_panic(target));
        received.fold(false, |any, one| any | one)
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.std() {
            Some(std) => std.fmt(f),
            None => f.debug_struct("Scope").finish_non_exhaustive(),
        }
    }
}

impl Builder {
    /// Starts a thread in this scope.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_scoped_at(Location::caller(), scope, f)
    }

    /// Starts a thread in this scope, with this place of its start.
    pub(crate) fn spawn_scoped_at<'scope, 'env, F, T>(
        self,
        place: &'static Location<'static>,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        if let Some(std) = scope.std() {
            let handle = self.for_std().spawn_scoped(std, f)?;
            let thread = Thread(Inner::Std(handle.thread().clone()));
            return Ok(ScopedJoinHandle {
                thread,
                handle: Handle::Std(handle),
            });
        }
        let context = current().unwrap_or_else(|| {
            let known = SharedValue::without_place("Scope");
            foreign::uses_of(scope.execution, None, known, place);
            panic!("raddle: a scope of a check is used by a thread that is not controlled")
        });
        // SAFETY: `scope` waits for this thread before anything that outlives `'scope` ends.
        let started = unsafe { self.start(context, place, f) };
        scope
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(started.id);
        Ok(ScopedJoinHandle {
            thread: started.thread.clone(),
            handle: Handle::Modelled(started),
        })
    }
}

/// A thread started in a scope, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    thread: Thread,
    handle: Handle<'scope, T>,
}

enum Handle<'scope, T> {
    Std(std::thread::ScopedJoinHandle<'scope, T>),
    Modelled(Modelled<T>),
}

// SAFETY: as std's: the result is only ever sent.
unsafe impl<T: Send> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: a shared handle gives no access to the result.
unsafe impl<T: Send> Sync for ScopedJoinHandle<'_, T> {}

impl<T> ScopedJoinHandle<'_, T> {
    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Waits for the thread to end; returns its result, or its panic as an error.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.join_at(Location::caller())
    }

    /// Waits for the thread to end, at this place.
    pub(crate) fn join_at(self, place: &'static Location<'static>) -> Result<T> {
        match self.handle {
            Handle::Std(handle) => handle.join(),
            Handle::Modelled(handle) => handle.join(place),
        }
    }

    /// True when the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.handle {
            Handle::Std(handle) => handle.is_finished(),
            Handle::Modelled(handle) => handle.is_finished(Location::caller()),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
