//! The running execution and the calling task.

mod clock;
mod execution;
mod labels;
mod tags;
pub(crate) mod trace;

use std::fmt::{self, Debug};
use std::panic::Location;
use std::sync::Arc;

use raddle_check::runtime;

pub(crate) use execution::{
    Draws, counted_from, current_task, drop_labels_at_end, has_ended, mark_ended, with_state,
};

pub use clock::{VectorClock, clock, clock_for};
pub use labels::Labels;
pub(crate) use tags::TagOfTask;
#[allow(deprecated, reason = "shuttle has them too")]
pub use tags::{
    Tag, Taggable, get_tag_for_current_task, get_tag_for_task, set_tag_for_current_task,
    set_tag_for_task,
};

/// Identifies a task of an execution: a thread or the task of a future. The numbers are in the order of
/// creation, from 0 for the main thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(usize);

impl From<usize> for TaskId {
    fn from(id: usize) -> Self {
        TaskId(id)
    }
}

impl From<TaskId> for usize {
    fn from(id: TaskId) -> usize {
        id.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Shows the [`TaskName`] of the task, if it has one.
impl Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match get_name_for_task(*self) {
            Some(name) => write!(f, "{name:?}({})", self.0),
            None => f.debug_tuple("TaskId").field(&self.0).finish(),
        }
    }
}

/// A label with the name of a task.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskName(String);

impl From<String> for TaskName {
    fn from(name: String) -> Self {
        TaskName(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> Self {
        TaskName(name.to_owned())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.0
    }
}

impl<'a> From<&'a TaskName> for &'a String {
    fn from(name: &'a TaskName) -> Self {
        &name.0
    }
}

impl Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A label with a function that changes the labels of tasks which the labelled one creates.
#[derive(Clone)]
#[expect(clippy::type_complexity, reason = "as in shuttle")]
pub struct ChildLabelFn(pub Arc<dyn Fn(TaskId, &mut Labels) + 'static>);

impl Debug for ChildLabelFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildLabelFn")
    }
}

/// Returns the number of events so far, at which the scheduler could switch, and of operations of destructors after
/// the end of the execution.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
pub fn context_switches() -> usize {
    let context = inside();
    let events = context.with_world(|world| world.state().execution().events.len());
    events + context.operations_after_stop()
}

/// Allows the execution as many steps from here on as it was allowed at its beginning.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
pub fn reset_step_count() {
    inside().with_world(|world| world.reset_limit());
    let events = context_switches();
    with_state(|state| state.counted_from = events);
}

/// Returns the calling task; `None` if there is none.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
pub fn get_current_task() -> Option<TaskId> {
    inside();
    current_task()
}

/// Returns the calling task; `None` outside a test.
pub fn try_get_current_task() -> Option<TaskId> {
    current_task()
}

/// Returns the calling task.
///
/// # Panics
///
/// Outside a test.
#[track_caller]
pub fn me() -> TaskId {
    get_current_task().expect("a task runs")
}

#[track_caller]
fn inside<'a>() -> &'a runtime::Context {
    trace::accessed(Location::caller());
    runtime::current().unwrap_or_else(|| {
        panic!("`ExecutionState` is not set: no test of shuttle is running here")
    })
}

/// Calls `f` with the labels of a task.
pub fn with_labels_for_task<F, T>(task_id: TaskId, f: F) -> T
where
    F: FnOnce(&mut Labels) -> T,
{
    drop_labels_at_end();
    let mut labels = with_state(|state| state.labels.remove(&task_id)).unwrap_or_default();
    let result = f(&mut labels);
    with_state(|state| state.labels.insert(task_id, labels));
    result
}

/// Returns the label of this type.
pub fn get_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    with_state(|state| state.labels.get(&task_id)?.get().cloned())
}

/// Sets a label and returns the earlier one of its type.
pub fn set_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId, value: T) -> Option<T> {
    with_labels_for_task(task_id, |labels| labels.insert(value))
}

/// Removes the label of this type and returns it.
pub fn remove_label_for_task<T: Clone + Debug + 'static>(task_id: TaskId) -> Option<T> {
    with_labels_for_task(task_id, Labels::remove)
}

/// Returns the name of a task.
pub fn get_name_for_task(task_id: TaskId) -> Option<TaskName> {
    get_label_for_task(task_id)
}

/// Sets the name of a task and returns the earlier one.
pub fn set_name_for_task(task_id: TaskId, task_name: impl Into<TaskName>) -> Option<TaskName> {
    // A name has no destructor of the test's, so it need not be dropped at the end.
    let name: TaskName = task_name.into();
    with_state(|state| state.labels.entry(task_id).or_default().insert(name))
}

/// Labels and tag of a task that is about to be created.
pub(crate) struct Inherited {
    labels: Labels,
    tag: Option<TagOfTask>,
}

impl Inherited {
    /// Returns those of the calling task.
    #[track_caller]
    pub(crate) fn from_parent() -> Self {
        trace::accessed(Location::caller());
        let parent = current_task();
        with_state(|state| Inherited {
            labels: parent
                .and_then(|it| state.labels.get(&it).cloned())
                .unwrap_or_default(),
            tag: parent.and_then(|it| state.tags.get(&it).cloned()),
        })
    }

    /// Gives them to the task. The caller has performed no operation since it created the task, so that
    /// has not run.
    #[track_caller]
    pub(crate) fn give_to(mut self, child: TaskId) {
        if let Some(ChildLabelFn(change)) = self.labels.get().cloned() {
            change(child, &mut self.labels);
        }
        with_state(|state| {
            if !self.labels.is_empty() {
                state.labels.insert(child, self.labels);
            }
            if let Some(tag) = self.tag {
                state.tags.insert(child, tag);
            }
        });
        trace::created(child, Location::caller());
    }
}
