//! The state of a running execution: the pending operations of threads, and their effects.
//!
//! The world is passive: a substrate announces the running thread's next operation with
//! [`World::request`]. The reply is to continue with it, to switch to another thread, or to stop.
//! One decision of the strategy performs one operation of one thread; that thread then runs,
//! unobserved, up to its next operation. The set of enabled threads is updated as operations are
//! announced and performed, so the cost of a decision does not depend on the number of threads.

mod awaits;
mod barriers;
mod beside_polls;
mod cells;
mod declarations;
mod ignored;
mod perform;
mod policy;
mod polling;
mod ports;
mod positions;
mod spin;
mod stopped;
pub mod strategy;
mod things;
mod undo;
pub(crate) mod walk;
mod weak;

pub use cells::Past;
pub use ignored::{IgnoredValues, Served};
pub use policy::Policy;
pub use spin::Round;
pub use undo::LocalStates;

use std::collections::BTreeSet;

use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::base::reply::Reply;
use crate::base::rng::mix;
use crate::memory::happens_before::{HappensBefore, LatestWrites};
use crate::memory::races::Races;
use crate::memory::views::Views;
use crate::memory::{Model, Weakness};
use crate::model::change::ChangedSite;
use crate::model::choice::Choice;
use crate::model::ending::{Ending, Record};
use crate::model::execution::{Execution, ThreadInfo};
use crate::model::operation::Operation;
use crate::object::{Call, mutex};
use awaits::DeclaredWaits;
pub use awaits::WaitId;
use policy::SpuriousCounts;
use polling::Waits;
use positions::Positions;
use spin::{Spinner, TimedWait};
use strategy::{Capabilities, Dispatch, KnownClass, Randomness, Strategy};

/// The next action of the substrate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Runs this thread; [`World::reply`] returns the reply to its operation.
    Run(ThreadId),
    /// Ends the execution; [`World::ending`] returns the reason.
    Stop,
}

/// Number of executions of a sampler of which one has stale reads, if all accesses of the program are `SeqCst`. Such
/// reads are possible beside calls that do not synchronize. They halve the probability of failures that need the
/// latest write, and raise that of others: of the stories, one was found half as often and three were found twice as often.
const LOOSE_EVERY: u64 = 2;

/// The part of the world that strategies may read.
#[derive(Debug, Default)]
pub struct State {
    execution: Execution,
    threads: Vec<Thread>,
    enabled: Vec<ThreadId>,
    /// By object, the threads with a call on it that is not completed, and its last completed call;
    /// by port or barrier, the threads that wait there.
    calls: Vec<Calls>,
    objects: usize,
    /// Clocks and coherence of the memory model, in weak executions.
    views: Views,
    /// True while a sampler's reads take only the coherence-latest write, because the program has
    /// performed no weak operation so far.
    is_plain: bool,
    /// Clocks for the detection of races in executions whose reads all take the latest write.
    order: HappensBefore<LatestWrites>,
    races: Races,
    /// True when operations that change nothing are tracked for each thread, to find spin loops.
    watches: bool,
    /// Threads that wait for a change of a value they read.
    spinners: Vec<Spinner>,
    /// Waits since the end of the program.
    polls: Vec<Waits>,
    declared_waits: DeclaredWaits,
    /// True when the execution has used an ignored location.
    has_ignored: bool,
    /// Reads of other locations whose values decide nothing.
    ignored_reads: BTreeSet<EventId>,
}

#[derive(Clone, Debug)]
struct Thread {
    pending: Operation,
    site: SiteId,
    reply: Reply,
    /// Position in `State::enabled`, or `NOT_ENABLED`.
    slot: usize,
    joiner: Option<ThreadId>,
    /// Number of events of the thread.
    events: u32,
    /// Index of its first event after the last one that changed anything.
    quiet_since: u32,
    /// Index of its first event after the last one that changed anything but a location.
    undoable_since: u32,
    timed_wait: TimedWait,
    spurious: SpuriousCounts,
    /// A name of the thread that does not depend on the schedule: derived from its path in the tree
    /// of creations.
    fingerprint: u64,
}

impl Thread {
    /// Returns a name of an event of the thread that does not depend on the schedule.
    #[inline]
    fn event_fingerprint(&self, index: u32) -> u64 {
        self.fingerprint
            .wrapping_add(u64::from(index).wrapping_mul(0xd6e8_feb8_6659_fd93))
    }
}

const NOT_ENABLED: usize = usize::MAX;

