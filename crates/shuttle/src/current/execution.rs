//! State of the running execution that raddle does not have: labels, tags and random numbers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

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
    pub(crate) labels: BTreeMap<TaskId, Labels>,
    pub(crate) tags: BTreeMap<TaskId, TagOfTask>,
    /// The task whose labels are being dropped.
    stands_in: Option<TaskId>,
    /// Number of resources that were created at each place.
    pub(crate) created: HashMap<&'static Location<'static>, u32>,
    pub(crate) draws: Draws,
    /// True when all classes are run, and not some of them.
    pub(crate) is_search: bool,
    /// Tasks that had to choose whether a call of `park` returns at once.
    pub(crate) woken_early: BTreeSet<TaskId>,
    /// True while an access to this state is reported.
    #[cfg(feature = "tracing")]
    pub(crate) is_reported: bool,
    /// Tasks of futures that are done.
    ended: BTreeSet<TaskId>,
    /// Number of events at which the steps were counted anew.
    pub(crate) counted_from: usize,
}

/// States of executions, by the OS thread that runs all their tasks.
///
/// No thread-local: raddle watches those, because tasks share them.
static STATES: Mutex<Option<HashMap<ThreadId, State>>> = Mutex::new(None);

// SAFETY: labels and tags are used on the OS thread only that is the key of their state.
unsafe impl Send for State {}

/// Calls `use_it` with the state of the running execution; `use_it` must not call code of the test.
pub(crate) fn with_state<R>(use_it: impl FnOnce(&mut State) -> R) -> R {
    let stamp = runtime::current().map_or(0, runtime::Context::stamp);
    let thread = std::thread::current().id();
    let mut states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
    let state = states.get_or_insert_default().entry(thread).or_default();
    let last = (state.stamp != stamp).then(|| {
        let new = State {
            stamp,
            ..State::default()
        };
        std::mem::replace(state, new)
    });
    let result = use_it(state);
    drop(states);
    // Destructors of labels may use the state.
    drop(last);
    result
}

/// Returns the number of the calling task, inside an execution.
pub(crate) fn current_task() -> Option<TaskId> {
    let context = runtime::current()?;
    let thread = context.thread().index();
    // Only the main thread drops labels.
    let stands_in = match thread {
        0 => with_state(|state| state.stands_in),
        _ => None,
    };
    Some(stands_in.unwrap_or(thread.into()))
}

/// Marks the calling task as one whose future is done.
pub(crate) fn mark_ended() {
    if let Some(task) = current_task() {
        with_state(|state| state.ended.insert(task));
    }
}

/// True when the future of the task is done, or its thread has ended.
pub(crate) fn has_ended(task: TaskId) -> bool {
    let has_ended = |context: &runtime::Context| {
        context.with_world(|world| {
            let thread = &world.state().execution().threads[usize::from(task)];
            thread.end.is_some()
        })
    };
    with_state(|state| state.ended.contains(&task)) || runtime::current().is_some_and(has_ended)
}

/// Has the labels and tags of all tasks dropped at the end of the execution, each as its task.
pub(crate) fn drop_labels_at_end() {
    if let Some(context) = runtime::current() {
        context.call_at_end(drop_labels);
    }
}

fn drop_labels() {
    while let Some((task, labels)) = with_state(|state| state.labels.pop_first()) {
        drop_as(task, labels);
    }
    while let Some((task, tag)) = with_state(|state| state.tags.pop_first()) {
        drop_as(task, tag);
    }
}

fn drop_as<T>(task: TaskId, value: T) {
    with_state(|state| state.stands_in = Some(task));
    drop(value);
    with_state(|state| state.stands_in = None);
}

/// Returns the number of events at which the steps of the running execution were counted anew. Called by the
/// scheduler, which is outside the execution.
pub(crate) fn counted_from() -> usize {
    let thread = std::thread::current().id();
    let states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
    let state = states.as_ref().and_then(|states| states.get(&thread));
    state.map_or(0, |state| state.counted_from)
}
