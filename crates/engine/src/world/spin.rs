//! Spin loops: threads that repeat reads, and wait for a change of the values.
//!
//! A substrate that finds a thread in the same local state as before one of its earlier events
//! announces that with [`World::request_again`]. If the thread has changed nothing since then, or
//! has [undone](super::undo) its changes, it would repeat the same events. So it is disabled until the reply to one of its reads would
//! differ. A search that runs every class stops the thread for ever: for every execution in which
//! it reads in vain there is another in which it reads later.

use super::strategy::{Dispatch, Repeat};
use super::undo::{self, LocalStates, reads_any};
use super::{State, Step, Thread, World};
use crate::base::ids::{EventId, LocationId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::{Received, Reply};
use crate::model::ending::Ending;
use crate::model::event::Event;
use crate::model::execution::Spinning;
use crate::model::operation::Operation;
use crate::object::{Call, condvar, mutex};

/// Number of events from which on every execution is watched for spin loops; shorter sampled ones
/// do not pay for it.
const LONG: usize = 256;

/// Maximum number of events that are searched for other waiters; more would make long executions
/// quadratic.
const MAX_EVENTS: usize = 4_096;

/// Maximum number of events that are searched for an earlier round; threads may be in a loop whose rounds
/// are longer.
const MOST_SEARCHED: usize = 256;

/// A thread that waits for a change of a value it read.
#[derive(Debug)]
pub(super) struct Spinner {
    thread: ThreadId,
    /// Events of its last round.
    round: Vec<Event>,
    /// Site where the next round would begin.
    site: SiteId,
    /// True when it stays disabled whatever changes.
    for_good: bool,
    /// Writes of the round that are undone. The round was explored for nothing only if no other
    /// thread reads them.
    undone: Vec<EventId>,
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

/// The progress of a wait that may time out. Registration as a waiter, unlock, wake-up and lock
/// change nothing together if no other thread uses the objects in between, or if the round ends
/// [before a lock](State::is_undisturbed).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimedWait {
    Outside,
    Waits,
    Unlocked,
    Woken,
}

impl TimedWait {
    /// Returns the progress after this operation; `None` if the operation is not part of such a
    /// wait.
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
            // A notification changes nothing either, if the thread then waits again.
            (TimedWait::Unlocked, Call::Condvar(condvar::Call::Wake { timeout: true })) => {
                Some(TimedWait::Woken)
            }
            (TimedWait::Woken, Call::Mutex(mutex::Call::Lock)) => Some(TimedWait::Outside),
            _ => None,
        }
    }
}

/// True for the end of a wait that a notification reached.
fn is_notified(event: &Event) -> bool {
    let wakes = matches!(
        event.operation,
        Operation::Call {
            call: Call::Condvar(condvar::Call::Wake { .. }),
            ..
        }
    );
    wakes && !event.reply.to_answer()
}

/// True for an event of a wait with a time limit.
fn is_of_timed_wait(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Call {
            call: Call::Condvar(_) | Call::Mutex(mutex::Call::Lock | mutex::Call::Unlock { .. }),
            ..
        }
    )
}

/// True for a call that waits for a mutex.
fn takes_lock(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Call {
            call: Call::Mutex(mutex::Call::Lock),
            ..
        }
    )
}

/// True for an event that registers a waiter.
fn begins_wait(event: &Event) -> bool {
    matches!(
        event.operation,
        Operation::Call {
            call: Call::Condvar(condvar::Call::Wait { .. }),
            ..
        }
    )
}

