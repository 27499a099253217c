//! What threads do to each other: operations, and the events they become.
//!
//! An [`Operation`] is what a thread wants to do next; once performed it is an [`Event`]. All
//! identifiers are small integers given out in the order of first use within one execution, so
//! nothing on the hot path hashes, compares addresses or formats text. They start at one inside, so
//! that an optional identifier is no larger than a plain one.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::object::Call;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The identifier with this index.
            #[inline]
            pub fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
                Self(number.expect("raddle: more than 2^32 identifiers"))
            }

            /// Position in the table this identifier belongs to.
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
    /// A synchronisation object.
    ObjectId
}
index_type! {
    /// A cell: memory whose accesses are watched.
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

/// Where a receive looks for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ports {
    /// In one port.
    One(ObjectId),
    /// In any port of a list.
    Any(PortListId),
}

impl ThreadId {
    /// The thread that runs the body of the check.
    pub const MAIN: ThreadId = ThreadId(NonZeroU32::MIN);
}

/// An event's name: its thread, and its position among the events of that thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId {
    /// The thread the event belongs to.
    pub thread: ThreadId,
    /// Position in program order, from 0.
    pub index: u32,
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
    /// Find out whether something happens that nobody asked for: outcome 1 is that it does.
    Chance {
        /// What it is.
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
        /// The new value.
        value: u64,
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
        /// Whether to wait until there is one or, in an ordered port, until nobody is left who could
        /// send one.
        wait: bool,
    },
    /// Wait until the last message that the thread left in a port has been taken.
    Delivered {
        /// The port.
        port: ObjectId,
    },
    /// There is one fewer who could send to an ordered port.
    HangUp {
        /// The port.
        port: ObjectId,
        /// Becomes 1, for those who do not want to wait for it.
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
        /// Who was in the group.
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

/// What may happen although nobody asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chance {
    /// A parked thread goes on without its token.
    SpuriousUnpark,
}

impl Chance {
    fn label(self) -> &'static str {
        match self {
            Chance::SpuriousUnpark => "spurious-unpark",
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
    /// If it is weak, it may fail although the value is the expected one: outcome 1.
    CompareExchange {
        expected: u64,
        new: u64,
        weak: bool,
    },
}

impl UpdateKind {
    fn label(&self) -> &'static str {
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
    /// How many ways it can turn out when `old` is read.
    #[inline]
    pub fn outcomes(&self, old: u64) -> u32 {
        match self.kind {
            UpdateKind::CompareExchange { expected, weak, .. } => {
                1 + u32::from(weak && old == expected)
            }
            _ => 1,
        }
    }

    /// The value written when `old` is read; `None` when nothing is written.
    pub fn apply(&self, old: u64, outcome: u32) -> Option<u64> {
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
                if old != expected || outcome != 0 {
                    return None;
                }
                new
            }
        };
        Some(new & (u64::MAX >> spare))
    }
}

/// What a performed operation gives back to its thread: one word, which the operation tells how to
/// read. (A plain word, because replies are written and read at every step.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply(u64);

/// How an attempt to take a lock went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// The lock was taken.
    Taken {
        /// Whether a thread panicked while it held the lock.
        poisoned: bool,
    },
    /// Another thread holds the lock.
    Refused,
}

/// What a receive found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// A message.
    Message {
        /// Position of its port in the list that the receive looked at.
        port: u32,
        /// Its number: how many messages the port had been sent before it in this execution.
        number: u32,
    },
    /// No message, and the thread did not want to wait.
    Empty,
    /// No message, and nobody is left who could send one.
    Closed,
}

impl Reply {
    /// Nothing but the fact that it happened.
    pub const DONE: Reply = Reply(0);

    /// The value read or the alternative chosen.
    #[inline]
    pub fn value(value: u64) -> Self {
        Reply(value)
    }

    /// The answer to a question.
    pub fn answer(answer: bool) -> Self {
        Reply(u64::from(answer))
    }

    /// The thread created.
    pub fn thread(thread: ThreadId) -> Self {
        Reply(thread.index() as u64)
    }

    /// How an attempt to take a lock went.
    pub fn grant(grant: Grant) -> Self {
        match grant {
            Grant::Taken { poisoned } => Reply(u64::from(poisoned)),
            Grant::Refused => Reply(2),
        }
    }

    /// What a receive found.
    pub fn received(received: Received) -> Self {
        match received {
            Received::Message { port, number } => Reply(u64::from(port) << 32 | u64::from(number)),
            Received::Empty => Reply(u64::MAX),
            Received::Closed => Reply(u64::MAX - 1),
        }
    }

    /// Of a receive.
    pub fn to_received(self) -> Received {
        match self.0 {
            u64::MAX => Received::Empty,
            closed if closed == u64::MAX - 1 => Received::Closed,
            message => Received::Message {
                port: (message >> 32) as u32,
                number: message as u32,
            },
        }
    }

    /// Of a load, an update or a choice; the number of a message sent, or of a meeting.
    #[inline]
    pub fn to_value(self) -> u64 {
        self.0
    }

    /// Of a question.
    pub fn to_answer(self) -> bool {
        self.0 != 0
    }

    /// Of a spawn.
    pub fn to_thread(self) -> ThreadId {
        ThreadId::new(self.0 as usize)
    }

    /// Of an attempt to take a lock.
    #[inline]
    pub fn to_grant(self) -> Grant {
        match self.0 {
            2 => Grant::Refused,
            poisoned => Grant::Taken {
                poisoned: poisoned == 1,
            },
        }
    }
}

/// An operation that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its name.
    pub id: EventId,
    /// What was done.
    pub operation: Operation,
    /// Where its value or its turn came from: the write a read took, the write before a write,
    /// the completed call before a call, the end a join saw. `None` stands for the initial state.
    pub source: Option<EventId>,
    /// Which of several possible outcomes it had; for an access of a location see [`Event::back`].
    pub outcome: u32,
    /// What the thread was told.
    pub reply: Reply,
    /// Where in the user's source.
    pub site: SiteId,
}

impl Event {
    /// For an atomic update, whether it failed for no reason.
    pub fn fails_spuriously(&self) -> bool {
        matches!(self.operation, Operation::Update { .. }) && self.outcome & 1 == 1
    }

    /// Whether it writes a location without reading it.
    pub(crate) fn is_store(&self) -> bool {
        matches!(
            self.operation,
            Operation::Store { .. } | Operation::HangUp { .. }
        )
    }

    /// Whether it writes a location.
    pub fn writes(&self) -> bool {
        match self.operation {
            Operation::Update { update, .. } => {
                let outcome = u32::from(self.fails_spuriously());
                update.apply(self.reply.to_value(), outcome).is_some()
            }
            _ => self.is_store(),
        }
    }

    /// For an access of a location, how far back from the last write, in coherence order, it took its
    /// value or its place.
    pub fn back(&self) -> u32 {
        match self.operation {
            Operation::Update { .. } => self.outcome >> 1,
            Operation::Load { .. } | Operation::Store { .. } => self.outcome,
            _ => 0,
        }
    }
}
