//! Threads that look again and again, and wait for a change of what they see.
//!
//! A substrate that finds a thread in the same local state as before one of its earlier events says
//! so with [`World::request_again`]. If the thread has done nothing but look since then, it would do
//! the same once more, so there is no need to let it: it is not enabled until one of the answers it
//! was given would be another one. A search that runs every class stops it for good, because every
//! execution in which it looks in vain has a twin in which it looks later.

use super::{Ending, State, Step, World};
use crate::event::{Event, Operation, Received, Reply, SiteId, ThreadId};
use crate::execution::Spinning;
use crate::strategy::Repeat;

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

/// Whether the operation changed nothing that any thread could notice, its own included.
fn is_quiet(operation: &Operation, outcome: u32, reply: Reply) -> bool {
    match operation {
        Operation::IsFinished { .. }
        | Operation::Load { .. }
        | Operation::Yield
        | Operation::Sleep { .. }
        | Operation::Fence { .. } => true,
        Operation::Chance { .. } => outcome == 0,
        Operation::Update { update, .. } => {
            let (old, failed) = (reply.to_value(), outcome & 1);
            update
                .apply(old, failed)
                .map_or(failed == 0, |new| new == old)
        }
        Operation::Receive { wait: false, .. } => {
            !matches!(reply.to_received(), Received::Message { .. })
        }
        Operation::Call { call, .. } => call.changed_nothing(reply),
        _ => false,
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
            Operation::Call { object, call } => {
                let mut object = self.execution.objects[object.index()].clone();
                object.apply(call, event.id.thread, event.outcome) == event.reply
            }
            _ => true,
        }
    }

    /// The thread has performed its pending operation. Not inlined, so that it costs nothing where
    /// nobody watches.
    #[cold]
    #[inline(never)]
    pub(super) fn note(&mut self, thread: ThreadId, outcome: u32) {
        let entry = &mut self.threads[thread.index()];
        if !is_quiet(&entry.pending, outcome, entry.reply) {
            entry.quiet_since = entry.events;
        }
        if !self.spinners.is_empty() {
            self.look_again(thread);
        }
    }

    /// Who spins may go on, or not any more, now that `performed` has done something.
    #[cold]
    fn look_again(&mut self, performed: ThreadId) {
        let mut spinners = std::mem::take(&mut self.spinners);
        spinners.retain(|one| one.thread != performed);
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

impl World {
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

    /// Whether the execution is so long that somebody may be waiting in a loop.
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
        let repeats = round.iter().all(|event| self.state.would_repeat(event));
        let for_good = match self.strategy.as_dyn().repeats(&self.state, thread) {
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
