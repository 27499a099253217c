//! Mirrors `std::thread`.

use std::fmt;
use std::io;
use std::mem::ManuallyDrop;

use raddle_check::runtime;

use crate::current::{Inherited, TaskId, TaskName, current_task, set_name_for_task, with_state};

pub use raddle::thread::{
    AccessError, LocalKey, Result, available_parallelism, panicking, park_timeout, sleep, yield_now,
};

/// Waits for the token of the calling thread. It may return without the token, in each execution once for each thread.
#[track_caller]
pub fn park() {
    // A search leaves out spurious wake-ups, because shuttle has none of condition variables.
    if may_return_early() && raddle::choose(0..2) == 1 {
        return;
    }
    raddle::thread::park();
}

/// True when a search has to choose whether a call of [`park`] returns at once.
fn may_return_early() -> bool {
    let Some(task) = current_task() else {
        return false;
    };
    with_state(|state| state.is_search && state.woken_early.insert(task))
}

/// Identifies a thread of an execution; converts to the number of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId {
    task: TaskId,
}

impl From<ThreadId> for usize {
    fn from(id: ThreadId) -> usize {
        id.task.into()
    }
}

/// A handle to a thread.
#[derive(Clone, Debug)]
#[repr(transparent)]
pub struct Thread(raddle::thread::Thread);

impl Thread {
    /// Returns the name of the thread.
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Returns the identity of the thread.
    ///
    /// # Panics
    ///
    /// If it is no thread of an execution.
    pub fn id(&self) -> ThreadId {
        ThreadId {
            task: task_of(&self.0),
        }
    }

    /// Sets the token that [`park`] waits for.
    #[track_caller]
    pub fn unpark(&self) {
        self.0.unpark();
    }

    fn of(thread: &raddle::thread::Thread) -> &Thread {
        // SAFETY: the type is transparent.
        unsafe { &*std::ptr::from_ref(thread).cast() }
    }
}

pub(crate) fn task_of(thread: &raddle::thread::Thread) -> TaskId {
    let index = thread.id().__index();
    let index = index.expect("`ExecutionState` is not set: the thread is not one of a test");
    index.into()
}

/// Returns the calling thread.
pub fn current() -> Thread {
    Thread(raddle::thread::current())
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Configures a thread before it is started.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Creates a configuration without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the thread.
    #[must_use]
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets the size of the stack, which has no effect: all threads of a test have the same.
    #[must_use]
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let mut builder = raddle::thread::Builder::new();
        let task_name = self.name.clone().map(TaskName::from);
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        let inherited = Inherited::from_parent();
        let handle = builder.spawn(f)?;
        inherit(inherited, handle.thread());
        if let (Some(name), Some(index)) = (task_name, handle.thread().id().__index()) {
            set_name_for_task(index.into(), name);
        }
        Ok(JoinHandle(handle))
    }
}

/// Gives labels to a thread of the test that was just created.
#[track_caller]
fn inherit(labels: Inherited, thread: &raddle::thread::Thread) {
    if let Some(index) = thread.id().__index() {
        labels.give_to(index.into());
    }
}

/// Waits for the end of a thread.
pub struct JoinHandle<T>(raddle::thread::JoinHandle<T>);

impl<T> JoinHandle<T> {
    /// Waits for the thread to end and returns its result.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        Thread::of(self.0.thread())
    }

    /// True when the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A scope in which threads may borrow.
#[repr(transparent)]
pub struct Scope<'scope, 'env: 'scope>(ManuallyDrop<raddle::thread::Scope<'scope, 'env>>);

impl<'scope, 'env> Scope<'scope, 'env> {
    fn of(scope: &'scope raddle::thread::Scope<'scope, 'env>) -> &'scope Scope<'scope, 'env> {
        // SAFETY: the type is transparent, and only references to it exist.
        unsafe { &*std::ptr::from_ref(scope).cast() }
    }

    /// Starts a thread in this scope.
    ///
    /// # Panics
    ///
    /// In a destructor after the end of the execution, where no thread runs any more.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let has_ended = runtime::current().is_some_and(runtime::Context::has_stopped);
        // The scope would return without the effects of the thread.
        assert!(
            !has_ended || panicking(),
            "a destructor spawned a scoped thread while the execution was being torn down, where it cannot run"
        );
        let inherited = Inherited::from_parent();
        let handle = self.0.spawn(f);
        inherit(inherited, handle.thread());
        ScopedJoinHandle(handle)
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Runs `f` with a scope and waits for all threads started in it.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    raddle::thread::scope(|scope| f(Scope::of(scope)))
}

/// Waits for the end of a thread in a scope.
pub struct ScopedJoinHandle<'scope, T>(raddle::thread::ScopedJoinHandle<'scope, T>);

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to end and returns its result.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        Thread::of(self.0.thread())
    }

    /// True when the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
