//! Tasks that are awaited in the order in which they end.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::serial::{Call, Serial};

use super::{AbortHandle, JoinError, JoinHandle, spawn, spawn_blocking};
use crate::object::{Place, Shared, State, set_waker, wake_all};

/// A set of tasks, as `tokio::task::JoinSet`. Dropping it aborts them.
pub struct JoinSet<T> {
    ended: Arc<Shared<EndedState>>,
    tasks: Vec<(u64, JoinHandle<T>)>,
    started: u64,
    /// The task whose end was taken from the queue and whose result was not.
    next: Option<u64>,
    wait: Wait,
}

struct EndedState {
    /// Tasks that are ending, in their order.
    ended: VecDeque<u64>,
    waker: Option<Waker>,
}

impl State for EndedState {
    fn object(&self) -> Object {
        Object::Serial(Serial)
    }
}

/// Reports the end of a task when it is dropped with the future.
struct Ends {
    ended: Arc<Shared<EndedState>>,
    task: u64,
    place: Place,
}

impl Drop for Ends {
    fn drop(&mut self) {
        let (mut state, _) = self.ended.call(self.place, Call::NotifyOne);
        state.ended.push_back(self.task);
        let waker = state.waker.take();
        drop(state);
        wake_all(waker);
    }
}

impl<T> JoinSet<T> {
    /// Creates an empty set.
    #[track_caller]
    pub fn new() -> Self {
        let state = EndedState {
            ended: VecDeque::new(),
            waker: None,
        };
        JoinSet {
            ended: Arc::new(Shared::new("JoinSet", state)),
            tasks: Vec::new(),
            started: 0,
            next: None,
            wait: Wait::new(),
        }
    }

    /// Returns the number of tasks whose result was not taken.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True when there is no task whose result was not taken.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    fn ends(&self, place: Place) -> Ends {
        Ends {
            ended: Arc::clone(&self.ended),
            task: self.started,
            place,
        }
    }

    fn add(&mut self, task: JoinHandle<T>) -> AbortHandle {
        let abort = task.abort_handle();
        self.tasks.push((self.started, task));
        self.started += 1;
        abort
    }

    /// Aborts all tasks.
    #[track_caller]
    pub fn abort_all(&mut self) {
        for (_, task) in &self.tasks {
            task.abort();
        }
    }

    /// Removes all tasks, which go on.
    pub fn detach_all(&mut self) {
        self.tasks.clear();
    }
}

impl<T: Send + 'static> JoinSet<T> {
    /// Starts a task of the set.
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
    {
        let ends = self.ends(Location::caller());
        let task = spawn(async move {
            let _ends = ends;
            future.await
        });
        self.add(task)
    }

    /// Runs a function as a task of the set, on a thread where it may block.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, run: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
    {
        let ends = self.ends(Location::caller());
        let task = spawn_blocking(move || {
            let _ends = ends;
            run()
        });
        self.add(task)
    }

    /// Waits for the next task to end; `None` when there is none.
    #[track_caller]
    pub fn join_next(&mut self) -> impl Future<Output = Option<Result<T, JoinError>>> + use<'_, T> {
        let place = Location::caller();
        std::future::poll_fn(move |context| self.poll_next(place, Some(context)))
    }

    /// Returns the result of the next task that has ended, if there is one.
    #[track_caller]
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        match self.poll_next(Location::caller(), None) {
            Poll::Ready(result) => result,
            Poll::Pending => None,
        }
    }

    /// Polls for the next task to end.
    #[track_caller]
    pub fn poll_join_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_next(Location::caller(), Some(context))
    }

    fn poll_next(
        &mut self,
        place: Place,
        context: Option<&mut Context<'_>>,
    ) -> Poll<Option<Result<T, JoinError>>> {
        if self.tasks.is_empty() {
            return Poll::Ready(None);
        }
        let next = match self.next {
            Some(next) => next,
            None => {
                let (mut state, _) = self.ended.call(place, Call::Wait);
                let Some(next) = state.ended.pop_front() else {
                    let Some(context) = context else {
                        return Poll::Pending;
                    };
                    set_waker(&mut state.waker, context.waker());
                    drop(state);
                    self.ended.declare(&mut self.wait, place, Call::Wait);
                    return Poll::Pending;
                };
                self.wait.end();
                *self.next.insert(next)
            }
        };
        let index = self.tasks.iter().position(|(task, _)| *task == next);
        let Some(index) = index else {
            // A task that was detached.
            self.next = None;
            return self.poll_next(place, context);
        };
        let task = Pin::new(&mut self.tasks[index].1);
        let mut idle = Context::from_waker(Waker::noop());
        let Poll::Ready(result) = task.poll(context.unwrap_or(&mut idle)) else {
            return Poll::Pending;
        };
        self.next = None;
        self.tasks.remove(index);
        Poll::Ready(Some(result))
    }

    /// Aborts all tasks and waits until they have ended.
    #[track_caller]
    pub fn shutdown(&mut self) -> impl Future<Output = ()> + use<'_, T> {
        let place = Location::caller();
        self.abort_all();
        async move { while self.next_at(place).await.is_some() {} }
    }

    async fn next_at(&mut self, place: Place) -> Option<Result<T, JoinError>> {
        std::future::poll_fn(|context| self.poll_next(place, Some(context))).await
    }

    /// Waits for all tasks; returns their results in the order in which they have ended.
    ///
    /// # Panics
    ///
    /// If a task panicked or was aborted.
    #[track_caller]
    pub fn join_all(mut self) -> impl Future<Output = Vec<T>> {
        let place = Location::caller();
        async move {
            let mut results = Vec::new();
            while let Some(result) = self.next_at(place).await {
                match result {
                    Ok(result) => results.push(result),
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(error) => panic!("{error}"),
                }
            }
            results
        }
    }
}

impl<T> Default for JoinSet<T> {
    #[track_caller]
    fn default() -> Self {
        JoinSet::new()
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").finish_non_exhaustive()
    }
}
