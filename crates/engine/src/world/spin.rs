//! Threads that look again and again, and wait for a change of what they see.
//!
//! A substrate that finds a thread in the same local state as before one of its earlier events says
//! so with [`World::request_again`]. If the thread has done nothing but look since then, it would do
//! the same once more, so there is no need to let it: it is not enabled until one of the answers it
//! was given would be another one. A search that runs every class stops it for good, because every
//! execution in which it looks in vain has a twin in which it looks later.

use super::strategy::{Dispatch, Repeat};
use super::{State, Step, Thread, World};
use crate::base::ids::{SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::{Received, Reply};
use crate::model::ending::Ending;
use crate::model::event::Event;
use crate::model::execution::Spinning;
use crate::model::operation::Operation;
use crate::object::{Call, condvar, mutex};

/// Events of an execution that is no short one any more.
const LONG: usize = 256;

/// A thread that waits for a change of what it read.
#[derive(Debug)]
pub(super) struct Spinner {
    thread: ThreadId,
    /// Its events of the last round.
    round: Vec<Event>,
    /// Where the next round would begin.
    site: SiteId,
    /// Whether it does not go on whatever changes.
    for_good: bool,
}

impl Spinner {
    pub(super) fn is(&self, thread: usize) -> bool {
        self.thread.index() == thread
    }

    pub(super) fn to_spinning(&self) -> Spinning {
        Spinning {
            thread: self.thread,
            events: self.round.iter().map(|event| event.id).collect(),
            site: self.site,
        }
    }
}

/// How far a wait has come that may time out. Becoming a waiter, unlocking, waking up and locking
/// again changes nothing if no other thread comes in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimedWait {
    Outside,
    Waits,
    Unlocked,
    TimedOut,
}

impl TimedWait {
    /// What follows when the thread has done this; `None` if it is no part of such a wait.
    fn after(self, operation: &Operation, reply: Reply) -> Option<Self> {
        let Operation::Call { call, .. } = operation else {
            return None;
        };
        match (self, call) {
            (TimedWait::Outside, Call::Condvar(condvar::Call::Wait { .. })) => {
                (!reply.to_answer()).then_some(TimedWait::Waits)
            }
            (TimedWait::Waits, Call::Mutex(mutex::Call::Unlock { poison: false })) => {
                Some(TimedWait::Unlocked)
            }
            (TimedWait::Unlocked, Call::Condvar(condvar::Call::Wake { .. })) => {
                reply.to_answer().then_some(TimedWait::TimedOut)
            }
            (TimedWait::TimedOut, Call::Mutex(mutex::Call::Lock)) => Some(TimedWait::Outside),
            _ => None,
        }
    }
}

/// Whether the event is part of a wait that timed out.
fn is_of_timed_wait(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Call {
            call: Call::Condvar(_) | Call::Mutex(mutex::Call::Lock | mutex::Call::Unlock { .. }),
            ..
        }
    )
}

/// Whether a thread becomes a waiter with the event.
fn begins_wait(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Call {
            call: Call::Condvar(condvar::Call::Wait { .. }),
            ..
        }
    )
}

/// Whether the operation changed nothing that any thread could notice, its own included.
fn is_quiet(operation: &Operation, outcome: Outcome, reply: Reply) -> bool {
    match operation {
        Operation::IsFinished { .. }
        | Operation::Load { .. }
        | Operation::Yield
        | Operation::Sleep { .. }
        | Operation::Fence { .. } => true,
        Operation::Chance { .. } => !outcome.is_yes(),
        Operation::Update { update, .. } => {
            let (old, fails) = (reply.to_value(), outcome.fails_spuriously());
            let new = update.apply(old, fails);
            new.map_or(!fails, |new| new == old)
        }
        Operation::Receive { wait: false, .. } => {
            !matches!(reply.to_received(), Received::Message { .. })
        }
        Operation::Call { call, .. } => call.changed_nothing(reply),
        _ => false,
    }
}

/// Notes whether the performed operation belongs to a timed wait, and whether it changed anything.
#[inline(never)]
fn note_in(entry: &mut Thread, outcome: Outcome) {
    let before = entry.timed_wait;
    let after = before.after(&entry.pending, entry.reply);
    entry.timed_wait = after.unwrap_or(TimedWait::Outside);
    let is_quiet = is_quiet(&entry.pending, outcome, entry.reply);
    if after.is_none() && !(is_quiet && before == TimedWait::Outside) {
        entry.quiet_since = entry.events;
    }
}

impl State {
    /// Whether the thread waits for a change of what it read.
    pub fn is_spinning(&self, thread: ThreadId) -> bool {
        self.spinners.iter().any(|one| one.thread == thread)
    }

