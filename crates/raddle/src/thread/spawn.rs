//! Starting threads and waiting for them.

use std::any::Any;
use std::ffi::CString;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::thread::Result;

use raddle_engine::Operation;

use super::handle::{Inner, Thread};
use super::result::ResultOwner;
use raddle_check::runtime::foreign::{self, SharedValue};
use raddle_check::runtime::{Abandoned, Context, current};

/// Starts a thread, as [`std::thread::spawn`].
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let Some(context) = current() else {
        return Builder::new().spawn(f).expect("failed to spawn thread");
    };
    // Not by a builder: its handle would be moved out of a result, for which the processor stalls.
    // SAFETY: nothing is borrowed.
    let modelled = unsafe { Modelled::start(context, Location::caller(), None, f, unit) };
    JoinHandle(Handle::Modelled(modelled))
}

/// For `raddle-loom`: starts a thread of the check with values that need not be `Send`.
///
/// # Panics
///
/// Outside a check.
#[doc(hidden)]
#[track_caller]
pub fn __spawn_unsendable<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let Some(context) = current() else {
        panic!("raddle: a thread with values that are not `Send` is started outside a check")
    };
    let place = Location::caller();
    // SAFETY: nothing is borrowed. Values that are not `Send` stay on one OS thread, which runs all
    // threads of an execution; handles refuse threads outside the execution.
    let modelled = unsafe { Modelled::start(context, place, None, f, unit) };
    JoinHandle(Handle::Modelled(modelled))
}

/// Configures a thread before it is started, as [`std::thread::Builder`].
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// Creates a configuration without a name and with the default stack.
    #[expect(clippy::new_without_default, reason = "std's has none either")]
    pub fn new() -> Self {
        Builder {
            name: None,
            stack_size: None,
        }
    }

    /// Sets the name of the thread.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets the size of the thread's stack. Inside a check all stacks have the size that the check
    /// sets.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    /// Starts the thread.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: nothing is borrowed.
        let mut handle = unsafe { self.spawn_unchecked(f) }?;
        if let Handle::Modelled(modelled) = &mut handle.0 {
            modelled.when_abandoned = unit;
        }
        Ok(handle)
    }

    /// Starts a thread that may borrow.
    ///
    /// # Safety
    ///
    /// Values that `f` and its result borrow must live until the thread is joined.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        let place = Location::caller();
        Ok(JoinHandle(match current() {
            // SAFETY: as for this function.
            Some(context) => Handle::Modelled(unsafe { self.start(context, place, f) }),
            None => {
                foreign::starts_thread();
                // SAFETY: as for this function.
                let handle = unsafe { self.for_std().spawn_unchecked(f) }?;
                let thread = Thread(Inner::Std(handle.thread().clone()));
                Handle::Std { handle, thread }
            }
        }))
    }

    pub(super) fn for_std(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// Starts a modelled thread.
    ///
    /// # Safety
    ///
    /// Values that `f` and its result borrow must live until the thread has ended.
    pub(super) unsafe fn start<F, T>(
        self,
        context: &Context,
        place: &'static Location<'static>,
        f: F,
    ) -> Modelled<T>
    where
        F: FnOnce() -> T,
    {
        if let Some(name) = &self.name {
            // The same panic message as std's.
            CString::new(name.as_str()).expect("thread name may not contain interior null bytes");
        }
        // SAFETY: as for this function.
        unsafe { Modelled::start(context, place, self.name.map(Into::into), f, || None) }
    }
}

/// Returns the unit value if that is the type of the result; no other type has a value to return.
fn unit<T: 'static>() -> Option<T> {
    let mut unit = Some(());
    let unit = &mut unit as &mut dyn Any;
    unit.downcast_mut::<Option<T>>().and_then(Option::take)
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = Builder {
            name: self.name.clone(),
            stack_size: self.stack_size,
        };
        same.for_std().fmt(f)
    }
}