#[derive(Debug, Default)]
struct Calls {
    waiting: Vec<ThreadId>,
    last: Option<EventId>,
    /// All completed calls, if some of the object's calls are silent.
    completed: Vec<EventId>,
}

impl State {
    /// Returns the execution so far.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Returns the threads that can continue, in no particular order.
    pub fn enabled(&self) -> &[ThreadId] {
        &self.enabled
    }

    /// Returns the thread's pending operation; for an ended thread, its last one.
    pub fn pending(&self, thread: ThreadId) -> &Operation {
        &self.threads[thread.index()].pending
    }

    /// Returns the site of the thread's pending operation.
    pub fn pending_site(&self, thread: ThreadId) -> SiteId {
        self.threads[thread.index()].site
    }

    /// True when the thread can continue.
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].slot != NOT_ENABLED
    }

    /// Returns the thread's position in [`enabled`](Self::enabled).
    #[inline]
    pub(crate) fn position_of_enabled(&self, thread: ThreadId) -> Option<usize> {
        let slot = self.threads[thread.index()].slot;
        (slot != NOT_ENABLED).then_some(slot)
    }

    /// True when the thread has ended.
    pub fn has_ended(&self, thread: ThreadId) -> bool {
        self.execution.threads[thread.index()].end.is_some()
    }

    /// Returns the number of outcomes of the thread's pending operation, at least one. Some of them
    /// may be impossible, see [`State::allows`]; the first never is.
    // Inlined for operations with one outcome, which are the most frequent.
    #[inline(always)]
    pub fn outcomes(&self, thread: ThreadId) -> u32 {
        self.outcomes_of(thread, &self.threads[thread.index()].pending)
    }

    /// Does the same as [`outcomes`](Self::outcomes), for an operation that is not announced.
    #[inline(always)]
    fn outcomes_of(&self, thread: ThreadId, operation: &Operation) -> u32 {
        match *operation {
            Operation::Begin
            | Operation::End
            | Operation::Spawn
            | Operation::Join { .. }
            | Operation::Yield
            | Operation::Fence { .. } => 1,
            Operation::Load { location, .. } | Operation::Store { location, .. } => {
                match self.may_be_stale() {
                    true => self.views.reach(thread, location),
                    false => 1,
                }
            }
            _ => self.count_outcomes(thread, operation),
        }
    }

    /// Returns every outcome of the thread's pending operation, the impossible ones included.
    pub fn each_outcome(&self, thread: ThreadId) -> impl Iterator<Item = Outcome> + use<> {
        (0..self.outcomes(thread)).map(Outcome::nth)
    }

    /// Returns the choices that run this enabled thread, one for each possible outcome.
    pub fn choices(&self, thread: ThreadId) -> impl Iterator<Item = Choice> + '_ {
        let outcomes = self
            .each_outcome(thread)
            .filter(move |&it| self.allows(thread, it));
        outcomes.map(move |outcome| Choice { thread, outcome })
    }

    /// True when a read may take another write than the coherence-latest, and a write another place
    /// than the last.
    #[inline]
    fn may_be_stale(&self) -> bool {
        self.views.is_on() && !self.is_plain
    }

    #[inline]
    fn count_outcomes(&self, thread: ThreadId, operation: &Operation) -> u32 {
        if self.may_be_stale()
            && let Some(outcomes) = self.weak_outcomes(thread, operation)
        {
            return outcomes;
        }
        match *operation {
            Operation::Choose { alternatives } => alternatives,
            Operation::Chance { .. } => 2,
            Operation::Update {
                location, update, ..
            } => update.outcomes(self.execution.locations[location.index()].value),
            Operation::Call { object, call } => {
                self.execution.objects[object.index()].outcomes(call, thread)
            }
            Operation::Receive { ports, .. } => self.messages(ports).count().max(1) as u32,
            Operation::Meet { barrier } => self.groups(barrier, thread),
            Operation::Leads {
                barrier,
                member,
                round,
            } => self.leader_answers(barrier, member, round),
            _ => 1,
        }
    }

    /// True when clocks and coherence of a weak memory model are kept.
    pub(crate) fn is_weak(&self) -> bool {
        self.views.is_on()
    }

    /// True when running this thread next is a preemption: another thread ran last and is enabled.
    /// A switch away from a thread that has just yielded or slept is none.
    #[inline]
    pub fn interrupts(&self, next: ThreadId) -> bool {
        self.execution.events.last().is_some_and(|last| {
            last.id.thread != next && self.is_enabled(last.id.thread) && !last.operation.makes_way()
        })
    }

    /// True when an execution without enabled threads does not count: the program discarded it, or
    /// a thread waits behind a writer that does not exist.
    fn is_discarded(&self) -> bool {
        let ids = (0..self.threads.len()).map(ThreadId::new);
        let mut behind = ids.filter(|&thread| self.waits_behind_no_writer(thread));
        self.threads
            .iter()
            .any(|thread| matches!(thread.pending, Operation::Assume))
            || behind.next().is_some()
    }

    /// Records the pending operation of each blocked thread.
    fn record_pending(&mut self) {
        let spins = |index| self.spinners.iter().any(|one| one.is(index));
        let waits = |index, info: &ThreadInfo, thread: &Thread| {
            info.end.is_none() && thread.slot == NOT_ENABLED && !spins(index)
        };
        let Execution {
            pending, threads, ..
        } = &mut self.execution;
        let threads = threads.iter().zip(&self.threads).enumerate();
        pending.extend(threads.map(|(index, (info, thread))| {
            waits(index, info, thread).then_some((thread.pending, thread.site))
        }));
        self.declared_waits.record(&mut self.execution);
    }

    fn reset(&mut self, with_views: bool, with_order: bool) {
        self.views.reset(with_views);
        self.order.reset(with_order);
        self.races.reset();
        self.execution.reset();
        self.threads.clear();
        self.enabled.clear();
        self.watches = false;
        self.spinners.clear();
        self.polls.clear();
        self.declared_waits.reset();
        self.has_ignored = false;
        self.ignored_reads.clear();
        for calls in &mut self.calls[..self.objects] {
            calls.waiting.clear();
            calls.last = None;
            calls.completed.clear();
        }
        self.objects = 0;
    }

    fn add_thread(&mut self, spawned_by: Option<EventId>, site: SiteId) -> ThreadId {
        let id = self.execution.add_thread(spawned_by);
        self.views.add_thread();
        self.order.add_thread();
        let fingerprint = spawned_by.map_or(1, |event| {
            mix(self.threads[event.thread.index()].event_fingerprint(event.index))
        });
        self.threads.push(Thread {
            pending: Operation::Begin,
            site,
            reply: Reply::DONE,
            slot: NOT_ENABLED,
            joiner: None,
            events: 0,
            quiet_since: 0,
            undoable_since: 0,
            timed_wait: TimedWait::Outside,
            spurious: SpuriousCounts::default(),
            fingerprint,
        });
        self.enable(id);
        id
    }

    /// Returns the fingerprint of an event's decision.
    #[inline]
    fn entry(&self, id: EventId, source: Option<EventId>, resolution: Resolution) -> u64 {
        let name = |id: EventId| self.threads[id.thread.index()].event_fingerprint(id.index);
        let source = source.map_or(0, |source| name(source).rotate_left(29));
        mix(name(id) ^ source ^ (u64::from(resolution.number()) << 40))
    }

    #[inline]
    fn enable(&mut self, thread: ThreadId) {
        let slot = &mut self.threads[thread.index()].slot;
        if *slot == NOT_ENABLED {
            *slot = self.enabled.len();
            self.enabled.push(thread);
        }
    }

    #[inline]
    fn disable(&mut self, thread: ThreadId) {
        let slot = std::mem::replace(&mut self.threads[thread.index()].slot, NOT_ENABLED);
        if slot != NOT_ENABLED {
            self.enabled.swap_remove(slot);
            if let Some(moved) = self.enabled.get(slot) {
                self.threads[moved.index()].slot = slot;
            }
        }
    }

    #[inline]
    fn set_enabled(&mut self, thread: ThreadId, enabled: bool) {
        if enabled {
            self.enable(thread);
        } else {
            self.disable(thread);
        }
    }
}

