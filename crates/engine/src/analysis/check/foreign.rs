//! Uses of an execution's values by threads that the check does not control.

use crate::base::ids::{LocationId, ObjectId, SiteId, ThreadId};

/// A use by a thread that the check does not control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignUse {
    /// The name of that thread, if it has one.
    pub thread: Option<String>,
    /// The type of the value.
    pub kind: &'static str,
    /// The value in the execution, if it is an object.
    pub object: Option<ObjectId>,
    /// The value in the execution, if it is an atomic.
    pub location: Option<LocationId>,
    /// Place of creation of the value.
    pub made: Option<SiteId>,
    /// The thread of the execution that the value is a handle of.
    pub handle_of: Option<ThreadId>,
    /// Place of the use.
    pub site: Option<SiteId>,
    /// A use by a thread of the execution, and its place.
    pub used: Option<(ThreadId, SiteId)>,
}
