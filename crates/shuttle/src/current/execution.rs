//! State of the running execution that raddle does not have: labels, tags and random numbers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;

use raddle_check::runtime;

use super::{Labels, TagOfTask, TaskId};

/// Source of the random numbers of an execution.
#[derive(Clone, Copy, Default)]
pub(crate) enum Draws {
    /// The scheduler.
    #[default]
    Scheduler,
    /// A sequence that is the same in each execution.
    Fixed(u64),
    /// None, because the search would not run all of them.
    Refused,
}

#[derive(Default)]
pub(crate) struct State {
    /// The execution that it belongs to; 0 outside one.
    stamp: u64,
    pub(crate) labels: HashMap<TaskId, Labels>,
    pub(crate) tags: HashMap<TaskId, TagOfTask>,
    /// Number of resources that were created at each place.
    pub(crate) created: HashMap<&'static Location<'static>, u32>,
    pub(crate) draws: Draws,
}

std::thread_local! {
    // All tasks of an execution run on one OS thread.
    static STATE: RefCell<State> = RefCell::default();

    /// Steps of the running execution since its beginning or the last reset.
    pub(crate) static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Calls `use_it` with the state of the running execution; `use_it` must not call code of the test.
pub(crate) fn with_state<R>(use_it: impl FnOnce(&mut State) -> R) -> R {
    let stamp = runtime::current().map_or(0, runtime::Context::stamp);
    let last = STATE.with_borrow_mut(|state| {
        let new = || State {
            stamp,
            ..State::default()
        };
        (state.stamp != stamp).then(|| std::mem::replace(state, new()))
    });
    // Destructors of labels may use the state.
    drop(last);
    STATE.with_borrow_mut(use_it)
}

/// Returns the number of the calling task, inside an execution.
pub(crate) fn current_task() -> Option<TaskId> {
    let context = runtime::current()?;
    Some(context.thread().index().into())
}
