//! What threads do to each other.
//!
//! An [`Operation`] is what a thread wants to do next; once performed it is an
//! [`Event`](super::event::Event).

use std::mem::discriminant;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::base::ids::{LocationId, ObjectId, PortListId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::object::Call;
use crate::object::effect::Effect;

/// Where a receive looks for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ports {
    /// In one port.
    One(ObjectId),
    /// In any port of a list.
    Any(PortListId),
}

/// What a thread wants to do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Start running: the first operation of every thread.
    Begin,
    /// Stop running: the last operation of every thread.
    End,
    /// Create a thread.
    Spawn,
    /// Wait until a thread has ended.
    Join {
        /// The thread waited for.
        target: ThreadId,
    },
    /// Ask whether a thread has ended.
    IsFinished {
        /// The thread asked about.
        target: ThreadId,
    },
    /// Give others a chance to run.
    Yield,
    /// Let time pass, which others do not notice.
    Sleep {
        /// How much, for messages.
        time: Duration,
    },
    /// Pick one of several alternatives that the program itself left open.
    Choose {
        /// How many there are; at least one.
        alternatives: u32,
    },
    /// Decide whether something spurious happens.
    Chance {
        /// The event that may happen.
        what: Chance,
    },
    /// Never go on: the program said that executions like this one do not count (`assume`).
    Assume,
    /// Read a location.
    Load {
        /// What is read.
        location: LocationId,
        /// As written in the program.
        ordering: Ordering,
    },
    /// Write a location.
    Store {
        /// What is written.
        location: LocationId,
        /// As written in the program.
        ordering: Ordering,
        /// The new value; `None` until the program, which writes it by itself when its turn has come,
        /// has done so. Then [`World::settle_store`](crate::World::settle_store) sets it.
        value: Option<u64>,
    },
    /// Read a location and, depending on what was read, write it in the same step.
    Update {
        /// What is read and written.
        location: LocationId,
        /// Ordering when a value is written.
        ordering: Ordering,
        /// Ordering when nothing is written (a failed compare-exchange).
        failure: Ordering,
        /// How the new value follows from the old one.
        update: Update,
    },
    /// A memory fence.
    Fence {
        /// As written in the program.
        ordering: Ordering,
    },
    /// Leave a message in a port; never waits.
    Send {
        /// The port.
        port: ObjectId,
    },
    /// Take a message.
    Receive {
        /// Where from.
        ports: Ports,
        /// True to wait until there is a message or, in an ordered port, until no sender is left.
        wait: bool,
    },
    /// Wait until the last message that the thread left in a port has been taken.
    Delivered {
        /// The port.
        port: ObjectId,
    },
    /// One sender of an ordered port is gone.
    HangUp {
        /// The port.
        port: ObjectId,
        /// Becomes 1, for receives that do not wait.
        location: LocationId,
    },
    /// Wait at a barrier until a whole group has come.
    Meet {
        /// The barrier.
        barrier: ObjectId,
    },
    /// Ask whether a thread led the group it met in.
    Leads {
        /// The barrier.
        barrier: ObjectId,
        /// A member of the group.
        member: ThreadId,
        /// How often it had met others there before.
        round: u32,
    },
    /// Call a synchronisation object and wait for the call to complete.
    Call {
        /// The object called.
        object: ObjectId,
        /// What it is asked to do.
        call: Call,
    },
}

impl Operation {
    /// One word for schedules and traces.
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

    /// Whether it makes no difference to any other thread when this operation is performed, once it
    /// can be.
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

    /// How strong an access or a fence is.
    pub fn ordering(&self) -> Option<Ordering> {
        match *self {
            Operation::Load { ordering, .. }
            | Operation::Store { ordering, .. }
            | Operation::Update { ordering, .. }
            | Operation::Fence { ordering } => Some(ordering),
            _ => None,
        }
    }

    /// How strong a compare-exchange is that fails; other operations do not fail.
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

    /// The same access or fence with another strength. What a failed update does is as strong as it
    /// can be then.
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

    /// The part of an outcome that the source of the operation does not determine. The position of a
    /// message, a group or a write depends on the order of the run.
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

    /// Whether the thread lets others go first: to switch to one of them afterwards is no preemption.
    #[inline]
    pub fn makes_way(&self) -> bool {
        matches!(self, Operation::Yield | Operation::Sleep { .. })
    }

    /// The object this operation calls, or the port or barrier it uses, if there is exactly one.
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

    /// What it does to a lock if it succeeds, and to which.
    pub(crate) fn lock_effect(&self) -> Option<(ObjectId, Effect)> {
        let Operation::Call { object, call } = *self else {
            return None;
        };
        Some((object, call.intended_lock_effect()?))
    }

    /// The location this operation reads or writes, if any.
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
    /// A parked thread goes on without its token.
    SpuriousUnpark,
    /// A thread that reads under an `RwLock` cannot do so again, because a writer waits.
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
    /// What is computed.
    pub kind: UpdateKind,
    /// Values are kept modulo 2^bits; 1 for `AtomicBool`.
    pub bits: u8,
}

/// What an atomic read-modify-write computes from the old value.
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
    /// A weak one may fail although the value is the expected one.
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
    /// True when the other computes the same of its operands, which may differ.
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

    /// Number of resolutions when `old` is read.
    #[inline]
    pub fn outcomes(&self, old: u64) -> u32 {
        1 + u32::from(self.may_fail_spuriously(old))
    }

    /// The value written when `old` is read; `None` when nothing is written.
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
