//! Policy of choices that the program does not make itself: spurious wake-ups, time-outs, spurious
//! failures of weak compare-exchanges, and waiting writers that block readers.
//!
//! The spurious ones are bounded per thread and execution, so that every search ends. The counts
//! depend only on the thread's own earlier events, so a replay of the same schedule makes the same
//! choices.

use super::strategy::Dispatch;
use super::{State, Thread, World};
use crate::base::ids::{ObjectId, ThreadId};
use crate::base::outcome::Outcome;
use crate::model::event::Event;
use crate::model::operation::{Chance, Operation};
use crate::object::{self, Object, rwlock};

/// Maximum spurious wake-ups of a thread per execution. One exposes a wait outside of a loop; each
/// further one multiplies the classes of every wait.
const MAX_SPURIOUS_WAKEUPS: u8 = 1;
/// Maximum spurious failures of a thread's weak compare-exchanges per execution. One exposes a
/// missing loop.
const MAX_SPURIOUS_FAILURES: u8 = 1;

/// Choices of the environment that are explored; by default all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// True when waits may end without a notification.
    pub spurious_wakeups: bool,
    /// True when waits with a time limit may time out.
    pub timeouts: bool,
    /// True when weak compare-exchanges may fail although the value is the expected one.
    pub weak_cas: bool,
    /// True when a waiting writer may block a thread that already reads under the same lock.
    pub waiting_writers: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            spurious_wakeups: true,
            timeouts: true,
            weak_cas: true,
            waiting_writers: true,
        }
    }
}

/// Number of spurious outcomes of a thread in the running execution.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpuriousCounts {
    wakeups: u8,
    failures: u8,
}

impl State {
    /// Returns the other threads that wait to write under this lock.
    fn writers_of(&self, lock: ObjectId, reader: ThreadId) -> impl Iterator<Item = ThreadId> {
        let write = Operation::Call {
            object: lock,
            call: object::Call::RwLock(rwlock::Call::Write),
        };
        let waits = move |&(index, thread): &(usize, &Thread)| {
            index != reader.index() && thread.pending == write
        };
        let threads = self.threads.iter().enumerate();
        threads.filter(waits).map(|(index, _)| ThreadId::new(index))
    }

    /// True when a writer waits for a lock under which the thread reads.
    pub(super) fn keeps_writer_waiting(&self, reader: ThreadId) -> bool {
        let objects = self.execution.objects.iter().enumerate();
        let is_read =
            |object: &Object| matches!(object, Object::RwLock(lock) if lock.is_read_by(reader));
        let mut read = objects.filter(|(_, object)| is_read(object));
        read.any(|(index, _)| {
            let mut writers = self.writers_of(ObjectId::new(index), reader);
            writers.next().is_some()
        })
    }

    /// True when the thread waits behind a writer that does not exist.
    pub(super) fn waits_behind_no_writer(&self, reader: ThreadId) -> bool {
        match *self.pending(reader) {
            Operation::Call {
                object,
                call: object::Call::RwLock(rwlock::Call::ReadBehind),
            } => self.writers_of(object, reader).next().is_none(),
            _ => false,
        }
    }

    /// True when a recorded step may have this outcome. Unlike in [`State::allows`], a writer that
    /// blocks the thread's read may arrive later.
    pub(crate) fn may_replay(&self, thread: ThreadId, outcome: Outcome) -> bool {
        let is_writer_first = matches!(
            self.pending(thread),
            Operation::Chance {
                what: Chance::WriterFirst
            }
        );
        outcome.number() < self.outcomes(thread)
            && (is_writer_first || self.allows(thread, outcome))
    }
}

impl<D: Dispatch> World<D> {
    /// Returns the same world under another policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        World { policy, ..self }
    }

    /// Returns the policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// True when a read of the thread may wait for ever behind a writer, because it already reads
    /// under this lock.
    #[inline]
    pub fn may_read_behind(&self, thread: ThreadId, lock: ObjectId) -> bool {
        let lock = &self.state.execution.objects[lock.index()];
        self.policy.waiting_writers
            && matches!(lock, Object::RwLock(lock) if lock.is_read_by(thread))
    }

    /// True when the thread's next wait may end without a notification.
    #[inline]
    pub fn may_wake_spuriously(&self, thread: ThreadId) -> bool {
        let counts = &self.state.threads[thread.index()].spurious;
        self.policy.spurious_wakeups && counts.wakeups < MAX_SPURIOUS_WAKEUPS
    }

    /// Counts a spurious wake-up of the thread.
    #[inline]
    pub fn count_spurious_wakeup(&mut self, thread: ThreadId) {
        self.state.threads[thread.index()].spurious.wakeups += 1;
    }

    /// True when the thread's next weak compare-exchange may fail although the value is the expected
    /// one.
    #[inline]
    pub fn may_fail_spuriously(&self, thread: ThreadId) -> bool {
        let counts = &self.state.threads[thread.index()].spurious;
        self.policy.weak_cas && counts.failures < MAX_SPURIOUS_FAILURES
    }

    /// True when the last event is a spurious failure of the thread's compare-exchange, which then is
    /// counted.
    #[inline]
    pub fn has_failed_spuriously(&mut self, thread: ThreadId) -> bool {
        let last = self.state.execution.events.last();
        let failed = last.is_some_and(Event::fails_spuriously);
        if failed {
            self.state.threads[thread.index()].spurious.failures += 1;
        }
        failed
    }
}
