//! Identities of objects that are the same in all executions.

use std::fmt;
use std::panic::Location;

use crate::current::with_state;

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ResourceType {
    Atomic,
    BatchSemaphore,
    Barrier,
    Condvar,
    Mutex,
    RwLock,
    Once,
    MpscChannel,
}

/// Identity of an object: its kind, the place where it was created, and how many were created there before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceSignature {
    kind: ResourceType,
    place: &'static Location<'static>,
    number: u32,
}

impl ResourceSignature {
    /// Returns the identity of an object that a constant expression creates here.
    #[track_caller]
    pub const fn new_const(kind: ResourceType) -> Self {
        ResourceSignature {
            kind,
            place: Location::caller(),
            number: 0,
        }
    }

    /// Returns the identity of the next object that is created here.
    #[track_caller]
    pub(crate) fn numbered(kind: ResourceType) -> Self {
        let place = Location::caller();
        let number = with_state(|state| {
            let created = state.created.entry(place).or_default();
            *created += 1;
            *created
        });
        ResourceSignature {
            kind,
            place,
            number,
        }
    }
}

impl fmt::Display for ResourceSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} of {}", self.kind, self.number, self.place)
    }
}
