//! Tasks: futures that run on threads of their own.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

#[cfg(feature = "check")]
use raddle_engine::{Operation, ThreadId, object::task::Call};

#[cfg(feature = "check")]
use super::control::TaskObject;
use super::runtime;
use super::{Signal, name_of, suspend};
use crate::thread;
#[cfg(feature = "check")]
use raddle_check::protocol::awaits::Wait;

/// The calls of a task, which only a check distinguishes.
#[cfg(not(feature = "check"))]
enum Call {
    Poll,
    Abort,
    End,
    Join,
    IsFinished,
}

/// Starts a task, which runs beside the caller.
///
/// A task is a thread that polls its future and waits while that is pending. Inside a check it is a modelled
/// thread. Tasks that are started inside [`block_on`](super::block_on) end with it: those that have not ended when
/// it returns are aborted, as tokio does when a runtime is dropped.
///
/// ```
/// use raddle::future;
///
/// let sum = future::block_on(async {
///     let task = future::spawn(async { 3 });
///     task.await.unwrap() + 4
/// });
/// assert_eq!(sum, 7);
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let task = Task::new(name_of::<F>());
    let body = Body::new(&task, future);
    let thread = thread::spawn(move || body.run());
    JoinHandle::new(task, thread)
}

/// Starts a task whose values need not be `Send`, on a thread of the check.
///
/// # Panics
///
/// Outside a check, where no other thread may run the future.
#[cfg(feature = "check")]
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let task = Task::new(name_of::<F>());
    let body = Body::new(&task, future);
    let thread = thread::__spawn_unsendable(move || body.run());
    JoinHandle::new(task, thread)
}

/// The part of a task that does not depend on its result.
///
/// Each call is one operation of the engine, after which no other thread runs until the call has changed the state. So
/// the lock of the state is one of std's.
pub(super) struct Control {
    #[cfg(feature = "check")]
    object: TaskObject,
    woken: Signal,
    state: std::sync::Mutex<State>,
    /// The place where the task was started, which stands for its own operations.
    place: &'static Location<'static>,
}

#[derive(Default)]
struct State {
    is_aborted: bool,
    has_ended: bool,
    /// The waker of the task that waits for the end.
    waker: Option<Waker>,
}

impl Control {
    /// Performs the operation of a call, and returns the state.
    #[cfg_attr(
        not(feature = "check"),
        expect(unused_variables, reason = "only a check has operations")
    )]
    fn call(
        &self,
        call: Call,
        place: &'static Location<'static>,
    ) -> std::sync::MutexGuard<'_, State> {
        #[cfg(feature = "check")]
        self.object.call(call, place);
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    pub(super) fn abort(&self) {
        self.call(Call::Abort, Location::caller()).is_aborted = true;
        self.woken.set();
    }

    fn is_aborted(&self) -> bool {
        self.call(Call::Poll, self.place).is_aborted
    }

    #[track_caller]
    fn is_finished(&self) -> bool {
        self.call(Call::IsFinished, Location::caller()).has_ended
    }
}

impl Wake for Control {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.woken.set();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.set();
    }
}

/// Performs an operation of a task that is not in the middle of a poll; `None` if the execution has ended. The future
/// is dropped then, without a panic.
fn unless_ended<R>(operation: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(operation)) {
        Ok(result) => Some(result),
        Err(panic) if cancels(&*panic) => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// True when a panic stands for the end of the execution: the calling task only runs destructors from here on.
#[cfg(feature = "check")]
fn cancels(panic: &(dyn Any + Send)) -> bool {
    let is_abandoned = panic.is::<raddle_check::runtime::Abandoned>();
    if is_abandoned && let Some(context) = raddle_check::runtime::current() {
        context.cancel();
    }
    is_abandoned
}

#[cfg(not(feature = "check"))]
fn cancels(_panic: &(dyn Any + Send)) -> bool {
    false
}

enum Outcome<T> {
    Result(Result<T, JoinError>),
    /// The thread of the task has the panic.
    Panicked,
}

struct Task<T> {
    control: Arc<Control>,
    /// Set before the state says that the task has ended. The lock is one of std's: no operation happens while it
    /// is held.
    outcome: std::sync::Mutex<Option<Outcome<T>>>,
}

/// A task that has not begun. Dropping it cancels the task.
struct Body<F: Future> {
    task: Arc<Task<F::Output>>,
    inside: Option<Arc<runtime::Runtime>>,
    future: Option<F>,
}

impl<F: Future> Body<F> {
    fn new(task: &Arc<Task<F::Output>>, future: F) -> Self {
        Body {
            task: Arc::clone(task),
            inside: runtime::add(&task.control),
            future: Some(future),
        }
    }

    fn run(mut self) {
        let (inside, future) = (self.inside.take(), self.future.take());
        let future = future.expect("a task begins once");
        runtime::enter(inside, || self.task.run(future));
    }
}

impl<F: Future> Drop for Body<F> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            drop(future);
            let cancelled = JoinError(Reason::Cancelled);
            self.task.finish(Outcome::Result(Err(cancelled)));
        }
    }
}

impl<T> Task<T> {
    /// Creates a task with a future of this type.
    #[track_caller]
    fn new(future: &'static str) -> Arc<Self> {
        let place = Location::caller();
        Arc::new(Task {
            control: Arc::new(Control {
                #[cfg(feature = "check")]
                object: TaskObject::new(place),
                woken: Signal::of_task(future),
                state: std::sync::Mutex::default(),
                place,
            }),
            outcome: std::sync::Mutex::new(None),
        })
    }