/// True when the operation changed nothing that a thread could observe, its own thread included.
pub(super) fn is_quiet(operation: &Operation, outcome: Outcome, reply: Reply) -> bool {
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

/// True for an event of a round that neither changed nor wrote anything by itself.
fn only_reads(event: &Event) -> bool {
    is_quiet(&event.operation, event.outcome, event.reply) && !event.writes()
}

/// Records whether the performed operation belongs to a timed wait, and whether it changed
/// anything.
#[inline(never)]
fn note_in(entry: &mut Thread, outcome: Outcome) {
    let before = entry.timed_wait;
    let after = before.after(&entry.pending, entry.reply);
    entry.timed_wait = after.unwrap_or(TimedWait::Outside);
    let is_quiet = is_quiet(&entry.pending, outcome, entry.reply);
    if after.is_none() && !(is_quiet && before == TimedWait::Outside) {
        entry.quiet_since = entry.events;
        let is_update = matches!(entry.pending, Operation::Update { .. });
        if before != TimedWait::Outside || !is_update {
            entry.undoable_since = entry.events;
        }
    }
}

/// The operations, sites and replies of a thread's round.
pub type Round = Vec<(Operation, SiteId, Reply)>;

/// Returns the round, if it changed nothing and contains no wait.
fn to_quiet_round(round: &[Event]) -> Option<Round> {
    let is_plain = |event: &Event| only_reads(event) && !is_of_timed_wait(event);
    let events = round.iter().map(|it| (it.operation, it.site, it.reply));
    (!round.is_empty() && round.iter().all(is_plain)).then(|| events.collect())
}

impl State {
    /// True when the thread waits for a change of a value it read.
    pub fn is_spinning(&self, thread: ThreadId) -> bool {
        self.spinners.iter().any(|one| one.thread == thread)
    }

    /// True when the next round of the thread would be the same as its last.
    fn would_spin_on(&self, spinner: &Spinner) -> bool {
        self.would_repeat(&spinner.round) && !self.has_missed_data(spinner)
    }

    /// True when another thread has used a lock since the round took it, so that the data which the
    /// lock protects may differ in the next round. Rounds of other spin loops change no data.
    fn has_missed_data(&self, spinner: &Spinner) -> bool {
        let locks = spinner
            .round
            .iter()
            .filter(|one| takes_lock(&one.operation));
        let rounds = self.spinners.iter().flat_map(|one| &one.round);
        let uses_after = |lock: &Event| {
            let events = self.execution.events.iter().rev();
            let mut since = events.take_while(|event| event.id != lock.id);
            since.any(|event| {
                event.operation.object() == lock.operation.object()
                    && rounds.clone().all(|one| one.id != event.id)
            })
        };
        locks.into_iter().any(uses_after)
    }

    /// True when the last read of a thread that was stopped for ever is stale, even if a later write has the
    /// same value. The execution in which the thread reads that write exists as well.
    fn has_read_too_early(&self, spinner: &Spinner) -> bool {
        let passes = |event: &&Event| {
            use Operation::{Fence, Sleep, Yield};
            matches!(event.operation, Yield | Sleep { .. } | Fence { .. })
        };
        let Some(last) = spinner.round.iter().rev().find(|event| !passes(event)) else {
            return false;
        };
        match last.operation {
            Operation::Load { location, .. } | Operation::Update { location, .. } => {
                let latest = self.execution.locations[location.index()].last_write;
                spinner.for_good && !last.writes() && last.source != latest
            }
            _ => false,
        }
    }

    /// True when a repetition of the round now would have the same replies.
    fn would_repeat(&self, round: &[Event]) -> bool {
        let mut written: Vec<(LocationId, u64)> = Vec::new();
        round.iter().all(|event| {
            let location = event.operation.location();
            let own = written.iter().rev().find(|one| Some(one.0) == location);
            let repeats = match own {
                Some((_, value)) => event.is_store() || *value == event.reply.to_value(),
                None => self.would_reply_again(event),
            };
            written.extend(undo::write_of(event));
            repeats
        })
    }

    /// True when a repetition of the event now would have the same reply.
    fn would_reply_again(&self, event: &Event) -> bool {
        match event.operation {
            Operation::Load { location, .. } | Operation::Update { location, .. } => {
                self.execution.locations[location.index()].value == event.reply.to_value()
            }
            Operation::IsFinished { target } => self.has_ended(target) == event.reply.to_answer(),
            Operation::Receive { ports, .. } => {
                self.can_receive(ports) == (event.reply != Reply::received(Received::Empty))
            }
            // It is not notified again.
            Operation::Call { .. } if is_notified(event) => false,
            // A thread that waits for the lock gets it in the next round.
            Operation::Call { object, .. } if is_of_timed_wait(event) => {
                let mut waiting = self.calls[object.index()].waiting.iter();
                waiting.all(|&thread| thread == event.id.thread || self.is_spinning(thread))
            }
            Operation::Call { object, call } => {
                let mut object = self.execution.objects[object.index()].clone();
                object.apply(call, event.id.thread, event.outcome) == event.reply
            }
            _ => true,
        }
    }

    /// Tracks the operation that the thread has just performed. Not inlined, so that it costs
    /// nothing while no thread is watched.
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
        self.note_spinners(thread);
    }

    /// Enables or disables spinning threads after this thread has performed an operation.
    #[inline(always)]
    pub(super) fn note_spinners(&mut self, thread: ThreadId) {
        if !self.spinners.is_empty() {
            self.look_again_after(thread);
        }
    }

    /// Does the same as [`look_again`](Self::look_again), after this thread has performed an
    /// operation.
    #[inline(never)]
    fn look_again_after(&mut self, thread: ThreadId) {
        self.spinners.retain(|one| one.thread != thread);
        let last = self.execution.events.last().copied();
        let spinners = std::mem::take(&mut self.spinners);
        let (kept, read): (Vec<_>, Vec<_>) = spinners.into_iter().partition(|one| {
            one.undone.is_empty() || !last.is_some_and(|event| reads_any(&event, &one.undone))
        });
        self.spinners = kept;
        for one in read {
            self.enable(one.thread);
        }
        self.look_again();
    }

    /// Enables spinning threads whose values have changed, and disables the others.
    pub(super) fn look_again(&mut self) {
        let spinners = std::mem::take(&mut self.spinners);
        for one in &spinners {
            let enabled = !one.for_good && !self.would_repeat(&one.round);
            self.set_enabled(one.thread, enabled);
        }
        self.spinners = spinners;
    }

    /// Returns the ending of an execution without enabled threads in which some threads have not
    /// ended.
    pub(super) fn stuck(&self) -> Ending {
        if self.spinners.is_empty() {
            return Ending::Deadlock;
        }
        let spins_on = |one: &Spinner| self.would_spin_on(one) && !self.has_read_too_early(one);
        match self.spinners.iter().all(spins_on) {
            // A later round of a loop that was left may change what they wait for.
            true if !self.execution.left_loops.is_empty() => Ending::Deadlock,
            true => Ending::Livelock,
            false => Ending::Discarded,
        }
    }

    /// True when no other thread used the objects of this round's waits meanwhile. The thread held
    /// the lock, so data that the lock protects may have changed; this is checked only when it
    /// begins to wait, and when it takes the lock again after a time-out.
    ///
    /// At the lock, other threads may have used the objects. The round is then a critical section
    /// that changed nothing, and a registration as a waiter. The execution without them exists, in
    /// which the thread takes the lock later. A notification that reached the waiter has no effect
    /// there, if no other thread has ever waited.
    fn is_undisturbed(&self, round: &[Event], operation: &Operation) -> bool {
        if takes_lock(operation) {
            return round
                .iter()
                .all(|event| !is_notified(event) || self.is_only_waiter(event));
        }
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

    /// True when no other thread has waited on the object of this thread's event so far.
    fn is_only_waiter(&self, event: &Event) -> bool {
        let object = event.operation.object();
        let events = &self.execution.events;
        let mut waits = events.iter().filter(|one| begins_wait(one));
        events.len() <= MAX_EVENTS
            && waits.all(|one| one.id.thread == event.id.thread || one.operation.object() != object)
    }

    /// Returns the thread's events from this one on.
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
    /// Tracks from now on which threads change nothing.
    #[inline]
    pub fn watch(&mut self) {
        if std::mem::replace(&mut self.state.watches, true) {
            return;
        }
        for thread in &mut self.state.threads {
            thread.quiet_since = thread.events;
            thread.undoable_since = thread.events;
        }
    }

    /// True when the execution is long enough that a thread may be in a spin loop.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.state.execution.events.len() >= LONG
    }

    /// Returns the number of events of the thread, and the index of its first event after the last
    /// one that changed anything.
    #[inline]
    pub fn quiet(&self, thread: ThreadId) -> (u32, u32) {
        let entry = &self.state.threads[thread.index()];
        (entry.events, entry.quiet_since)
    }

    /// Returns the index of the thread's first event after the last one that changed anything but a
    /// location.
    #[inline]
    pub fn undoable_since(&self, thread: ThreadId) -> u32 {
        self.state.threads[thread.index()].undoable_since
    }

    /// True when the thread may be about to repeat a round: it has performed such an operation at this site
    /// before, and nothing since that a round cannot contain. [`World::request_again`] is the same as
    /// [`World::request`] for a thread for which this is false, in a program whose stores no round can undo.
    pub fn may_repeat(&self, thread: ThreadId, operation: &Operation, site: SiteId) -> bool {
        let events = &self.state.execution.events;
        let recent = &events[events.len().saturating_sub(MOST_SEARCHED)..];
        let own = recent.iter().rev().filter(|one| one.id.thread == thread);
        let (mut locks, mut times_out) = (false, false);
        for event in own {
            let is_part = match event.operation {
                Operation::Call { call, .. } => {
                    locks |= matches!(
                        call,
                        Call::Mutex(mutex::Call::Lock | mutex::Call::Unlock { .. })
                    );
                    times_out |= call == Call::Condvar(condvar::Call::Wake { timeout: true });
                    is_of_timed_wait(event) || call.changed_nothing(event.reply)
                }
                _ => undo::counts(event) || is_quiet(&event.operation, event.outcome, event.reply),
            };
            if !is_part {
                return false;
            }
            // Locks are taken and released only by a wait that times out.
            // The event may have another ordering than the operation: see [`World::set_changes`].
            let is_like = event.operation.is_like(operation);
            if event.site == site && is_like && (times_out || !locks) {
                return true;
            }
        }
        recent.len() < events.len()
    }

    /// Returns the thread's last round, which began with its event number `since`; `None` if the round changed
    /// anything, or contains a wait.
    pub fn quiet_round(&self, thread: ThreadId, since: u32) -> Option<Round> {
        to_quiet_round(&self.state.round(thread, since))
    }

    /// Returns the threads of a livelock with their last rounds, where these changed nothing and contain no wait;
    /// empty if the execution has not ended in a livelock.
    #[inline]
    pub fn livelocked(&self) -> Vec<(ThreadId, Round)> {
        if self.ending != Some(Ending::Livelock) {
            return Vec::new();
        }
        let spinners = self.state.spinners.iter();
        let quiet = spinners.map(|one| Some((one.thread, to_quiet_round(&one.round)?)));
        quiet.flatten().collect()
    }

    /// Discards an execution that has ended in a livelock, because one of its loops ends by itself.
    pub fn retract_livelock(&mut self) {
        self.ending = Some(Ending::Discarded);
    }

    /// Gives the thread this reply, and has it continue, without an event.
    pub fn reply_off_the_record(&mut self, thread: ThreadId, reply: Reply) -> Step {
        self.state.threads[thread.index()].reply = reply;
        Step::Run(thread)
    }

    /// True when two rounds of a thread, given by the numbers of their first event and of the next one after them, have
    /// the same operations and replies. They may begin at different operations of a loop.
    pub fn has_same_events(&self, thread: ThreadId, first: (u32, u32), second: (u32, u32)) -> bool {
        let all = self.state.round(thread, first.0.min(second.0));
        let events = |(from, to): (u32, u32)| {
            let events = all
                .iter()
                .filter(move |event| (from..to).contains(&event.id.index));
            events.map(|event| (event.operation, event.site, event.reply))
        };
        let (one, mut other): (Vec<_>, Vec<_>) =
            (events(first).collect(), events(second).collect());
        one.len() == other.len()
            && (0..one.len()).any(|_| {
                other.rotate_left(1);
                one == other
            })
    }

    /// Requests an operation as [`World::request`] does, for a thread whose local state is the same
    /// as before its event number `since`, and which has changed nothing but locations since then.
    pub fn request_again(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
        since: u32,
        states: &dyn LocalStates,
    ) -> Step {
        let strategy = self.strategy.strategy_mut();
        let stops = strategy.repeats(&self.state, thread);
        let is_quiet = since >= self.state.threads[thread.index()].quiet_since;
        let undone = match (is_quiet, stops) {
            (true, _) => Some(Vec::new()),
            // Rounds that overlap may end a loop, and a random walk comes to that by itself.
            (false, Repeat::Stop) => self.state.undone(thread, since, states),
            (false, Repeat::Wait | Repeat::GoOn) => None,
        };
        let Some(undone) = undone else {
            return self.request(thread, operation, site);
        };
        let round = self.state.round(thread, since);
        if self.state.uses_ignored(&round) || !self.state.is_undisturbed(&round, &operation) {
            return self.request(thread, operation, site);
        }
        let for_good = match stops {
            Repeat::Stop => true,
            // Threads whose rounds overlap would enable each other again and again.
            Repeat::Wait if takes_lock(&operation) => {
                return self.request(thread, operation, site);
            }
            Repeat::Wait if self.state.would_repeat(&round) => false,
            Repeat::Wait | Repeat::GoOn => return self.request(thread, operation, site),
        };
        self.state.announce(thread, operation, site);
        if for_good && round.iter().all(only_reads) {
            let strategy = self.strategy.strategy_mut();
            if strategy.is_in_vain(thread) {
                return self.stop(Ending::Discarded);
            }
        }
        self.state.disable(thread);
        self.state.spinners.push(Spinner {
            thread,
            round,
            site,
            for_good,
            undone,
        });
        self.advance()
    }
}
