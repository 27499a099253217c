//! Handles and identifiers of threads.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use raddle_engine::Operation;

use raddle_check::runtime::{Context, current as current_check};

/// A handle to a thread, as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(pub(super) Inner);

#[derive(Clone)]
pub(super) enum Inner {
    Std(std::thread::Thread),
    Modelled {
        id: ThreadId,
        name: Option<Arc<str>>,
    },
}

/// Identifies a thread, as [`std::thread::ThreadId`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(pub(super) Id);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Id {
    Std(std::thread::ThreadId),
    Modelled { execution: u64, index: usize },
}

impl ThreadId {
    /// For `raddle-shuttle`: the number of a modelled thread in its execution, in the order of their creation.
    #[doc(hidden)]
    pub fn __index(self) -> Option<usize> {
        match self.0 {
            Id::Std(_) => None,
            Id::Modelled { index, .. } => Some(index),
        }
    }
}

impl Thread {
    pub(super) fn modelled(
        context: &Context,
        thread: raddle_engine::ThreadId,
        name: Option<Arc<str>>,
    ) -> Self {
        let id = Id::Modelled {
            execution: context.stamp(),
            index: thread.index(),
        };
        Thread(Inner::Modelled {
            id: ThreadId(id),
            name,
        })
    }

    /// Returns the thread's identifier, which no other thread of the process has.
    pub fn id(&self) -> ThreadId {
        match &self.0 {
            Inner::Std(thread) => ThreadId(Id::Std(thread.id())),
            Inner::Modelled { id, .. } => *id,
        }
    }

    /// Returns the name given with [`Builder::name`](super::Builder::name); `main` for the thread
    /// that runs the body of a check.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Inner::Std(thread) => thread.name(),
            Inner::Modelled { name, .. } => name.as_deref(),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Id::Std(id) => id.fmt(f),
            // Without the execution, so that the output of a program does not depend on it.
            Id::Modelled { index, .. } => f.debug_tuple("ThreadId").field(&(index + 1)).finish(),
        }
    }
}

/// Returns the calling thread.
pub fn current() -> Thread {
    match current_check() {
        None => Thread(Inner::Std(std::thread::current())),
        Some(context) => {
            let thread = context.thread();
            let name = match thread {
                raddle_engine::ThreadId::MAIN => Some("main".into()),
                _ => context.thread_name(),
            };
            Thread::modelled(context, thread, name)
        }
    }
}

/// True when the calling thread is unwinding because of a panic.
pub fn panicking() -> bool {
    match current_check() {
        None => std::thread::panicking(),
        Some(context) => context.is_unwinding(),
    }
}

/// Lets other threads run first.
#[track_caller]
pub fn yield_now() {
    match current_check() {
        None => std::thread::yield_now(),
        Some(context) => {
            context.observe(Location::caller(), |_| Operation::Yield);
        }
    }
}
