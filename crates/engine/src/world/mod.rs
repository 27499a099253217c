//! What threads can do next, and what happens when they do it.
//!
//! The world is passive: a substrate announces the running thread's next operation with
//! [`World::request`] and is told to go on with it, to switch to another thread, or to stop. One
//! decision of the strategy performs one operation of one thread; that thread then runs, unseen,
//! up to its next operation. The set of enabled threads is kept up to date as operations are
//! announced and performed, so a decision costs the same whatever the number of threads.

mod barriers;
mod cells;
mod perform;
mod policy;
mod polling;
mod ports;
mod positions;
mod spin;
mod stopped;
pub mod strategy;
mod things;
mod weak;

pub use cells::Past;
pub use policy::Policy;

use std::sync::atomic::Ordering;

use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::outcome::{Outcome, Resolution};
use crate::base::reply::Reply;
use crate::base::rng::mix;
use crate::memory::happens_before::{HappensBefore, LatestWrites};
use crate::memory::races::Races;
use crate::memory::views::Views;
use crate::memory::{Model, Weakness};
use crate::model::choice::Choice;
use crate::model::ending::Ending;
use crate::model::execution::{Execution, ThreadInfo};
use crate::model::operation::Operation;
use policy::SpuriousCounts;
use polling::Waits;
use positions::Positions;
use spin::{Spinner, TimedWait};
use strategy::{Dispatch, Randomness, Strategy};

/// What the substrate must do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// This thread goes on; [`World::reply`] has the reply to its operation.
    Run(ThreadId),
    /// The execution is over; [`World::ending`] says how.
    Stop,
}

/// The part of the world that strategies may look at.
#[derive(Debug, Default)]
pub struct State {
    execution: Execution,
    threads: Vec<Thread>,
    enabled: Vec<ThreadId>,
    /// By object: who has announced a call on it that is not completed, and the last completed; or
    /// who waits at a port.
    calls: Vec<Calls>,
    objects: usize,
    /// What threads have seen of memory, while that matters.
    views: Views,
    /// Whether accesses that could be told something old are not, because nothing in the program has
    /// asked for that so far.
    is_plain: bool,
    /// Clocks for the detection of races, while every read takes the latest write.
    order: HappensBefore<LatestWrites>,
    races: Races,
    /// True when it is noted which threads only read.
    watches: bool,
    /// Threads that wait for a change of what they read.
    spinners: Vec<Spinner>,
    /// Waits since the end of the program.
    polls: Vec<Waits>,
}

#[derive(Clone, Debug)]
struct Thread {
    pending: Operation,
    site: SiteId,
    reply: Reply,
    /// Position in `State::enabled`, or `NOT_ENABLED`.
    slot: usize,
    joiner: Option<ThreadId>,
    /// How many events it has.
    events: u32,
    /// From which of its events on it has done nothing but look.
    quiet_since: u32,
    timed_wait: TimedWait,
    spurious: SpuriousCounts,
    /// Names the thread whatever the schedule: depends on its place in the tree of creations.
    fingerprint: u64,
}

impl Thread {
    /// Names an event of the thread whatever the schedule.
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
    /// All of them, if some of the object's calls are silent.
    completed: Vec<EventId>,
}

impl State {
    /// The execution so far.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// The threads that can go on, in no particular order.
    pub fn enabled(&self) -> &[ThreadId] {
        &self.enabled
    }

    /// What the thread will do when it goes on (for an ended thread: what it did last).
    pub fn pending(&self, thread: ThreadId) -> &Operation {
        &self.threads[thread.index()].pending
    }

    /// Where in the source the thread's pending operation is.
    pub fn pending_site(&self, thread: ThreadId) -> SiteId {
        self.threads[thread.index()].site
    }

