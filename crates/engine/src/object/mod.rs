//! Synchronization objects: one small state machine per primitive.
//!
//! An object is a process of its own (reachability testing, Carver and Lei): threads *call* it and
//! it *completes* one open call at a time. A machine defines which calls are open in its present
//! state, the number of outcomes of a call, and the effect of its completion. Scheduling, clocks,
//! deadlock reports, replay and exhaustive search follow from that.
//!
//! A new primitive is a new file here and a line in `machines!`: all differences between primitives
//! are methods of `Machine` or `Request`, with a default where one fits most.

pub mod barrier;
pub mod channel;
pub mod condvar;
pub mod counted;
pub mod effect;
pub mod fair;
pub mod monitor;
pub mod mutex;
pub mod once;
pub mod parker;
pub mod port;
pub mod rwlock;
pub mod semaphore;
pub mod serial;
pub(crate) mod synchronization;
pub mod task;

use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use crate::base::words::{Problem, Reader, Words, push, unknown};
use effect::Effect;
use synchronization::Synchronization;

/// The kind of mutual exclusion that a primitive provides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exclusion {
    /// No exclusion; any call may synchronize with a later one.
    None,
    /// Only calls that release something synchronize with later ones.
    Guard,
    /// A guard with holders; two of them nested in different orders can deadlock.
    Lock {
        /// True when several threads can hold it at once.
        shared: bool,
    },
}

/// The semantics of a primitive.
pub(crate) trait Machine: Sized {
    /// Calls of the object.
    type Call: Request;

    /// Kind of mutual exclusion.
    const EXCLUSION: Exclusion = Exclusion::None;

    /// Appends the words of the initial state.
    fn write_initial(&self, _out: &mut String) {}

    /// Reads the words of an initial state.
    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem>;

    /// True when the call could complete now.
    fn open(&self, call: Self::Call, by: ThreadId) -> bool;

    /// Returns the number of outcomes of the call if it completed now.
    fn outcomes(&self, _call: Self::Call, _by: ThreadId) -> u32 {
        1
    }

    /// Completes an open call.
    fn apply(&mut self, call: Self::Call, by: ThreadId, outcome: Outcome) -> Reply;

    /// Returns the synchronizes-with edges of a completed call. Must not depend on state that calls
    /// change.
    fn synchronization(&self, call: Self::Call, reply: Reply) -> Synchronization;

    /// Returns the thread whose next call would open the object again, if one can be named.
    fn blocked_by(&self) -> Option<ThreadId> {
        None
    }

    /// Returns the completion that opened this silent call, counted from 0 without silent ones.
    fn opened_by(&self, _call: Self::Call, _by: ThreadId) -> Option<u32> {
        None
    }

    /// True when the thread holds a part of the object that others may have to wait for.
    fn held_by(&self, thread: ThreadId) -> bool {
        self.blocked_by() == Some(thread)
    }
}

/// The properties of a call that do not depend on the object's state.
pub(crate) trait Request: Copy + Words {
    /// Returns one word for schedules and traces.
    fn label(self) -> &'static str;

    /// True when the reply is a [`Grant`].
    fn takes(self) -> bool {
        false
    }

    /// True when the reply is the answer to a question.
    fn asks(self) -> bool {
        false
    }

    /// True for a call that synchronizes with every earlier call of another thread whose effect it
    /// observes, and with every later one that observes its effect.
    fn is_tight(self) -> bool {
        false
    }

    /// True for a call that a loop may repeat while it waits for another thread.
    fn polls(self) -> bool {
        self.asks()
    }

    /// True for a call that always changes the object. A loop of such calls only does not wait for
    /// another thread.
    fn always_changes(self) -> bool {
        let effect = self.intended_lock_effect();
        effect.is_some_and(|effect| !matches!(effect, Effect::Take { waits: false, .. }))
    }

    /// Returns the effect on the lock that the object is, if the call succeeds.
    fn intended_lock_effect(self) -> Option<Effect> {
        None
    }

