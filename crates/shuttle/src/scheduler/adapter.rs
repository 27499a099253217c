//! A scheduler of shuttle's as one of raddle's.
//!
//! It chooses tasks and random numbers. The rest that raddle leaves open is decided here: a notification wakes any
//! waiting thread, in a way that depends only on the steps before it.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::ThreadId;

use raddle::scheduler::{Choice, OperationKind, View};

use super::{Scheduler, Task, TaskId};
use crate::rand::{PARTS, part};

/// A scheduler and the state of the execution that it runs.
pub(crate) struct Driven<S> {
    scheduler: S,
    /// Number of steps at which executions end without a verdict.
    max_steps: Option<usize>,
    /// Executions so far.
    pub(crate) executions: usize,
    /// The task of each number, with the one that has created it.
    tasks: Vec<Task>,
    /// The number that is being drawn, and the parts of it that were returned.
    drawn: Option<(u64, u32)>,
    next: Option<Choice>,
    /// The panic of the scheduler.
    panic: Option<Box<dyn Any + Send>>,
}

impl<S: Scheduler> Driven<S> {
    pub(crate) fn new(scheduler: S, max_steps: Option<usize>) -> Self {
        Driven {
            scheduler,
            max_steps,
            executions: 0,
            tasks: Vec::new(),
            drawn: None,
            next: None,
            panic: None,
        }
    }

    /// Calls the scheduler, and keeps its panic.
    fn call<R>(&mut self, call: impl FnOnce(&mut Self) -> R) -> R {
        let result = catch_unwind(AssertUnwindSafe(|| call(self)));
        result.unwrap_or_else(|panic| {
            self.panic = Some(panic);
            resume_unwind(Box::new("the scheduler panicked"))
        })
    }

    /// Returns the panic of the scheduler.
    pub(crate) fn take_panic(&mut self) -> Option<Box<dyn Any + Send>> {
        self.panic.take()
    }

    fn begin(&mut self) -> bool {
        self.tasks.clear();
        self.drawn = None;
        let begins = self.scheduler.new_execution().is_some();
        self.executions += usize::from(begins);
        begins
    }

    /// Chooses the next step; `None` ends the execution.
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let last = view.events().last();
        let current = last.map(|event| event.thread());
        // A random number is drawn while its task runs, without a choice of the task.
        if let Some(thread) = current.and_then(|current| view.thread(current))
            && thread.operation().label() == "choose"
        {
            let (number, parts) = match self.drawn.take() {
                Some(drawn) => drawn,
                None => (self.scheduler.next_u64(), 0),
            };
            self.drawn = Some((number, parts + 1)).filter(|&(_, parts)| parts < PARTS);
            return Some(thread.with_outcome(part(number, parts)));
        }
        if let Some(most) = self.max_steps
            && view.events().len() - crate::current::counted_from() >= most
        {
            return None;
        }
        let is_yielding =
            last.is_some_and(|event| event.operation().kind() == OperationKind::Yield);
        let current: Option<TaskId> = current.map(|thread| thread.index().into());
        while self.tasks.len() < view.thread_count() {
            self.tasks.push(Task {
                id: self.tasks.len().into(),
                // The creation of a thread is performed just before the next choice.
                parent: current,
            });
        }
        let tasks = &self.tasks;
        let runnable: Vec<&Task> = view.enabled().map(|it| &tasks[it.id().index()]).collect();
        let chosen = self.scheduler.next_task(&runnable, current, is_yielding)?;
        let thread = view
            .enabled()
            .find(|it| it.id().index() == usize::from(chosen));
        let thread =
            thread.unwrap_or_else(|| panic!("the scheduler chose {chosen:?}, which cannot run"));
        let outcomes = match thread.operation().kind() {
            OperationKind::Call => thread.outcomes(),
            _ => 1,
        };
        let mut seed = view.events().len() as u64;
        Some(thread.with_outcome((crate::rand::next(&mut seed) % u64::from(outcomes)) as u32))
    }
}

/// A value that only one OS thread uses.
pub(crate) struct Guarded<S> {
    owner: ThreadId,
    driven: RefCell<Driven<S>>,
}

// SAFETY: `on_owner` gives access to the value on the thread only that has made it, where `Runner::run` keeps a
// reference, so that the last one is dropped there.
unsafe impl<S> Send for Guarded<S> {}
// SAFETY: as above.
unsafe impl<S> Sync for Guarded<S> {}

impl<S> Guarded<S> {
    pub(crate) fn new(driven: Driven<S>) -> Arc<Self> {
        Arc::new(Guarded {
            owner: std::thread::current().id(),
            driven: RefCell::new(driven),
        })
    }

    /// Calls `use_it` with the value; `None` on another thread.
    pub(crate) fn on_owner<R>(&self, use_it: impl FnOnce(&mut Driven<S>) -> R) -> Option<R> {
        let is_owner = std::thread::current().id() == self.owner;
        is_owner.then(|| use_it(&mut self.driven.borrow_mut()))
    }
}

/// The scheduler of a worker. Only the first has one, and others run nothing.
pub(crate) struct Adapter<S>(pub(crate) Arc<Guarded<S>>);

impl<S: Scheduler> raddle::Scheduler for Adapter<S> {
    fn begin(&mut self) -> bool {
        let begins = self.0.on_owner(|driven| driven.call(Driven::begin));
        begins.unwrap_or(false)
    }

    fn discards(&mut self, view: &View<'_>) -> bool {
        let next = self.0.on_owner(|driven| {
            driven.next = driven.call(|driven| driven.choose(view));
            driven.next
        });
        next.flatten().is_none()
    }

    fn choose(&mut self, _view: &View<'_>) -> Choice {
        let next = self.0.on_owner(|driven| driven.next).flatten();
        next.expect("`discards` has chosen")
    }
}
