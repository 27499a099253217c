//! Synchronisation objects: one small state machine per primitive.
//!
//! An object is a process of its own (reachability testing, Carver and Lei): threads *call* it and
//! it *completes* one open call at a time. A machine says which calls are open in its present
//! state, how many ways a call can turn out, and what completing one does. Scheduling, clocks,
//! deadlock reports, replay and exhaustive search follow from that.
//!
//! A new primitive is a new file here and a line in `machines!`.

pub mod barrier;
pub mod channel;
pub mod condvar;
pub mod counted;
pub mod effect;
pub mod monitor;
pub mod mutex;
pub mod once;
pub mod parker;
pub mod port;
pub mod rwlock;
pub mod semaphore;
pub(crate) mod synchronization;

use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use synchronization::Synchronization;

/// What every primitive must say about itself.
pub(crate) trait Machine {
    /// What threads can ask of it.
    type Call: Request;

    /// Whether the call could complete now.
    fn open(&self, call: Self::Call, by: ThreadId) -> bool;

    /// How many ways the call could turn out if it completed now.
    fn outcomes(&self, _call: Self::Call, _by: ThreadId) -> u32 {
        1
    }

    /// Completes an open call.
    fn apply(&mut self, call: Self::Call, by: ThreadId, outcome: Outcome) -> Reply;

    /// Synchronizes-with edges of a completed call. Must not depend on state that calls change.
    fn synchronization(&self, call: Self::Call, reply: Reply) -> Synchronization;

    /// The thread whose move would open the object again, if one can be named.
    fn blocked_by(&self) -> Option<ThreadId> {
        None
    }

    /// Which completion, counted from 0 and without silent ones, opened this silent call.
    fn opened_by(&self, _call: Self::Call, _by: ThreadId) -> Option<u32> {
        None
    }

    /// Whether the thread has something of the object's that others may have to wait for.
    fn held_by(&self, thread: ThreadId) -> bool {
        self.blocked_by() == Some(thread)
    }
}

/// What every call must say about itself.
pub(crate) trait Request: Copy {
    /// One word for schedules and traces.
    fn label(self) -> &'static str;

    /// Whether the reply is a [`Grant`].
    fn takes(self) -> bool {
        false
    }

    /// Whether the reply is the answer to a question.
    fn asks(self) -> bool {
        false
    }

    /// Whether it stays open once it is, always turns out the same then, and leaves nothing behind
    /// that another call could notice. Such a call is in no order with the others: it only comes after
    /// the one that opened it.
    fn is_silent(self) -> bool {
        false
    }

    /// Whether it gives back what others may wait for, so that it must happen whatever else does.
    fn gives_back(self) -> bool {
        false
    }

    /// Whether a call with this reply left the object as it was.
    fn changed_nothing(self, reply: Reply) -> bool {
        self.asks() || self.takes() && reply.to_grant() == Grant::Refused
    }

    /// What a trace should say of this reply, where the call alone does not tell.
    fn remark(self, _reply: Reply) -> Option<&'static str> {
        None
    }
}

impl Call {
    /// Whether the call never leaves the object as it was, so that a loop that does nothing else is not
    /// waiting for anything.
    #[inline]
    pub fn always_changes(&self) -> bool {
        match self {
            Call::Mutex(call) => {
                matches!(call, mutex::Call::Lock | mutex::Call::Unlock { .. })
            }
            Call::RwLock(call) => matches!(
                call,
                rwlock::Call::Read
                    | rwlock::Call::Write
                    | rwlock::Call::ReadUnlock
                    | rwlock::Call::WriteUnlock { .. }
            ),
            Call::Semaphore(call) => *call != semaphore::Call::TryAcquire,
            Call::Monitor(call) => !matches!(call, monitor::Call::Waiting(_)),
            _ => false,
        }
    }
}

