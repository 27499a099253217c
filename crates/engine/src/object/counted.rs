//! The order of calls on the handles of a reference-counted value.
//!
//! The front end counts the handles; this object only orders the calls. A value has two of these
//! objects. The first orders the creations of handles. The second orders their drops and the calls
//! whose result depends on drops: upgrades, and attempts to own the value alone. The two are not
//! ordered with each other: a thread that creates a handle has one itself, so no other handle is
//! the last, nor becomes the last by the creation. Only a call that *counts* handles uses both.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::{ObjectId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, tables};

/// The object's state: the number of calls that changed the handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    changes: u32,
    ends: Option<ObjectId>,
}

/// Calls on handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Creates a handle from another one.
    Clone,
    /// Creates a weak handle from a strong one.
    Downgrade,
    /// Drops a strong handle.
    Drop,
    /// Drops a weak handle.
    DropWeak,
    /// Creates a strong handle from a weak one, if another strong one exists.
    Upgrade,
    /// Takes the value, if no other strong handle is left.
    TryUnwrap,
    /// Asks whether no other handle is left.
    IsUnique,
    /// Reads the number of changes.
    Count,
}

tables! {
    Call {
        "clone" => Clone,
        "downgrade" => Downgrade,
        "drop" => Drop,
        "drop-weak" => DropWeak,
        "upgrade" => Upgrade,
        "try-unwrap" => TryUnwrap,
        "is-unique" => IsUnique,
        "count" => Count,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Clone => "clone",
            Call::Downgrade => "downgrade",
            Call::Drop => "drop",
            Call::DropWeak => "drop-weak",
            Call::Upgrade => "upgrade",
            Call::TryUnwrap => "try-unwrap",
            Call::IsUnique => "is-unique",
            Call::Count => "count",
        }
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::Drop | Call::DropWeak)
    }

    fn changed_nothing(self, _reply: Reply) -> bool {
        matches!(self, Call::IsUnique | Call::Count)
    }

    fn polls(self) -> bool {
        matches!(self, Call::IsUnique | Call::Count)
    }
}

impl Counted {
    /// Creates the object that orders creations of handles; `ends` orders the drops of the same
    /// value.
    pub fn births(ends: ObjectId) -> Self {
        Counted {
            changes: 0,
            ends: Some(ends),
        }
    }

    /// Returns the object that orders the drops of the same value, for messages. (The search may
    /// use another identifier for it.)
    pub fn ends(&self) -> Option<ObjectId> {
        self.ends
    }
}

impl Machine for Counted {
    type Call = Call;

    fn read_initial(_words: &mut Reader<'_>) -> Result<Self, Problem> {
        // The other object is used in diagnostics only, which use the state of the running world.
        Ok(Counted::default())
    }

    fn open(&self, _call: Call, _by: ThreadId) -> bool {
        true
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::Clone
            | Call::Downgrade
            | Call::Drop
            | Call::DropWeak
            | Call::Upgrade
            | Call::TryUnwrap => self.changes += 1,
            Call::IsUnique | Call::Count => {}
        }
        Reply::value(u64::from(self.changes))
    }

    /// The drop of the last handle happens after the drops of all others. The last one is not known
    /// here, so every drop counts as the last.
    fn synchronization(&self, call: Call, _reply: Reply) -> Synchronization {
        match call {
            Call::Drop => Synchronization::acquire(0).and_release(0),
            Call::DropWeak => Synchronization::release(0),
            Call::Upgrade | Call::TryUnwrap | Call::IsUnique => Synchronization::acquire(0),
            Call::Clone | Call::Downgrade | Call::Count => Synchronization::NONE,
        }
    }
}