    /// Whether the thread would be told the same if it did now what it did then.
    fn would_repeat(&self, event: &Event) -> bool {
        match event.operation {
            Operation::Load { location, .. } | Operation::Update { location, .. } => {
                self.execution.locations[location.index()].value == event.reply.to_value()
            }
            Operation::IsFinished { target } => self.has_ended(target) == event.reply.to_answer(),
            Operation::Receive { ports, .. } => {
                self.can_receive(ports) == (event.reply != Reply::received(Received::Empty))
            }
            // Who waits for the lock will have it the next time.
            Operation::Call { object, .. } if is_of_timed_wait(event) => {
                let mut waiting = self.calls[object.index()].waiting.iter();
                waiting.all(|&thread| thread == event.id.thread)
            }
            Operation::Call { object, call } => {
                let mut object = self.execution.objects[object.index()].clone();
                object.apply(call, event.id.thread, event.outcome) == event.reply
            }
            _ => true,
        }
    }

    /// The thread has performed its pending operation. Not inlined, so that it costs nothing while
    /// no thread is watched.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, thread: ThreadId, outcome: Outcome) {
        let entry = &mut self.threads[thread.index()];
        // Most operations are loads and stores outside of timed waits.
        match (entry.timed_wait, &entry.pending) {
            (TimedWait::Outside, Operation::Load { .. }) => {}
            (TimedWait::Outside, Operation::Store { .. }) => entry.quiet_since = entry.events,
            _ => note_in(entry, outcome),
        }
        if !self.spinners.is_empty() {
            self.look_again_after(thread);
        }
    }

    /// As [`look_again`](Self::look_again), when this thread has performed an operation.
    #[inline(never)]
    fn look_again_after(&mut self, thread: ThreadId) {
        self.spinners.retain(|one| one.thread != thread);
        self.look_again();
    }

    /// Who spins may go on, or not any more.
    pub(super) fn look_again(&mut self) {
        let spinners = std::mem::take(&mut self.spinners);
        for one in &spinners {
            let repeats = || one.round.iter().all(|event| self.would_repeat(event));
            let enabled = !one.for_good && !repeats();
            self.set_enabled(one.thread, enabled);
        }
        self.spinners = spinners;
    }

    /// How an execution ends in which no thread can go on, although some have not ended.
    pub(super) fn stuck(&self) -> Ending {
        if self.spinners.is_empty() {
            return Ending::Deadlock;
        }
        let mut rounds = self.spinners.iter().flat_map(|one| &one.round);
        match rounds.all(|event| self.would_repeat(event)) {
            true => Ending::Livelock,
            false => Ending::Discarded,
        }
    }

    /// True when no thread came in between when the thread waited in this round. As it has had the lock,
    /// what the lock protects may have changed, which is looked at only when it begins to wait.
    fn is_undisturbed(&self, round: &[Event], operation: &Operation) -> bool {
        let waits: Vec<_> = round.iter().filter(|one| is_of_timed_wait(one)).collect();
        let Some(first) = round.first().filter(|_| !waits.is_empty()) else {
            return true;
        };
        let objects: Vec<_> = waits.iter().map(|one| one.operation.object()).collect();
        let since = self.execution.events.iter().rev();
        let mut others = since
            .take_while(|event| event.id != first.id)
            .filter(|event| event.id.thread != first.id.thread);
        waits
            .iter()
            .all(|one| !begins_wait(one) || one.operation == *operation)
            && others.all(|event| !objects.contains(&event.operation.object()))
    }

    /// What the thread has done from this event on.
    fn round(&self, thread: ThreadId, since: u32) -> Vec<Event> {
        let events = self.execution.events.iter().rev();
        let own = events.filter(|event| event.id.thread == thread);
        let mut round: Vec<_> = own
            .take_while(|event| event.id.index >= since)
            .copied()
            .collect();
        round.reverse();
        round
    }
}

impl<D: Dispatch> World<D> {
    /// From now on, notes which threads do nothing but look.
    #[inline]
    pub fn watch(&mut self) {
        if std::mem::replace(&mut self.state.watches, true) {
            return;
        }
        for thread in &mut self.state.threads {
            thread.quiet_since = thread.events;
        }
    }

    /// True when the execution is so long that a thread may be waiting in a loop.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.state.execution.events.len() >= LONG
    }

    /// How many events the thread has, and from which of them on it has done nothing but look.
    #[inline]
    pub fn quiet(&self, thread: ThreadId) -> (u32, u32) {
        let entry = &self.state.threads[thread.index()];
        (entry.events, entry.quiet_since)
    }

    /// As [`World::request`] for a thread whose local state is the one it had before its event
    /// number `since`, when it has done nothing but look from there on.
    pub fn request_again(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        since: u32,
    ) -> Step {
        let round = self.state.round(thread, since);
        if !self.state.is_undisturbed(&round, &operation) {
            return self.request(thread, operation, site);
        }
        let repeats = round.iter().all(|event| self.state.would_repeat(event));
        let for_good = match self.strategy.strategy_mut().repeats(&self.state, thread) {
            Repeat::Stop => true,
            Repeat::Wait if repeats => false,
            Repeat::Wait | Repeat::GoOn => return self.request(thread, operation, site),
        };
        self.state.announce(thread, operation, site);
        self.state.disable(thread);
        self.state.spinners.push(Spinner {
            thread,
            round,
            site,
            for_good,
        });
        self.advance()
    }
}