/// Lists the primitives; everything here does no more than ask the right one.
macro_rules! machines {
    ($($(#[$doc:meta])* $name:ident($module:ident);)*) => {
        /// A synchronisation object in some state.
        #[derive(PartialEq, Eq, Debug)]
        pub enum Object {
            $($(#[$doc])* $name($module::$name),)*
        }

        impl Clone for Object {
            fn clone(&self) -> Self {
                match self {
                    $(Object::$name(machine) => Object::$name(machine.clone()),)*
                }
            }

            /// Keeps the memory that the old state had, if it was one of the same kind.
            fn clone_from(&mut self, other: &Self) {
                match (self, other) {
                    $((Object::$name(machine), Object::$name(other)) => machine.clone_from(other),)*
                    (this, other) => *this = other.clone(),
                }
            }
        }

        /// A call on a synchronisation object.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Call {
            $($(#[$doc])* $name($module::Call),)*
        }

        impl Call {
            /// One word for schedules and traces.
            pub fn label(&self) -> &'static str {
                match self {
                    $(Call::$name(call) => call.label(),)*
                }
            }

            /// How the attempt to take something went, if this call is one.
            pub fn grant(&self, reply: Reply) -> Option<Grant> {
                let takes = match self {
                    $(Call::$name(call) => call.takes(),)*
                };
                takes.then(|| reply.to_grant())
            }

            /// Whether it gives back what others may wait for, so that it must happen whatever else
            /// does.
            pub fn gives_back(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.gives_back(),)*
                }
            }

            /// Whether the call is in no order with others on its object, but for the one that
            /// opened it.
            #[inline]
            pub(crate) fn is_silent(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.is_silent(),)*
                }
            }

            /// Whether the reply is the answer to a question.
            pub fn asks(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.asks(),)*
                }
            }

            /// Whether the call left the object as it was, given the reply.
            #[inline]
            pub(crate) fn changed_nothing(&self, reply: Reply) -> bool {
                match self {
                    $(Call::$name(call) => call.changed_nothing(reply),)*
                }
            }

            /// What a trace should say of this reply, where the call alone does not tell.
            pub fn remark(&self, reply: Reply) -> Option<&'static str> {
                match self {
                    $(Call::$name(call) => call.remark(reply),)*
                }
            }
        }

        impl Object {
            /// Whether it is a call of an object of this kind.
            pub(crate) fn takes(&self, call: Call) -> bool {
                match (self, call) {
                    $((Object::$name(_), Call::$name(_)) => true,)*
                    _ => false,
                }
            }

            /// Whether the call could complete now.
            pub fn open(&self, call: Call, by: ThreadId) -> bool {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.open(call, by),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// How many ways the call could turn out if it completed now.
            pub fn outcomes(&self, call: Call, by: ThreadId) -> u32 {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.outcomes(call, by),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// Completes an open call.
            pub fn apply(&mut self, call: Call, by: ThreadId, outcome: Outcome) -> Reply {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => {
                        machine.apply(call, by, outcome)
                    })*
                    (object, call) => mismatch(object, call),
                }
            }

            /// Which completion, counted from 0 and without silent ones, opened this silent call.
            pub(crate) fn opened_by(&self, call: Call, by: ThreadId) -> Option<u32> {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.opened_by(call, by),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// Synchronizes-with edges of a completed call.
            #[inline]
            pub(crate) fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.synchronization(call, reply),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// The thread whose move would open the object again, if one can be named.
            pub fn blocked_by(&self) -> Option<ThreadId> {
                match self {
                    $(Object::$name(machine) => machine.blocked_by(),)*
                }
            }

            /// Whether the thread has something of the object's that others may have to wait for.
            pub fn held_by(&self, thread: ThreadId) -> bool {
                match self {
                    $(Object::$name(machine) => machine.held_by(thread),)*
                }
            }
        }
    };
}

machines! {
    /// A barrier.
    Barrier(barrier);
    /// A bounded channel.
    Channel(channel);
    /// A condition variable.
    Condvar(condvar);
    /// Handles of a shared value.
    Counted(counted);
    /// A monitor.
    Monitor(monitor);
    /// A mutual-exclusion lock.
    Mutex(mutex);
    /// Something to be done once.
    Once(once);
    /// Where a thread parks.
    Parker(parker);
    /// A place where messages are left.
    Port(port);
    /// A readers-writer lock.
    RwLock(rwlock);
    /// A counting or binary semaphore.
    Semaphore(semaphore);
}

#[cold]
fn mismatch(object: &Object, call: Call) -> ! {
    panic!("raddle: {call:?} on {object:?}; please report this")
}