    /// Polls the future until it is ready or the task is aborted.
    fn run(&self, future: impl Future<Output = T>) {
        match catch_unwind(AssertUnwindSafe(|| self.poll(future))) {
            Ok(result) => self.finish(Outcome::Result(result)),
            Err(panic) if cancels(&*panic) => {
                self.finish(Outcome::Result(Err(JoinError(Reason::Cancelled))));
                resume_unwind(panic);
            }
            Err(panic) => {
                // The end of the execution must not take the place of the panic.
                if unless_ended(|| self.finish(Outcome::Panicked)).is_none() {
                    self.finish(Outcome::Panicked);
                }
                resume_unwind(panic);
            }
        }
    }

    fn poll(&self, future: impl Future<Output = T>) -> Result<T, JoinError> {
        let waker = Waker::from(Arc::clone(&self.control));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            let control = &self.control;
            if unless_ended(|| control.is_aborted()).unwrap_or(true) {
                return Err(JoinError(Reason::Cancelled));
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Ok(output);
            }
            if unless_ended(|| suspend(&control.woken, control.place)).is_none() {
                return Err(JoinError(Reason::Cancelled));
            }
        }
    }

    fn finish(&self, outcome: Outcome<T>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        let control = &self.control;
        let mut state = control.call(Call::End, control.place);
        state.has_ended = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Waits for the end of a task that [`spawn`] has started. Dropping it detaches the task, which goes on.
pub struct JoinHandle<T> {
    task: Arc<Task<T>>,
    thread: Option<thread::JoinHandle<()>>,
    #[cfg(feature = "check")]
    wait: Wait,
}

impl<T> JoinHandle<T> {
    fn new(task: Arc<Task<T>>, thread: thread::JoinHandle<()>) -> Self {
        JoinHandle {
            task,
            thread: Some(thread),
            #[cfg(feature = "check")]
            wait: Wait::new(),
        }
    }

    /// Declares that the caller waits for the thread of the task to end.
    #[cfg(feature = "check")]
    fn declare_wait(&mut self, place: &'static Location<'static>) {
        let thread = self.thread.as_ref().map(thread::JoinHandle::thread);
        if let Some(index) = thread.and_then(|thread| thread.id().__index()) {
            let target = ThreadId::new(index);
            self.wait.declare(place, |_| Operation::Join { target });
            super::__pending_at(place);
        }
    }

    /// Aborts the task: instead of being polled once more, its future is dropped. A task that has ended stays as it is.
    #[track_caller]
    pub fn abort(&self) {
        self.task.control.abort();
    }

    /// Returns a handle that can abort the task.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle {
            control: Arc::clone(&self.task.control),
        }
    }

    /// True when the task has ended, or was aborted and has dropped its future.
    #[track_caller]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.control.is_finished()
    }

    /// Detaches the task, as dropping the handle does.
    pub fn detach(self) {}

    /// For `raddle-shuttle`: the thread of the task, before it was joined.
    #[doc(hidden)]
    #[must_use]
    pub fn __thread(&self) -> Option<&thread::JoinHandle<()>> {
        self.thread.as_ref()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let caller = Location::caller();
        let control = &self.task.control;
        // A call through a trait object has no place of its own.
        let place = match caller.file() == file!() {
            true => control.place,
            false => caller,
        };
        let mut state = control.call(Call::Join, place);
        if !state.has_ended {
            let earlier = state.waker.replace(context.waker().clone());
            drop(state);
            drop(earlier);
            #[cfg(feature = "check")]
            self.declare_wait(place);
            return Poll::Pending;
        }
        drop(state);
        runtime::remove(control);
        let outcome = &self.task.outcome;
        let outcome = outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        #[cfg(feature = "check")]
        self.wait.end();
        match outcome.expect("a `JoinHandle` is polled after it was ready") {
            Outcome::Result(result) => Poll::Ready(result),
            Outcome::Panicked => {
                let thread = self.thread.take().expect("the outcome is taken once");
                let panic = thread
                    .join()
                    .expect_err("the thread of the task has panicked");
                Poll::Ready(Err(JoinError(Reason::Panic(panic))))
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
pub struct AbortHandle {
    control: Arc<Control>,
}

impl AbortHandle {
    /// Aborts the task, as [`JoinHandle::abort`].
    #[track_caller]
    pub fn abort(&self) {
        self.control.abort();
    }

    /// True when the task has ended, as [`JoinHandle::is_finished`].
    #[track_caller]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.control.is_finished()
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
    Cancelled,
    Panic(Box<dyn Any + Send>),
}

impl JoinError {
    /// True when the task was aborted.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Reason::Cancelled)
    }

    /// True when the task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.0, Reason::Panic(_))
    }

    /// Returns the panic of the task.
    ///
    /// # Panics
    ///
    /// If the task was aborted.
    #[must_use]
    pub fn into_panic(self) -> Box<dyn Any + Send> {
        match self.0 {
            Reason::Panic(panic) => panic,
            Reason::Cancelled => panic!("the task was aborted, it has not panicked"),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Reason::Cancelled => "task was aborted",
            Reason::Panic(_) => "task panicked",
        })
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl Error for JoinError {}
