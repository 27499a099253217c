//! Operations of threads that other threads can observe.
//!
//! An [`Operation`] is the pending next step of a thread; once performed it is an
//! [`Event`](super::event::Event).

use std::mem::discriminant;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::base::ids::{LocationId, ObjectId, PortListId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::object::Call;
use crate::object::effect::Effect;

/// The ports of a receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ports {
    /// One port.
    One(ObjectId),
    /// Any port of a list.
    Any(PortListId),
}

/// The next step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Begins the thread: the first operation of every thread.
    Begin,
    /// Ends the thread: the last operation of every thread.
    End,
    /// Creates a thread.
    Spawn,
    /// Waits until a thread has ended.
    Join {
        /// Thread waited for.
        target: ThreadId,
    },
    /// Asks whether a thread has ended.
    IsFinished {
        /// Thread of the question.
        target: ThreadId,
    },
    /// Lets other threads run.
    Yield,
    /// Lets time pass, which other threads do not observe.
    Sleep {
        /// Duration, for messages.
        time: Duration,
    },
    /// Chooses one of several alternatives that the program left open.
    Choose {
        /// Number of alternatives; at least one.
        alternatives: u32,
    },
    /// Decides whether a spurious event occurs.
    Chance {
        /// The spurious event.
        what: Chance,
    },
    /// Blocks for ever: the program discards executions like this one (`assume`).
    Assume,
    /// Reads a location.
    Load {
        /// Location read.
        location: LocationId,
        /// Ordering in the program.
        ordering: Ordering,
    },
    /// Writes a location.
    Store {
        /// Location written.
        location: LocationId,
        /// Ordering in the program.
        ordering: Ordering,
        /// New value; `None` until the program, which writes it by itself when scheduled, has done
        /// so. Then [`World::set_stored_value`](crate::World::set_stored_value) sets it.
        value: Option<u64>,
    },
    /// Reads a location and, depending on the value, writes it in the same step.
    Update {
        /// Location read and written.
        location: LocationId,
        /// Ordering when a value is written.
        ordering: Ordering,
        /// Ordering when nothing is written (a failed compare-exchange).
        failure: Ordering,
        /// Computation of the new value.
        update: Update,
    },
    /// A memory fence.
    Fence {
        /// Ordering in the program.
        ordering: Ordering,
    },
    /// Sends a message to a port; never waits.
    Send {
        /// The port.
        port: ObjectId,
    },
    /// Receives a message.
    Receive {
        /// Ports that are searched for a message.
        ports: Ports,
        /// True to wait until there is a message or, in an ordered port, until no sender is left.
        wait: bool,
    },
    /// Waits until the last message that the thread sent to a port has been received.
    Delivered {
        /// The port.
        port: ObjectId,
    },
    /// Removes a sender of an ordered port.
    HangUp {
        /// The port.
        port: ObjectId,
        /// Location that becomes 1, for receives that do not wait.
        location: LocationId,
    },
    /// Waits at a barrier until a whole group has arrived.
    Meet {
        /// The barrier.
        barrier: ObjectId,
    },
    /// Asks whether a thread led its group at a barrier.
    Leads {
        /// The barrier.
        barrier: ObjectId,
        /// A member of the group.
        member: ThreadId,
        /// Number of earlier groups of the member at this barrier.
        round: u32,
    },
    /// Calls a synchronization object and waits for the call to complete.
    Call {
        /// Object called.
        object: ObjectId,
        /// Call of the object.
        call: Call,
    },
}

