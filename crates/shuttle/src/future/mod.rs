//! An executor: tasks that run beside each other, and [`block_on`].

pub mod batch_semaphore;

use std::error::Error;
use std::fmt;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use raddle::future as tasks;

use crate::current::{Inherited, mark_ended};

pub use raddle::future::AbortHandle;

/// Starts a task.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let inherited = Inherited::from_parent();
    JoinHandle::of(tasks::spawn(Marked(future)), inherited)
}

/// A future that marks its task when it is done. No `async fn`, which would be twice as large.
struct Marked<F>(F);

impl<F: Future> Future for Marked<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the field is pinned with the value: nothing moves it, and there is no destructor.
        let future = unsafe { self.map_unchecked_mut(|marked| &mut marked.0) };
        let output = ready!(future.poll(context));
        mark_ended();
        Poll::Ready(output)
    }
}

/// Starts a task whose values need not be `Send`.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let inherited = Inherited::from_parent();
    JoinHandle::of(tasks::spawn_local(Marked(future)), inherited)
}

/// Runs a future to its end on the calling task.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    tasks::__block_on_thread(future)
}

/// Lets other tasks run first.
#[track_caller]
pub fn yield_now() -> impl Future<Output = ()> {
    tasks::yield_now()
}

/// Waits for the end of a task. Dropping it detaches the task: the test ends without waiting for it.
pub struct JoinHandle<T> {
    handle: tasks::JoinHandle<T>,
}

impl<T> JoinHandle<T> {
    #[track_caller]
    fn of(handle: tasks::JoinHandle<T>, inherited: Inherited) -> Self {
        let thread = handle
            .__thread()
            .expect("the task was just started")
            .thread();
        if let Some(index) = thread.id().__index() {
            inherited.give_to(index.into());
        }
        JoinHandle { handle }
    }

    /// Aborts the task: instead of being polled once more, its future is dropped.
    #[track_caller]
    pub fn abort(&self) {
        self.handle.abort();
    }

    /// True when the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Returns a handle that can abort the task.
    pub fn abort_handle(&self) -> AbortHandle {
        self.handle.abort_handle()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.handle.__thread() {
            thread.__detach();
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(context).map(|result| {
            result.map_err(|error| match error.is_panic() {
                // A panic of a task fails the test.
                true => resume_unwind(error.into_panic()),
                false => JoinError::Cancelled,
            })
        })
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

/// The reason why a task has no result.
#[derive(Debug)]
pub enum JoinError {
    /// The task was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl Error for JoinError {}