    /// Returns the effect on the lock that the object is, of a call with this reply.
    fn lock_effect(self, reply: Reply) -> Option<Effect> {
        let is_refused = self.takes() && reply.to_grant() == Grant::Refused;
        self.intended_lock_effect().filter(|_| !is_refused)
    }

    /// True for a call that leaves the object poisoned.
    fn poisons(self) -> bool {
        false
    }

    /// True for a call whose reply reports that the object is poisoned.
    fn finds_poison(self, reply: Reply) -> bool {
        self.takes() && reply.to_grant() == Grant::Taken { poisoned: true }
    }

    /// True for a call that stays open once it is open, has one outcome then, and has no effect
    /// that another call could observe. Such a call is not ordered with the others; it only happens
    /// after the one that opened it.
    fn is_silent(self) -> bool {
        false
    }

    /// True for a call that releases something that others may wait for, so that it is performed in
    /// any case.
    fn gives_back(self) -> bool {
        false
    }

    /// True when a call with this reply left the object unchanged.
    fn changed_nothing(self, reply: Reply) -> bool {
        self.asks() || self.takes() && reply.to_grant() == Grant::Refused
    }

    /// Returns a remark on this reply for traces, where the call alone does not imply it.
    fn remark(self, _reply: Reply) -> Option<&'static str> {
        None
    }
}