/// A started thread of a check.
pub(super) struct Modelled<T> {
    execution: u64,
    pub(super) id: raddle_engine::ThreadId,
    pub(super) thread: Thread,
    result: ResultOwner<T>,
    /// Function that returns the result of a join when the execution has stopped before the thread
    /// ended.
    when_abandoned: fn() -> Option<T>,
}

impl<T> Modelled<T> {
    /// Starts a thread.
    ///
    /// # Safety
    ///
    /// Values that `f` and its result borrow must live until the thread has ended.
    #[inline]
    unsafe fn start(
        context: &Context,
        place: &'static Location<'static>,
        name: Option<Arc<str>>,
        f: impl FnOnce() -> T,
        when_abandoned: fn() -> Option<T>,
    ) -> Self {
        let (result, slot) = ResultOwner::pair();
        let body = move || {
            let outcome = catch_unwind(AssertUnwindSafe(f));
            let context = current().expect("a modelled thread runs inside its check");
            match outcome {
                Err(payload) if payload.is::<Abandoned>() => {}
                outcome => {
                    if let Err(payload) = &outcome {
                        context.note_panic(&**payload);
                    }
                    slot.put(outcome);
                }
            }
        };
        // SAFETY: as for this function.
        let thread = unsafe { context.spawn(place, name.clone(), body) };
        Modelled {
            execution: context.stamp(),
            id: thread,
            thread: Thread::modelled(context, thread, name),
            result,
            when_abandoned,
        }
    }

    /// Returns the check of the thread, which must be the running one.
    fn context<'a>(&self, place: &'static Location<'static>) -> &'a Context {
        let context = current().filter(|context| context.stamp() == self.execution);
        context.unwrap_or_else(|| {
            let known = SharedValue::handle("JoinHandle", self.id);
            foreign::uses_of(self.execution, None, known, place);
            panic!("raddle: the handle of a modelled thread is used outside its execution")
        })
    }

    #[inline(always)]
    pub(super) fn is_finished(&self, place: &'static Location<'static>) -> bool {
        let target = self.id;
        self.context(place)
            .observe(place, |_| Operation::IsFinished { target })
            .to_answer()
    }

    pub(super) fn join(&self, place: &'static Location<'static>) -> Result<T> {
        let target = self.id;
        let context = self.context(place);
        context.perform(place, |_| Operation::Join { target });
        context.wait_as_long_as(target);
        let result = self.result.take();
        if let Some(Err(_)) = result {
            context.join_panic(target);
        }
        // An abandoned thread has no result. If its joiner is being unwound itself, a destructor that unwraps an
        // error would end the process.
        result.unwrap_or_else(|| match (self.when_abandoned)() {
            Some(value) if context.is_unwinding() => Ok(value),
            _ => Err(Box::new("raddle: the execution has stopped")),
        })
    }
}

/// A started thread that can be waited for, as [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(Handle<T>);

enum Handle<T> {
    Std {
        handle: std::thread::JoinHandle<T>,
        thread: Thread,
    },
    Modelled(Modelled<T>),
}

// SAFETY: as std's: the result is only ever sent, and is `Send` wherever a handle is made.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to the result.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            Handle::Std { thread, .. } => thread,
            Handle::Modelled(handle) => &handle.thread,
        }
    }

    /// For `raddle-shuttle`: lets the execution end without this thread.
    #[doc(hidden)]
    pub fn __detach(&self) {
        if let Handle::Modelled(handle) = &self.0
            && let Some(context) = current()
            && context.stamp() == handle.execution
        {
            context.with_world(|world| world.detach(handle.id));
        }
    }

    /// Waits for the thread to end; returns its result, or its panic as an error.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        // Not moved: the handle was written in smaller parts than it would be read.
        if let Handle::Modelled(handle) = &self.0 {
            return handle.join(Location::caller());
        }
        match self.0 {
            Handle::Std { handle, .. } => handle.join(),
            Handle::Modelled(_) => unreachable!("joined above"),
        }
    }

    /// True when the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Handle::Std { handle, .. } => handle.is_finished(),
            Handle::Modelled(handle) => handle.is_finished(Location::caller()),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