/// The shared world of the program under test, and the strategy that drives it.
pub struct World<D> {
    state: State,
    strategy: D,
    /// Capabilities of the strategy for the present execution.
    capabilities: Capabilities,
    max_events: usize,
    /// Maximum events of the present execution.
    most_events: usize,
    /// Number of events from which on every step checks the limits of the execution.
    looks_from: usize,
    /// True for an execution in which threads are blocked for ever if the others only poll. The
    /// checkers are above the world.
    is_blocked: fn(&Execution) -> bool,
    ending: Option<Ending>,
    model: Model,
    policy: Policy,
    /// Operations that the program has performed so far; unknown before the first execution.
    weakness: Weakness,
    /// Operations that leave a sampler's reads at the coherence-latest write in this execution.
    plain: Weakness,
    /// Number of executions so far.
    executions: u64,
    /// True once the program has used a cell.
    has_cells: bool,
    /// Positions of the events of each thread, recorded on request.
    positions: Positions,
    /// True when every access of a cell is recorded, whatever the strategy reads.
    keeps_always: bool,
    /// True when they are recorded in this execution.
    keeps_accesses: bool,
    /// Sites whose operations differ from those of the program.
    changes: Vec<ChangedSite<SiteId>>,
    /// Values served for ignored locations, by which the program's declaration is checked.
    served: Option<Box<Served>>,
}

