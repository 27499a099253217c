//! Tags, the older form of labels.
#![allow(deprecated, reason = "the functions use the deprecated traits")]

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use super::{TaskId, me};
use super::{drop_labels_at_end, with_state};

/// The tag of a task.
pub(crate) type TagOfTask = Arc<dyn Tag>;

/// A value for debugging that a task has; see [`Taggable`].
#[deprecated(note = "use labels")]
pub trait Tag: Taggable {
    /// Returns the tag as a value of any type.
    fn as_any(&self) -> &dyn Any;
}

/// Marks types of tags.
#[deprecated(note = "use labels")]
pub trait Taggable: Debug {}

impl<T: Taggable + Any> Tag for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sets the tag of the calling task and returns the earlier one.
#[deprecated(note = "use labels")]
pub fn set_tag_for_current_task(tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    set_tag_for_task(me(), tag)
}

/// Returns the tag of the calling task.
#[deprecated(note = "use labels")]
pub fn get_tag_for_current_task() -> Option<Arc<dyn Tag>> {
    get_tag_for_task(me())
}

/// Returns the tag of a task.
#[deprecated(note = "use labels")]
pub fn get_tag_for_task(task_id: TaskId) -> Option<Arc<dyn Tag>> {
    with_state(|state| state.tags.get(&task_id).cloned())
}

/// Sets the tag of a task and returns the earlier one.
#[deprecated(note = "use labels")]
pub fn set_tag_for_task(task_id: TaskId, tag: Arc<dyn Tag>) -> Option<Arc<dyn Tag>> {
    drop_labels_at_end();
    with_state(|state| state.tags.insert(task_id, tag))
}