    /// Whether the thread can go on.
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.threads[thread.index()].slot != NOT_ENABLED
    }

    /// Whether the thread has ended.
    pub fn has_ended(&self, thread: ThreadId) -> bool {
        self.execution.threads[thread.index()].end.is_some()
    }

    /// Number of outcomes of the thread's pending operation, at least one. Some of them may be
    /// impossible, see [`State::allows`]; the first never is.
    // Inlined as far as operations of one outcome are concerned, which are most.
    #[inline(always)]
    pub fn outcomes(&self, thread: ThreadId) -> u32 {
        match self.threads[thread.index()].pending {
            Operation::Begin
            | Operation::End
            | Operation::Spawn
            | Operation::Join { .. }
            | Operation::Yield
            | Operation::Fence { .. } => 1,
            Operation::Load { .. } | Operation::Store { .. } if !self.may_be_stale() => 1,
            _ => self.count_outcomes(thread),
        }
    }

    /// Every outcome of the thread's pending operation, the impossible ones included.
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

    fn count_outcomes(&self, thread: ThreadId) -> u32 {
        if self.may_be_stale()
            && let Some(outcomes) = self.weak_outcomes(thread)
        {
            return outcomes;
        }
        match *self.pending(thread) {
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

    /// Whether threads may see different things.
    pub(crate) fn is_weak(&self) -> bool {
        self.views.is_on()
    }

    /// Whether it is a preemption if this thread goes on: another one has run last and could go on as
    /// well. One that has just yielded or slept makes way of its own accord.
    #[inline]
    pub fn interrupts(&self, next: ThreadId) -> bool {
        self.execution.events.last().is_some_and(|last| {
            last.id.thread != next && self.is_enabled(last.id.thread) && !last.operation.makes_way()
        })
    }

    /// Whether an execution in which no thread can go on does not count: some thread has said so, or
    /// waits behind a writer that is not there.
    fn is_discarded(&self) -> bool {
        let ids = (0..self.threads.len()).map(ThreadId::new);
        let mut behind = ids.filter(|&thread| self.waits_behind_no_writer(thread));
        self.threads
            .iter()
            .any(|thread| matches!(thread.pending, Operation::Assume))
            || behind.next().is_some()
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
            timed_wait: TimedWait::Outside,
            spurious: SpuriousCounts::default(),
            fingerprint,
        });
        self.enable(id);
        id
    }

    /// The fingerprint of what an event decides.
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
    max_events: usize,
    /// The same for the present execution.
    most_events: usize,
    /// Number of events from which on every step looks at the limits of the execution.
    looks_from: usize,
    ending: Option<Ending>,
    model: Model,
    policy: Policy,
    /// What the program has performed so far: not known before the first execution.
    weakness: Weakness,
    started: bool,
    /// Whether the program has used a cell.
    has_cells: bool,
    /// Where events are, for those who look for them.
    positions: Positions,
    /// Whether every access of a cell is written down.
    keeps_accesses: bool,
    /// Accesses and fences at these places are stronger than the program says.
    stronger: Vec<(SiteId, Ordering)>,
}

impl<D: Dispatch> World<D> {
    /// A world in which no execution has been started.
    pub fn new(strategy: impl Into<D>, max_events: usize) -> Self {
        World {
            state: State::default(),
            strategy: strategy.into(),
            max_events,
            most_events: max_events,
            looks_from: max_events,
            ending: None,
            model: Model::Sc,
            policy: Policy::default(),
            weakness: Weakness::NONE,
            started: false,
            has_cells: false,
            positions: Positions::default(),
            keeps_accesses: false,
            stronger: Vec::new(),
        }
    }

    /// The same world with another memory model.
    pub fn under(mut self, model: Model) -> Self {
        self.state.views.follow(model);
        World { model, ..self }
    }

    /// Starts the next execution with its main thread; `false` when the strategy has none left.
    pub fn begin(&mut self, site: SiteId) -> bool {
        if !self.strategy.strategy_mut().begin() {
            return false;
        }
        let capabilities = self.strategy().capabilities();
        let weak = self.weakness.is_weak() || !self.started || capabilities.reads_all_outcomes;
        self.started = true;
        self.most_events = self.max_events.min(capabilities.max_events);
        self.looks_from = self.most_events;
        let weak = weak && self.model.is_weak();
        self.state.reset(weak, !weak && self.has_cells);
        self.state.is_plain = !self.weakness.is_weak()
            && capabilities.randomness == Randomness::Independent
            && !capabilities.reads_all_outcomes;
        self.positions.clear();
        self.ending = None;
        self.state.add_thread(None, site);
        true
    }

    /// From now on accesses and fences at these places are that strong.
    pub fn strengthen(&mut self, places: Vec<(SiteId, Ordering)>) {
        self.stronger = places;
    }

    /// Announces `operation` of the running thread and decides which thread runs next.
    // Strengthened orderings are a call of their own: if both cases met in one variable, the operation
    // would go through memory, and `announce` would not know which operation its caller makes.
    #[inline(always)]
    pub fn request(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        if !self.stronger.is_empty() {
            return self.request_strengthened(thread, operation, site);
        }
        self.request_as_is(thread, operation, site)
    }

    #[cold]
    #[inline(never)]
    fn request_strengthened(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
    ) -> Step {
        let place = self.stronger.iter().find(|(place, _)| *place == site);
        let operation = place.map_or(operation, |&(_, ordering)| operation.with(ordering));
        self.request_as_is(thread, operation, site)
    }