impl<D: Dispatch> World<D> {
    /// Creates a world without an execution.
    pub fn new(strategy: impl Into<D>, max_events: usize) -> Self {
        World {
            state: State::default(),
            strategy: strategy.into(),
            capabilities: Capabilities::default(),
            max_events,
            most_events: max_events,
            looks_from: max_events,
            is_blocked: |_| false,
            ending: None,
            model: Model::Sc,
            policy: Policy::default(),
            weakness: Weakness::NONE,
            plain: Weakness::LOOSE,
            executions: 0,
            has_cells: false,
            positions: Positions::default(),
            keeps_always: false,
            keeps_accesses: false,
            changes: Vec::new(),
            served: None,
        }
    }

    /// Returns the same world with another memory model.
    pub fn under(mut self, model: Model) -> Self {
        self.state.views.follow(model);
        World { model, ..self }
    }

    /// Starts the next execution with its main thread; returns `false` when the strategy has none
    /// left.
    pub fn begin(&mut self, site: SiteId) -> bool {
        let begins = self.strategy.strategy_mut().begin();
        if begins {
            self.start(site);
        }
        begins
    }

    /// Begins the running execution from its first event again. Possible if the strategy's
    /// [capabilities](Capabilities::begins_again) say so.
    #[cold]
    pub fn begin_again(&mut self, site: SiteId) {
        self.strategy.strategy_mut().begin_again();
        self.start(site);
    }

    fn start(&mut self, site: SiteId) {
        self.capabilities = self.strategy().capabilities();
        let capabilities = &self.capabilities;
        self.keeps_accesses = self.keeps_always || capabilities.reads_cell_accesses;
        let is_first = self.executions == 0;
        let weak = self.weakness.is_weak() || is_first || capabilities.reads_all_outcomes;
        self.executions += 1;
        self.plain = match self.executions.is_multiple_of(LOOSE_EVERY) {
            true => Weakness::LOOSE,
            false => Weakness::LOOSE.and(Weakness::ACCESS),
        };
        self.most_events = self.max_events.min(capabilities.max_events);
        self.looks_from = self.first_look();
        let weak = weak && self.model.is_weak();
        self.state.reset(weak, !weak && self.has_cells);
        self.state.is_plain = self.weakness.is_within(self.plain)
            && capabilities.randomness == Randomness::Independent
            && !capabilities.reads_all_outcomes;
        self.positions.clear();
        self.ending = None;
        self.state.add_thread(None, site);
    }

    /// Changes the operations at these sites from now on, and no others.
    pub fn set_changes(&mut self, changes: Vec<ChangedSite<SiteId>>) {
        self.changes = changes;
    }

    /// Changes the operations at these sites, too.
    pub fn add_changes(&mut self, changes: impl IntoIterator<Item = ChangedSite<SiteId>>) {
        self.changes.extend(changes);
    }

    /// Announces `operation` of the running thread and decides which thread runs next.
    // Changed operations are a separate call: if both cases met in one variable, the operation
    // would go through memory, and `announce` could not be specialized for its caller's variant.
    #[inline(always)]
    pub fn request(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        if !self.changes.is_empty() {
            return self.request_changed(thread, operation, site);
        }
        self.request_as_is(thread, operation, site)
    }

    #[cold]
    #[inline(never)]
    fn request_changed(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        let is_changed = |it: &&ChangedSite<SiteId>| {
            it.site == site && (it.label.is_empty() || it.label == operation.label())
        };
        let mut changes = self.changes.iter().filter(is_changed);
        let changed = changes.try_fold(operation, |operation, it| it.change.apply(operation));
        match changed {
            Some(operation) => self.request_as_is(thread, operation, site),
            None => {
                self.state.threads[thread.index()].reply = Reply::DONE;
                Step::Run(thread)
            }
        }
    }

