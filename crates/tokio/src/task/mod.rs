//! Mirrors `tokio::task`.
//!
//! Inside a check a task is a modelled thread, which polls its future and is suspended while that is
//! pending. `LocalSet` and `spawn_local` are missing: their tasks share one thread, which is not modelled.

mod join_set;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use raddle::future as modelled;

use crate::object::is_controlled;

pub use join_set::JoinSet;

/// Starts a task.
///
/// # Panics
///
/// Outside a check and outside a runtime of tokio.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    JoinHandle(match is_controlled() {
        true => Handle::Modelled(modelled::spawn(future)),
        false => Handle::Real(real::spawn(future)),
    })
}

/// Runs a function on a thread where it may block.
#[track_caller]
pub fn spawn_blocking<F, R>(run: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    JoinHandle(match is_controlled() {
        true => Handle::Modelled(modelled::spawn(async move { run() })),
        false => Handle::Real(real::task::spawn_blocking(run)),
    })
}

/// Runs a function that may block.
pub fn block_in_place<F: FnOnce() -> R, R>(run: F) -> R {
    match is_controlled() {
        true => run(),
        false => real::task::block_in_place(run),
    }
}

/// Lets other tasks run first.
pub async fn yield_now() {
    match is_controlled() {
        true => modelled::yield_now().await,
        false => real::task::yield_now().await,
    }
}

/// Waits for the end of a task. Dropping it detaches the task.
pub struct JoinHandle<T>(Handle<T>);

enum Handle<T> {
    Real(real::task::JoinHandle<T>),
    Modelled(modelled::JoinHandle<T>),
}

impl<T> JoinHandle<T> {
    /// Aborts the task at its next `.await`, or before its first poll.
    #[track_caller]
    pub fn abort(&self) {
        match &self.0 {
            Handle::Real(handle) => handle.abort(),
            Handle::Modelled(handle) => handle.abort(),
        }
    }

    /// Returns a handle that can abort the task.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle(match &self.0 {
            Handle::Real(handle) => Abort::Real(handle.abort_handle()),
            Handle::Modelled(handle) => Abort::Modelled(handle.abort_handle()),
        })
    }

    /// True when the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Handle::Real(handle) => handle.is_finished(),
            Handle::Modelled(handle) => handle.is_finished(),
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().0 {
            Handle::Real(handle) => {
                let result = Pin::new(handle).poll(context);
                result.map_err(|error| JoinError(Reason::Real(error)))
            }
            Handle::Modelled(handle) => {
                let result = Pin::new(handle).poll(context);
                result.map_err(|error| JoinError(Reason::Modelled(error)))
            }
        }
    }
}

impl<T> Unpin for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Aborts a task without waiting for it.
#[derive(Clone)]
pub struct AbortHandle(Abort);

#[derive(Clone)]
enum Abort {
    Real(real::task::AbortHandle),
    Modelled(modelled::AbortHandle),
}

impl AbortHandle {
    /// Aborts the task, as [`JoinHandle::abort`].
    #[track_caller]
    pub fn abort(&self) {
        match &self.0 {
            Abort::Real(handle) => handle.abort(),
            Abort::Modelled(handle) => handle.abort(),
        }
    }

    /// True when the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Abort::Real(handle) => handle.is_finished(),
            Abort::Modelled(handle) => handle.is_finished(),
        }
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").finish_non_exhaustive()
    }
}

/// The reason why a task has no result.
pub struct JoinError(Reason);

enum Reason {
    Real(real::task::JoinError),
    Modelled(modelled::JoinError),
}

impl JoinError {
    /// True when the task was aborted.
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            Reason::Real(error) => error.is_cancelled(),
            Reason::Modelled(error) => error.is_cancelled(),
        }
    }

    /// True when the task panicked.
    pub fn is_panic(&self) -> bool {
        !self.is_cancelled()
    }

    /// Returns the panic of the task.
    ///
    /// # Panics
    ///
    /// If the task was aborted.
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        match self.0 {
            Reason::Real(error) => error.into_panic(),
            Reason::Modelled(error) => error.into_panic(),
        }
    }

    /// Returns the panic of the task, or the error if it was aborted.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, JoinError> {
        match self.is_panic() {
            true => Ok(self.into_panic()),
            false => Err(self),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Real(error) => error.fmt(f),
            Reason::Modelled(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Real(error) => error.fmt(f),
            Reason::Modelled(error) => error.fmt(f),
        }
    }
}

impl Error for JoinError {}

impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        std::io::Error::other(error.to_string())
    }
}