/// Lists the primitives, and defines the enums and methods that dispatch to them.
macro_rules! machines {
    ($($(#[$doc:meta])* $name:ident($module:ident, $word:literal);)*) => {
        /// A synchronization object in some state.
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

            /// Reuses the memory of the old state, if both have the same kind.
            fn clone_from(&mut self, other: &Self) {
                match (self, other) {
                    $((Object::$name(machine), Object::$name(other)) => machine.clone_from(other),)*
                    (this, other) => *this = other.clone(),
                }
            }
        }

        /// A call on a synchronization object.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Call {
            $($(#[$doc])* $name($module::Call),)*
        }

        $(impl From<$module::Call> for Call {
            #[inline]
            fn from(call: $module::Call) -> Self {
                Call::$name(call)
            }
        })*

        impl Words for Call {
            fn write(&self, out: &mut String) {
                match self {
                    $(Call::$name(call) => {
                        push(out, $word);
                        call.write(out);
                    })*
                }
            }

            fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
                match words.word()? {
                    $($word => words.read().map(Call::$name),)*
                    word => Err(unknown(word)),
                }
            }
        }

        /// The text form of an object's initial state.
        impl Words for Object {
            fn write(&self, out: &mut String) {
                match self {
                    $(Object::$name(machine) => {
                        push(out, $word);
                        machine.write_initial(out);
                    })*
                }
            }

            fn read(words: &mut Reader<'_>) -> Result<Self, Problem> {
                match words.word()? {
                    $($word => Machine::read_initial(words).map(Object::$name),)*
                    word => Err(unknown(word)),
                }
            }
        }

        impl Call {
            /// True for a call that a loop may repeat while it waits for another thread.
            #[inline]
            pub fn polls(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.polls(),)*
                }
            }

            /// True for a call that always changes the object, so that a loop of such calls only
            /// does not wait for another thread.
            #[inline]
            pub fn always_changes(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.always_changes(),)*
                }
            }

            /// Returns the effect on the lock that the object is, if the call succeeds.
            pub(crate) fn intended_lock_effect(&self) -> Option<Effect> {
                match self {
                    $(Call::$name(call) => call.intended_lock_effect(),)*
                }
            }

            /// Returns the effect on the lock that the object is, of a call with this reply.
            #[inline]
            pub(crate) fn lock_effect(&self, reply: Reply) -> Option<Effect> {
                match self {
                    $(Call::$name(call) => call.lock_effect(reply),)*
                }
            }

            /// True for a call that leaves the object poisoned.
            pub(crate) fn poisons(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.poisons(),)*
                }
            }

            /// True for a call whose reply reports that the object is poisoned.
            pub(crate) fn finds_poison(&self, reply: Reply) -> bool {
                match self {
                    $(Call::$name(call) => call.finds_poison(reply),)*
                }
            }

            /// Returns one word for schedules and traces.
            pub fn label(&self) -> &'static str {
                match self {
                    $(Call::$name(call) => call.label(),)*
                }
            }

            /// Returns the result of the attempt to take something, if this call is one.
            pub fn grant(&self, reply: Reply) -> Option<Grant> {
                let takes = match self {
                    $(Call::$name(call) => call.takes(),)*
                };
                takes.then(|| reply.to_grant())
            }

            /// True for a call that releases something that others may wait for, so that it is
            /// performed in any case.
            pub fn gives_back(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.gives_back(),)*
                }
            }

            /// True for a call that is ordered only with the call on its object that opened it.
            #[inline]
            pub(crate) fn is_silent(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.is_silent(),)*
                }
            }

            /// True when the reply is the answer to a question.
            pub fn asks(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.asks(),)*
                }
            }

            /// True for a call that synchronizes with all calls whose effect it observes, and with
            /// all that observe its effect.
            #[inline]
            pub(crate) fn is_tight(&self) -> bool {
                match self {
                    $(Call::$name(call) => call.is_tight(),)*
                }
            }

            /// True when a call with this reply left the object unchanged.
            #[inline]
            pub(crate) fn changed_nothing(&self, reply: Reply) -> bool {
                match self {
                    $(Call::$name(call) => call.changed_nothing(reply),)*
                }
            }

            /// Returns a remark on this reply for traces, where the call alone does not imply it.
            pub fn remark(&self, reply: Reply) -> Option<&'static str> {
                match self {
                    $(Call::$name(call) => call.remark(reply),)*
                }
            }
        }

        impl Object {
            /// Returns the kind of mutual exclusion that the object provides.
            pub(crate) fn exclusion(&self) -> Exclusion {
                match self {
                    $(Object::$name(_) => <$module::$name as Machine>::EXCLUSION,)*
                }
            }

            /// True when the call is one of objects of this kind.
            pub(crate) fn takes(&self, call: Call) -> bool {
                match (self, call) {
                    $((Object::$name(_), Call::$name(_)) => true,)*
                    _ => false,
                }
            }

            /// True when the call could complete now.
            pub fn open(&self, call: Call, by: ThreadId) -> bool {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.open(call, by),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// Returns the number of outcomes of the call if it completed now.
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

            /// Returns the completion that opened this silent call, counted from 0 without silent
            /// ones.
            pub(crate) fn opened_by(&self, call: Call, by: ThreadId) -> Option<u32> {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.opened_by(call, by),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// Returns the synchronizes-with edges of a completed call.
            #[inline]
            pub(crate) fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
                match (self, call) {
                    $((Object::$name(machine), Call::$name(call)) => machine.synchronization(call, reply),)*
                    (object, call) => mismatch(object, call),
                }
            }

            /// Returns the thread whose next call would open the object again, if one can be named.
            pub fn blocked_by(&self) -> Option<ThreadId> {
                match self {
                    $(Object::$name(machine) => machine.blocked_by(),)*
                }
            }

            /// True when the thread holds a part of the object that others may have to wait for.
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
    Barrier(barrier, "barrier");
    /// A bounded channel.
    Channel(channel, "channel");
    /// A condition variable.
    Condvar(condvar, "condvar");
    /// Handles of a shared value.
    Counted(counted, "counted");
    /// A semaphore that is first in, first out.
    Fair(fair, "fair");
    /// A monitor.
    Monitor(monitor, "monitor");
    /// A mutual-exclusion lock.
    Mutex(mutex, "mutex");
    /// An initialization that is done once.
    Once(once, "once");
    /// The token by which a thread is unparked.
    Parker(parker, "parker");
    /// A queue of messages.
    Port(port, "port");
    /// A readers-writer lock.
    RwLock(rwlock, "rwlock");
    /// A counting or binary semaphore.
    Semaphore(semaphore, "semaphore");
    /// An object whose state the front end keeps.
    Serial(serial, "serial");
    /// A task.
    Task(task, "task");
}

#[cold]
fn mismatch(object: &Object, call: Call) -> ! {
    panic!("raddle: {call:?} on {object:?}; please report this")
}