    #[inline(always)]
    fn request_as_is(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        let weakness = self.weakness.and(Weakness::of(&operation));
        if weakness != self.weakness {
            self.weaken(weakness);
        }
        if walk::is_access(&operation)
            && self.state.execution.events.len() < self.looks_from
            && self.strategy.random_walk().is_some()
        {
            return self.walk(thread, operation, site);
        }
        if let Operation::Call {
            object,
            call: Call::Mutex(call @ (mutex::Call::Lock | mutex::Call::Unlock { .. })),
        } = operation
            && self.state.execution.events.len() < self.looks_from
            && self.strategy.random_walk().is_some()
        {
            return self.walk_lock(thread, object, call, site);
        }
        if matches!(operation, Operation::Spawn | Operation::Join { .. })
            && self.state.execution.events.len() < self.looks_from
            && self.strategy.random_walk().is_some()
        {
            return match operation {
                Operation::Join { target } => self.walk_join(thread, target, site),
                _ => self.walk_spawn(thread, site),
            };
        }
        self.state.announce(thread, operation, site);
        if matches!(operation, Operation::Assume) && !self.capabilities.reads_discarded {
            return self.stop(Ending::Discarded);
        }
        if self.goes_without_saying(thread, &operation) {
            self.state.perform(thread, Outcome::FIRST, true);
            return Step::Run(thread);
        }
        self.advance()
    }

    /// Records that the program has performed operations of this weakness.
    #[cold]
    fn weaken(&mut self, weakness: Weakness) {
        self.weakness = weakness;
        self.state.is_plain &= weakness.is_within(self.plain);
    }

    /// True when a random walk performs the running thread's operation without a choice. Either no
    /// other thread observes the operation, or the thread has only just begun, and its choice
    /// included its first operation. No class is lost that way, and choices are spent on operations
    /// that matter.
    #[inline(always)]
    fn goes_without_saying(&mut self, thread: ThreadId, operation: &Operation) -> bool {
        self.strategy.random_walk().is_some()
            && (matches!(operation, Operation::Spawn | Operation::Join { .. })
                || self.state.threads[thread.index()].events == 1)
            && self.state.is_enabled(thread)
            && self.state.outcomes(thread) == 1
            && self.state.execution.events.len() < self.most_events
    }

    /// Chooses the next thread when no thread is running.
    #[inline]
    pub fn advance(&mut self) -> Step {
        match self.strategy.random_walk().is_some() {
            true => self.walk_any(),
            false => self.advance_generally(),
        }
    }

    /// Does the same as [`advance`](Self::advance), for every strategy.
    fn advance_generally(&mut self) -> Step {
        loop {
            if self.state.enabled.is_empty() && !self.state.spinners.is_empty() {
                self.state.look_again();
            }
            if self.state.enabled.is_empty() {
                if self
                    .state
                    .execution
                    .threads
                    .iter()
                    .all(|info| info.end.is_some())
                {
                    return self.stop(Ending::Complete);
                }
                if self.state.execution.detached > 0 {
                    self.only_detached_threads_are_left();
                }
                return match self.strategy.strategy_mut().stuck(&self.state) {
                    Ok(()) if self.state.is_discarded() => self.stop(Ending::Discarded),
                    Ok(()) => self.stop(self.state.stuck()),
                    Err(divergence) => self.stop(Ending::Diverged(*divergence)),
                };
            }
            if self.state.execution.events.len() >= self.looks_from
                && let Some(stop) = self.is_at_limit()
            {
                return stop;
            }
            let choice = match self.strategy.choose(&self.state) {
                Ok(choice) => choice,
                Err(divergence) if divergence.from == Record::Discarded => {
                    return self.stop(Ending::Discarded);
                }
                Err(divergence) => return self.stop(Ending::Diverged(*divergence)),
            };
            if self.take(choice) {
                return Step::Run(choice.thread);
            }
            if self.state.execution.detached > 0 && self.only_detached_threads_are_left() {
                return self.stop(Ending::Complete);
            }
        }
    }

    /// Chooses the next thread when one has ended.
    fn advance_after_end(&mut self) -> Step {
        if self.state.execution.detached > 0 && self.only_detached_threads_are_left() {
            return self.stop(Ending::Complete);
        }
        self.advance()
    }

    /// Performs the chosen operation; `false` if that was the end of the thread.
    #[inline(always)]
    fn take(&mut self, choice: Choice) -> bool {
        debug_assert!(self.state.is_enabled(choice.thread));
        let interrupts = self.state.interrupts(choice.thread);
        self.state.execution.preemptions += u32::from(interrupts);
        let ends = matches!(self.state.pending(choice.thread), Operation::End);
        self.state.perform(choice.thread, choice.outcome, true);
        !ends
    }