impl Operation {
    /// True when the other operation is of this kind and has the same target. Operands and orderings may differ.
    pub fn is_like(&self, other: &Operation) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.location() == other.location()
            && self.object() == other.object()
    }

    /// Returns one word for schedules and traces.
    pub fn label(&self) -> &'static str {
        match self {
            Operation::Begin => "begin",
            Operation::End => "end",
            Operation::Spawn => "spawn",
            Operation::Join { .. } => "join",
            Operation::IsFinished { .. } => "is-finished",
            Operation::Yield => "yield",
            Operation::Sleep { .. } => "sleep",
            Operation::Choose { .. } => "choose",
            Operation::Chance { what } => what.label(),
            Operation::Assume => "assume",
            Operation::Load { .. } => "load",
            Operation::Store { .. } => "store",
            Operation::Update { update, .. } => update.kind.label(),
            Operation::Fence { .. } => "fence",
            Operation::Send { .. } => "send",
            Operation::Receive { wait: true, .. } => "receive",
            Operation::Receive { wait: false, .. } => "try-receive",
            Operation::Delivered { .. } => "delivered",
            Operation::HangUp { .. } => "hang-up",
            Operation::Meet { .. } => "wait",
            Operation::Leads { .. } => "is-leader",
            Operation::Call { call, .. } => call.label(),
        }
    }

    /// True when the position of this operation in the run makes no difference to any other thread,
    /// once it is enabled.
    #[inline]
    pub fn is_private(&self) -> bool {
        matches!(
            self,
            Operation::Begin
                | Operation::Spawn
                | Operation::Join { .. }
                | Operation::Yield
                | Operation::Sleep { .. }
                | Operation::Delivered { .. }
        )
    }

    /// Returns the ordering of an access or a fence.
    pub fn ordering(&self) -> Option<Ordering> {
        match *self {
            Operation::Load { ordering, .. }
            | Operation::Store { ordering, .. }
            | Operation::Update { ordering, .. }
            | Operation::Fence { ordering } => Some(ordering),
            _ => None,
        }
    }

    /// Returns the failure ordering of a compare-exchange; other operations do not fail.
    pub fn ordering_of_failure(&self) -> Option<Ordering> {
        match *self {
            Operation::Update {
                failure, update, ..
            } => {
                let may_fail = matches!(update.kind, UpdateKind::CompareExchange { .. });
                may_fail.then_some(failure)
            }
            _ => None,
        }
    }

    /// Returns the same access or fence with another ordering, which also raises the failure
    /// ordering of an update as far as it allows.
    pub fn with(mut self, strength: Ordering) -> Self {
        match &mut self {
            Operation::Load { ordering, .. }
            | Operation::Store { ordering, .. }
            | Operation::Fence { ordering } => *ordering = strength,
            Operation::Update {
                ordering, failure, ..
            } => {
                *ordering = strength;
                *failure = match strength {
                    Ordering::SeqCst => Ordering::SeqCst,
                    Ordering::Acquire | Ordering::AcqRel if *failure == Ordering::Relaxed => {
                        Ordering::Acquire
                    }
                    _ => *failure,
                };
            }
            _ => {}
        }
        self
    }

    /// Returns the part of an outcome that the source of the operation does not determine. The
    /// position of a message, a group or a write depends on the order of the run.
    #[inline]
    pub fn resolution(&self, outcome: Outcome) -> Resolution {
        match self {
            Operation::Receive { .. }
            | Operation::Meet { .. }
            | Operation::Load { .. }
            | Operation::Store { .. }
            | Operation::IsFinished { .. } => Resolution::FIRST,
            Operation::Update { .. } => outcome.resolution_of_update(),
            _ => outcome.resolution(),
        }
    }

    /// True when the thread lets others run first: a switch to one of them afterwards is no
    /// preemption.
    #[inline]
    pub fn makes_way(&self) -> bool {
        matches!(self, Operation::Yield | Operation::Sleep { .. })
    }

    /// Returns the object this operation calls, or the port or barrier it uses, if there is exactly
    /// one.
    pub fn object(&self) -> Option<ObjectId> {
        match self {
            Operation::Call { object, .. } => Some(*object),
            Operation::Send { port }
            | Operation::Meet { barrier: port }
            | Operation::Leads { barrier: port, .. }
            | Operation::Delivered { port }
            | Operation::HangUp { port, .. }
            | Operation::Receive {
                ports: Ports::One(port),
                ..
            } => Some(*port),
            _ => None,
        }
    }

    /// Returns the effect on a lock if the operation succeeds, with the lock.
    pub(crate) fn lock_effect(&self) -> Option<(ObjectId, Effect)> {
        let Operation::Call { object, call } = *self else {
            return None;
        };
        Some((object, call.intended_lock_effect()?))
    }

    /// Returns the location this operation reads or writes, if any.
    pub fn location(&self) -> Option<LocationId> {
        match self {
            Operation::Load { location, .. }
            | Operation::Store { location, .. }
            | Operation::Update { location, .. }
            | Operation::HangUp { location, .. } => Some(*location),
            _ => None,
        }
    }
}

