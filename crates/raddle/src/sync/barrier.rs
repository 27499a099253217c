//! A barrier with std's surface.

use std::fmt;
use std::panic::Location;
use std::sync::OnceLock;

use raddle_engine::object::{self, Object};
use raddle_engine::{ObjectId, Operation, ThreadId};

use crate::labelled::{Labelled, Thing};
use raddle_check::runtime::Identity;
use raddle_check::runtime::foreign::{self, SharedValue, using};
use raddle_check::runtime::{Made, current};

/// A point that threads pass in groups, as [`std::sync::Barrier`].
///
/// Inside a check, the arrival order of the members of a group makes no difference, so it adds no
/// classes. If more threads arrive than a group has members, the members of each group are a choice
/// that the engine explores; so is the leader, once a thread asks for it. Outside a check, this is
/// std's barrier.
pub struct Barrier {
    identity: Identity,
    made: Made,
    size: usize,
    /// Used outside checks.
    plain: std::sync::Barrier,
}

/// Result of a wait at a barrier, which identifies the leader of the group, as
/// [`std::sync::BarrierWaitResult`].
pub struct BarrierWaitResult {
    is_leader: OnceLock<bool>,
    group: Option<Group>,
}

/// A group that passed inside a check, and one of its members.
struct Group {
    /// Execution of the group.
    stamp: u64,
    barrier: ObjectId,
    member: ThreadId,
    /// Number of earlier groups of the member at this barrier.
    round: u32,
}

impl Barrier {
    /// Creates a barrier for groups of `n` threads; 0 is the same as 1.
    #[must_use]
    #[track_caller]
    pub const fn new(n: usize) -> Self {
        Barrier {
            identity: Identity::new(),
            made: Made {
                kind: "Barrier",
                place: Location::caller(),
            },
            size: n,
            plain: std::sync::Barrier::new(n),
        }
    }

    /// Waits until the group is complete. One of its threads leads it.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let place = Location::caller();
        let Some(context) = using(&self.identity, &self.made, place) else {
            return BarrierWaitResult {
                is_leader: self.plain.wait().is_leader().into(),
                group: None,
            };
        };
        let mut object = None;
        let reply = context.perform(place, |world| {
            let barrier = context.object(world, &self.identity, self.made, || {
                Object::Barrier(object::barrier::Barrier::new(self.size))
            });
            object = Some(barrier);
            Operation::Meet { barrier }
        });
        let group = object.map(|barrier| Group {
            stamp: context.stamp(),
            barrier,
            member: context.thread(),
            round: reply.to_value() as u32,
        });
        BarrierWaitResult {
            is_leader: OnceLock::new(),
            group,
        }
    }
}

impl BarrierWaitResult {
    /// True when this thread is the leader; each group has one.
    #[must_use]
    #[track_caller]
    pub fn is_leader(&self) -> bool {
        // Other threads run while the answer is determined, and may ask too; the answer is the
        // same.
        match (self.is_leader.get(), &self.group) {
            (None, Some(group)) => {
                let answer = group.ask(Location::caller());
                *self.is_leader.get_or_init(|| answer)
            }
            (known, _) => known.copied().unwrap_or(false),
        }
    }
}

impl Group {
    fn ask(&self, place: &'static Location<'static>) -> bool {
        let context = current().filter(|context| context.stamp() == self.stamp);
        let context = context.unwrap_or_else(|| {
            let known = SharedValue::without_place("BarrierWaitResult");
            foreign::uses_of(self.stamp, None, known, place);
            panic!(
                "raddle: is_leader was asked of a barrier outside its execution; ask inside the body of the \
                 check, in a thread of `raddle::thread`"
            )
        });
        let reply = context.perform(place, |_| Operation::Leads {
            barrier: self.barrier,
            member: self.member,
            round: self.round,
        });
        reply.to_answer()
    }
}

impl Labelled for Barrier {
    fn thing(&self) -> Thing<'_> {
        let state = Object::Barrier(object::barrier::Barrier::new(self.size));
        Thing::object(&self.identity, self.made, state)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}
