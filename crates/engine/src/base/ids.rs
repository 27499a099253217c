//! Identifiers of threads, locations, objects, cells, port lists, sites and events.
//!
//! All are small integers assigned in the order of first use within one execution, so the hot path
//! never hashes, compares addresses or formats text. They are stored from one on, so that an
//! optional identifier is no larger than a plain one.

use std::num::NonZeroU32;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// Returns the identifier with this index.
            #[inline]
            pub fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
                Self(number.expect("raddle: more than 2^32 identifiers"))
            }

            /// Returns the position in the table of this kind of identifier.
            #[inline]
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    };
}

index_type! {
    /// A modelled thread. The main thread of a check has index 0.
    ThreadId
}
index_type! {
    /// A memory location: one atomic variable.
    LocationId
}
index_type! {
    /// A synchronization object.
    ObjectId
}
index_type! {
    /// A cell: memory whose accesses are checked for data races.
    CellId
}
index_type! {
    /// A list of ports that a receive listens to; see [`World::add_ports`](crate::World::add_ports).
    PortListId
}
index_type! {
    /// A place in the user's source, interned by the front end.
    SiteId
}

impl ThreadId {
    /// The thread that runs the body of the check.
    pub const MAIN: ThreadId = ThreadId(NonZeroU32::MIN);
}

/// The identity of an event: its thread, and its position among the events of that thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId {
    /// The thread of the event.
    pub thread: ThreadId,
    /// Position in program order, from 0.
    pub index: u32,
}