    #[inline(always)]
    fn request_as_is(&mut self, thread: ThreadId, operation: Operation, site: SiteId) -> Step {
        self.state.announce(thread, operation, site);
        let weakness = Weakness::of(&operation);
        if weakness != Weakness::NONE {
            self.weakness = self.weakness.and(weakness);
            self.state.is_plain &= !self.weakness.is_weak();
        }
        if matches!(operation, Operation::Assume) && !self.strategy().capabilities().reads_discarded
        {
            return self.stop(Ending::Discarded);
        }
        if self.goes_without_saying(thread, &operation) {
            self.state.perform(thread, Outcome::FIRST, true);
            return Step::Run(thread);
        }
        self.advance()
    }

    /// Whether a random walk need not choose whether the running thread goes on: because no other thread
    /// notices the operation, or because the thread has only just begun, and choosing it meant
    /// choosing its first operation. No class is lost that way, and choices are spent on what
    /// matters.
    #[inline(always)]
    fn goes_without_saying(&self, thread: ThreadId, operation: &Operation) -> bool {
        self.strategy.skips_trivial_choices()
            && (matches!(operation, Operation::Spawn | Operation::Join { .. })
                || self.state.threads[thread.index()].events == 1)
            && self.state.is_enabled(thread)
            && self.state.outcomes(thread) == 1
            && self.state.execution.events.len() < self.most_events
    }

    /// Decides who goes on when no thread is running.
    pub fn advance(&mut self) -> Step {
        loop {
            if self.state.enabled.is_empty() {
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
                Err(divergence) => return self.stop(Ending::Diverged(*divergence)),
            };
            debug_assert!(self.state.is_enabled(choice.thread));
            let interrupts = self.state.interrupts(choice.thread);
            self.state.execution.preemptions += u32::from(interrupts);
            let ends = matches!(self.state.pending(choice.thread), Operation::End);
            self.state.perform(choice.thread, choice.outcome, true);
            if !ends {
                return Step::Run(choice.thread);
            }
        }
    }

    /// The running thread has nothing left to do but to end. Its stack may be gone before the end
    /// itself is performed.
    pub fn announce_end(&mut self, thread: ThreadId, site: SiteId) {
        self.state.announce(thread, Operation::End, site);
    }

    /// What the thread's last performed operation gave back.
    #[inline]
    pub fn reply(&self, thread: ThreadId) -> Reply {
        self.state.threads[thread.index()].reply
    }

    /// Ends the execution where it stands.
    pub fn stop(&mut self, ending: Ending) -> Step {
        self.ending.get_or_insert(ending);
        Step::Stop
    }

    /// How the execution ended, once [`Step::Stop`] was answered.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The execution that has stopped, and how it ended.
    pub(crate) fn finished(&self) -> (&Execution, &Ending) {
        let ending = self.ending.as_ref();
        (
            &self.state.execution,
            ending.expect("raddle: asked before the execution stopped"),
        )
    }

    /// Tells the strategy that the execution is over and gives the execution to read.
    pub fn finish(&mut self) -> (&Execution, &Ending) {
        let state = &mut self.state;
        let Execution {
            pending,
            spinning,
            threads,
            ..
        } = &mut state.execution;
        let ending = self
            .ending
            .as_ref()
            .expect("raddle: finish() before the execution stopped");
        if matches!(
            ending,
            Ending::Deadlock | Ending::Livelock | Ending::TooManyEvents
        ) {
            let spins = |index| state.spinners.iter().any(|one| one.is(index));
            let waits = |index, info: &ThreadInfo, thread: &Thread| {
                info.end.is_none() && thread.slot == NOT_ENABLED && !spins(index)
            };
            let threads = threads.iter().zip(&state.threads).enumerate();
            pending.extend(threads.map(|(index, (info, thread))| {
                waits(index, info, thread).then_some((thread.pending, thread.site))
            }));
            spinning.extend(state.spinners.iter().map(Spinner::to_spinning));
        }
        self.strategy.strategy_mut().end(&state.execution, ending);
        (&state.execution, ending)
    }

    /// What strategies see.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The strategy in use.
    pub fn strategy(&self) -> &dyn Strategy {
        self.strategy.strategy()
    }

    /// The strategy in use.
    pub fn strategy_mut(&mut self) -> &mut dyn Strategy {
        self.strategy.strategy_mut()
    }

    /// How many events the present execution may have.
    pub(crate) fn most_events(&self) -> usize {
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