    /// Announces the end of the running thread. Its stack may be freed before the end is performed.
    pub fn announce_end(&mut self, thread: ThreadId, site: SiteId) {
        self.state.announce(thread, Operation::End, site);
    }

    /// Detaches a thread: the program ends when all other threads have ended, whatever this one does.
    pub fn detach(&mut self, thread: ThreadId) {
        let info = &mut self.state.execution.threads[thread.index()];
        if !std::mem::replace(&mut info.is_detached, true) {
            self.state.execution.detached += 1;
        }
    }

    /// True when every thread that has not ended is detached and the strategy runs schedules rather than classes;
    /// marks the end of the program. A search of classes runs the detached threads to their ends, because classes
    /// are sets of whole threads.
    #[cold]
    fn only_detached_threads_are_left(&mut self) -> bool {
        let mut threads = self.state.execution.threads.iter();
        if threads.any(|info| info.end.is_none() && !info.is_detached) {
            return false;
        }
        self.end_program();
        self.capabilities.known_class != KnownClass::NeverOccurs
    }

    /// Counts the events of the execution anew, for the maximum number of events.
    pub fn reset_limit(&mut self) {
        let events = self.state.execution.events.len();
        let first_look = self.first_look();
        self.most_events = events.saturating_add(self.max_events.min(self.capabilities.max_events));
        if !self.state.execution.is_over {
            self.looks_from = events.saturating_add(first_look).min(self.most_events);
        }
    }

    /// Returns the reply to the thread's last performed operation.
    #[inline]
    pub fn reply(&self, thread: ThreadId) -> Reply {
        self.state.threads[thread.index()].reply
    }

    /// Ends the execution at its present state.
    pub fn stop(&mut self, ending: Ending) -> Step {
        self.ending.get_or_insert(ending);
        Step::Stop
    }

    /// Ends the execution because its time is over, at this operation of the running thread.
    #[cold]
    pub fn cut(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        self.state.announce(thread, operation, site);
        self.stop(Ending::OutOfTime)
    }

    /// Returns how the execution ended, once [`Step::Stop`] was returned.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// Returns the execution that has stopped, and how it ended.
    pub(crate) fn finished(&self) -> (&Execution, &Ending) {
        let ending = self.ending.as_ref();
        (
            &self.state.execution,
            ending.expect("raddle: asked before the execution stopped"),
        )
    }

    /// Notifies the strategy of the end of the execution, and returns the execution.
    pub fn finish(&mut self) -> (&Execution, &Ending) {
        let state = &mut self.state;
        let ending = self
            .ending
            .as_ref()
            .expect("raddle: finish() before the execution stopped");
        if matches!(
            ending,
            Ending::Deadlock | Ending::Livelock | Ending::TooManyEvents | Ending::OutOfTime
        ) {
            state.record_pending();
            let spinning = state.spinners.iter().map(Spinner::to_spinning);
            state.execution.spinning.extend(spinning);
        }
        if matches!(ending, Ending::OutOfTime) {
            let Execution {
                positions, threads, ..
            } = &mut state.execution;
            let threads = threads.iter().zip(&state.threads);
            positions.extend(
                threads.map(|(info, thread)| {
                    info.end.is_none().then_some((thread.pending, thread.site))
                }),
            );
        }
        self.strategy.strategy_mut().end(&state.execution, ending);
        state.execution.keep_two_rounds();
        (&state.execution, ending)
    }

    /// Returns the state that strategies read.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the strategy in use.
    pub fn strategy(&self) -> &dyn Strategy {
        self.strategy.strategy()
    }

    /// Returns the strategy in use.
    pub fn strategy_mut(&mut self) -> &mut dyn Strategy {
        self.strategy.strategy_mut()
    }

    /// Returns the capabilities of the strategy for the present execution.
    #[inline]
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Returns the maximum number of events of the present execution.
    pub fn most_events(&self) -> usize {
        self.most_events
    }

    /// Replaces the strategy between two executions; returns the old one.
    pub fn set_strategy(&mut self, strategy: impl Into<D>) -> D {
        std::mem::replace(&mut self.strategy, strategy.into())
    }

    /// Returns the strategy as it is dispatched to.
    pub(crate) fn dispatch(&mut self) -> &mut D {
        &mut self.strategy
    }
}
