//! Mirrors `tokio::runtime`.
//!
//! Inside a check a runtime has no threads of its own: each task is a modelled thread, and all of them run
//! beside each other, as on a multi-thread runtime with a worker for each task. The settings of a
//! [`Builder`] have no effect there.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::object::is_controlled;
use crate::task::{self, AbortHandle, JoinHandle};

/// Runs tasks, as `tokio::runtime::Runtime`. Dropping it aborts those that it has started.
#[derive(Debug)]
pub struct Runtime(Kind);

#[derive(Debug)]
enum Kind {
    Real(real::runtime::Runtime),
    Modelled(Mutex<Vec<AbortHandle>>),
}

impl Runtime {
    /// Creates a multi-thread runtime.
    pub fn new() -> io::Result<Runtime> {
        Builder::new_multi_thread().enable_all().build()
    }

    /// Runs a future to its end.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.0 {
            Kind::Real(runtime) => runtime.block_on(future),
            Kind::Modelled(_) => raddle::future::block_on(future),
        }
    }

    fn keep<T>(&self, task: JoinHandle<T>) -> JoinHandle<T> {
        if let Kind::Modelled(tasks) = &self.0 {
            let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.push(task.abort_handle());
        }
        task
    }

    /// Starts a task.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let _inside = self.enter();
        self.keep(task::spawn(future))
    }

    /// Runs a function on a thread where it may block.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, run: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let _inside = self.enter();
        task::spawn_blocking(run)
    }

    /// Makes this the runtime of the calling thread.
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard(match &self.0 {
            Kind::Real(runtime) => Some(runtime.enter()),
            Kind::Modelled(_) => None,
        })
    }

    /// Returns a handle.
    pub fn handle(&self) -> Handle {
        Handle(match &self.0 {
            Kind::Real(runtime) => Some(runtime.handle().clone()),
            Kind::Modelled(_) => None,
        })
    }

    /// Aborts the tasks, without waiting for functions that block.
    pub fn shutdown_background(self) {
        if let Some(runtime) = self.end() {
            runtime.shutdown_background();
        }
    }

    /// Aborts the tasks, and waits for functions that block no longer than this.
    pub fn shutdown_timeout(self, duration: Duration) {
        if let Some(runtime) = self.end() {
            runtime.shutdown_timeout(duration);
        }
    }

    fn end(mut self) -> Option<real::runtime::Runtime> {
        let none = Kind::Modelled(Mutex::default());
        let ended = Runtime(std::mem::replace(&mut self.0, none));
        match &ended.0 {
            Kind::Modelled(_) => None,
            Kind::Real(_) => ended.into_real(),
        }
    }

    fn into_real(mut self) -> Option<real::runtime::Runtime> {
        match std::mem::replace(&mut self.0, Kind::Modelled(Mutex::default())) {
            Kind::Real(runtime) => Some(runtime),
            Kind::Modelled(_) => None,
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Kind::Modelled(tasks) = &mut self.0 {
            let tasks = tasks.get_mut().unwrap_or_else(PoisonError::into_inner);
            for task in std::mem::take(tasks) {
                task.abort();
            }
        }
    }
}

/// The time in which a runtime is that of the calling thread.
#[must_use = "the runtime is left when the guard is dropped"]
#[derive(Debug)]
pub struct EnterGuard<'a>(
    #[expect(dead_code, reason = "it is kept until it is dropped")]
    Option<real::runtime::EnterGuard<'a>>,
);

/// A handle of a runtime, as `tokio::runtime::Handle`.
#[derive(Clone, Debug)]
pub struct Handle(Option<real::runtime::Handle>);

impl Handle {
    /// Returns the runtime of the calling thread.
    ///
    /// # Panics
    ///
    /// Outside a check and outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        Handle(match is_controlled() {
            true => None,
            false => Some(real::runtime::Handle::current()),
        })
    }

    /// Returns the runtime of the calling thread, if there is one.
    pub fn try_current() -> Result<Self, real::runtime::TryCurrentError> {
        match is_controlled() {
            true => Ok(Handle(None)),
            false => real::runtime::Handle::try_current().map(|handle| Handle(Some(handle))),
        }
    }

    /// Runs a future to its end.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.0 {
            Some(handle) => handle.block_on(future),
            None => raddle::future::block_on(future),
        }
    }

    /// Starts a task.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let _inside = self.0.as_ref().map(real::runtime::Handle::enter);
        task::spawn(future)
    }

    /// Runs a function on a thread where it may block.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, run: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let _inside = self.0.as_ref().map(real::runtime::Handle::enter);
        task::spawn_blocking(run)
    }
}

/// Creates runtimes, as `tokio::runtime::Builder`.
#[derive(Debug)]
pub struct Builder(real::runtime::Builder);

impl Builder {
    /// Begins a runtime that runs its tasks on one thread.
    pub fn new_current_thread() -> Self {
        Builder(real::runtime::Builder::new_current_thread())
    }

    /// Begins a runtime with several threads.
    pub fn new_multi_thread() -> Self {
        Builder(real::runtime::Builder::new_multi_thread())
    }

    /// Enables all drivers.
    pub fn enable_all(&mut self) -> &mut Self {
        self.0.enable_all();
        self
    }

    /// Enables time.
    pub fn enable_time(&mut self) -> &mut Self {
        self.0.enable_time();
        self
    }

    /// Sets the number of threads.
    #[track_caller]
    pub fn worker_threads(&mut self, threads: usize) -> &mut Self {
        self.0.worker_threads(threads);
        self
    }

    /// Sets the number of threads for functions that block.
    #[track_caller]
    pub fn max_blocking_threads(&mut self, threads: usize) -> &mut Self {
        self.0.max_blocking_threads(threads);
        self
    }

    /// Sets the name of threads.
    pub fn thread_name(&mut self, name: impl Into<String>) -> &mut Self {
        self.0.thread_name(name);
        self
    }

    /// Sets the size of stacks.
    pub fn thread_stack_size(&mut self, size: usize) -> &mut Self {
        self.0.thread_stack_size(size);
        self
    }

    /// Creates the runtime.
    pub fn build(&mut self) -> io::Result<Runtime> {
        Ok(Runtime(match is_controlled() {
            true => Kind::Modelled(Mutex::default()),
            false => Kind::Real(self.0.build()?),
        }))
    }
}