/// A spurious event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chance {
    /// A parked thread continues without its token.
    SpuriousUnpark,
    /// A thread that reads under an `RwLock` cannot read again, because a writer waits.
    WriterFirst,
}

impl Chance {
    fn label(self) -> &'static str {
        match self {
            Chance::SpuriousUnpark => "spurious-unpark",
            Chance::WriterFirst => "writer-first",
        }
    }
}

/// An atomic read-modify-write: the kind, and the width of the value in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Update {
    /// Computation of the new value.
    pub kind: UpdateKind,
    /// Width of values, which are kept modulo 2^bits; 1 for `AtomicBool`.
    pub bits: u8,
}

/// The computation of an atomic read-modify-write from the old value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named after the methods of std's atomics")]
pub enum UpdateKind {
    Swap(u64),
    Add(u64),
    Sub(u64),
    And(u64),
    Nand(u64),
    Or(u64),
    Xor(u64),
    Max(u64),
    Min(u64),
    SignedMax(i64),
    SignedMin(i64),
    /// Compare-exchange; a weak one may fail although the value is the expected one.
    CompareExchange {
        expected: u64,
        new: u64,
        weak: bool,
    },
}

impl UpdateKind {
    pub(crate) fn label(&self) -> &'static str {
        match self {
            UpdateKind::Swap(_) => "swap",
            UpdateKind::Add(_) => "fetch-add",
            UpdateKind::Sub(_) => "fetch-sub",
            UpdateKind::And(_) => "fetch-and",
            UpdateKind::Nand(_) => "fetch-nand",
            UpdateKind::Or(_) => "fetch-or",
            UpdateKind::Xor(_) => "fetch-xor",
            UpdateKind::Max(_) | UpdateKind::SignedMax(_) => "fetch-max",
            UpdateKind::Min(_) | UpdateKind::SignedMin(_) => "fetch-min",
            UpdateKind::CompareExchange { .. } => "compare-exchange",
        }
    }
}

impl Update {
    /// True when the other has the same kind and width; operands may differ.
    #[inline]
    pub(crate) fn is_like(&self, other: &Update) -> bool {
        use UpdateKind::CompareExchange;
        let is_weak = |update: &Update| matches!(update.kind, CompareExchange { weak: true, .. });
        discriminant(&self.kind) == discriminant(&other.kind)
            && self.bits == other.bits
            && is_weak(self) == is_weak(other)
    }

    /// True for a weak compare-exchange that reads the expected value.
    #[inline]
    pub fn may_fail_spuriously(&self, old: u64) -> bool {
        match self.kind {
            UpdateKind::CompareExchange { expected, weak, .. } => weak && old == expected,
            _ => false,
        }
    }

    /// Returns the number of resolutions when `old` is read.
    #[inline]
    pub fn outcomes(&self, old: u64) -> u32 {
        1 + u32::from(self.may_fail_spuriously(old))
    }

    /// Returns the value written when `old` is read; `None` when nothing is written.
    pub fn apply(&self, old: u64, fails_spuriously: bool) -> Option<u64> {
        let spare = 64 - u32::from(self.bits);
        let signed = |value: u64| ((value << spare) as i64) >> spare;
        let new = match self.kind {
            UpdateKind::Swap(value) => value,
            UpdateKind::Add(value) => old.wrapping_add(value),
            UpdateKind::Sub(value) => old.wrapping_sub(value),
            UpdateKind::And(value) => old & value,
            UpdateKind::Nand(value) => !(old & value),
            UpdateKind::Or(value) => old | value,
            UpdateKind::Xor(value) => old ^ value,
            UpdateKind::Max(value) => old.max(value),
            UpdateKind::Min(value) => old.min(value),
            UpdateKind::SignedMax(value) => signed(old).max(value) as u64,
            UpdateKind::SignedMin(value) => signed(old).min(value) as u64,
            UpdateKind::CompareExchange { expected, new, .. } => {
                if old != expected || fails_spuriously {
                    return None;
                }
                new
            }
        };
        Some(new & (u64::MAX >> spare))
    }
}
