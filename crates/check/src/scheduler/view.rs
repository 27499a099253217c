//! The view of an execution that a scheduler has.

use std::fmt;
use std::sync::atomic::Ordering;

use raddle_engine::memory::happens_before::EventOrder;
use raddle_engine::{Ending, Execution, SiteId, State, ThreadId};

use super::Choice;
use crate::runtime::Places;

/// State of an execution, for the next choice of a [`Scheduler`](super::Scheduler).
#[derive(Clone, Copy)]
pub struct View<'a> {
    state: &'a State,
    /// The enabled threads in the order of their creation.
    enabled: &'a [ThreadId],
    places: &'a Places,
}

impl<'a> View<'a> {
    pub(super) fn new(state: &'a State, enabled: &'a [ThreadId], places: &'a Places) -> Self {
        View {
            state,
            enabled,
            places,
        }
    }

    /// Iterates over the threads that can run, in the order of their creation; at least one.
    pub fn enabled(&self) -> impl ExactSizeIterator<Item = Thread<'a>> + DoubleEndedIterator {
        let view = *self;
        self.enabled.iter().map(move |&id| Thread { view, id })
    }

    /// Returns the thread if it is enabled.
    pub fn thread(&self, id: ThreadId) -> Option<Thread<'a>> {
        let is_enabled = self.enabled.binary_search(&id).is_ok();
        is_enabled.then_some(Thread { view: *self, id })
    }

    /// Returns the number of threads created so far, those that have ended included. Their indices
    /// are below it.
    pub fn thread_count(&self) -> usize {
        self.state.execution().threads.len()
    }

    /// Returns the events so far.
    pub fn events(&self) -> Events<'a> {
        Events {
            execution: self.state.execution(),
            places: self.places,
        }
    }

    /// Returns the number of preemptions so far: switches from a thread that could have continued.
    pub fn preemptions(&self) -> u32 {
        self.state.execution().preemptions
    }
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.enabled()).finish()
    }
}

/// An enabled thread.
#[derive(Clone, Copy)]
pub struct Thread<'a> {
    view: View<'a>,
    id: ThreadId,
}

impl<'a> Thread<'a> {
    /// Returns its identity in this execution; threads are numbered in the order of their creation.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Returns its path in the tree of creations, `main.1` for the first thread that main creates.
    /// Unlike the identity, it does not depend on the schedule.
    pub fn path(&self) -> String {
        self.view.state.execution().path(self.id).to_string()
    }

    /// Returns the operation that it performs when it runs.
    pub fn operation(&self) -> Operation<'a> {
        let state = self.view.state;
        Operation {
            operation: state.pending(self.id),
            site: state.pending_site(self.id),
            execution: state.execution(),
            places: self.view.places,
        }
    }

    /// Returns the number of possible outcomes of its operation, at least 1: writes that a read may
    /// take, alternatives of [`raddle::choose`], waiters that a notification may wake. Outcome 0 is
    /// the usual one, such as the coherence-latest write.
    ///
    /// [`raddle::choose`]: https://docs.rs/raddle/latest/raddle/fn.choose.html
    pub fn outcomes(&self) -> u32 {
        let state = self.view.state;
        match (state.pending(self.id), state.outcomes(self.id)) {
            (_, 1) => 1,
            (raddle_engine::Operation::Choose { alternatives }, _) => *alternatives,
            _ => self.view.state.choices(self.id).count() as u32,
        }
    }

    /// True when running it is a preemption: another thread has run last and could continue.
    pub fn preempts(&self) -> bool {
        self.view.state.interrupts(self.id)
    }

    /// Chooses this thread, with outcome 0.
    pub fn run(&self) -> Choice {
        self.with_outcome(0)
    }

    /// Chooses this thread with one of its [`outcomes`](Self::outcomes).
    pub fn with_outcome(&self, outcome: u32) -> Choice {
        Choice {
            thread: self.id,
            outcome,
        }
    }
}

impl fmt::Debug for Thread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path(), self.operation())
    }
}

/// The kind of an [`Operation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperationKind {
    /// A thread starts: the first operation of every thread.
    Begin,
    /// A thread ends: the last operation of every thread.
    End,
    /// Creates a thread.
    Spawn,
    /// Waits until a thread has ended, or checks if it has.
    Join,
    /// Lets other threads run: yields or sleeps.
    Yield,
    /// A choice that the program leaves open, or a spurious wake-up.
    Choose,
    /// Reads an atomic.
    Load,
    /// Writes an atomic.
    Store,
    /// Reads and writes an atomic in one step.
    Update,
    /// A memory fence.
    Fence,
    /// Sends a message.
    Send,
    /// Receives a message.
    Receive,
    /// Calls a synchronisation object: a lock, a condition variable, a semaphore, a barrier.
    Call,
}

/// Target of an [`Operation`]. Numbers are given in the order of first use in an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Target {
    /// An atomic.
    Location(usize),
    /// A synchronisation object, a channel or a port.
    Object(usize),
    /// A thread.
    Thread(ThreadId),
}

/// An operation that a thread is about to perform, or has performed.
#[derive(Clone, Copy)]
pub struct Operation<'a> {
    operation: &'a raddle_engine::Operation,
    site: SiteId,
    execution: &'a Execution,
    places: &'a Places,
}

impl Operation<'_> {
    /// Returns its kind.
    pub fn kind(&self) -> OperationKind {
        use raddle_engine::Operation as Engine;
        match self.operation {
            Engine::Begin => OperationKind::Begin,
            Engine::End => OperationKind::End,
            Engine::Spawn => OperationKind::Spawn,
            Engine::Join { .. } | Engine::IsFinished { .. } => OperationKind::Join,
            Engine::Yield | Engine::Sleep { .. } => OperationKind::Yield,
            Engine::Choose { .. } | Engine::Chance { .. } | Engine::Assume => OperationKind::Choose,
            Engine::Load { .. } => OperationKind::Load,
            Engine::Store { .. } => OperationKind::Store,
            Engine::Update { .. } => OperationKind::Update,
            Engine::Fence { .. } => OperationKind::Fence,
            Engine::Send { .. } | Engine::HangUp { .. } => OperationKind::Send,
            Engine::Receive { .. } | Engine::Delivered { .. } => OperationKind::Receive,
            Engine::Meet { .. } | Engine::Leads { .. } | Engine::Call { .. } => OperationKind::Call,
        }
    }

    /// Returns its name in schedules and traces: `lock`, `fetch-add`.
    pub fn label(&self) -> &'static str {
        self.operation.label()
    }

    /// Returns its target; `None` if it has none, or several ports at once.
    pub fn target(&self) -> Option<Target> {
        use raddle_engine::Operation as Engine;
        if let Engine::Join { target } | Engine::IsFinished { target } = *self.operation {
            return Some(Target::Thread(target));
        }
        let object = self.operation.object();
        let location = self.operation.location();
        object
            .map(|object| Target::Object(object.index()))
            .or(location.map(|location| Target::Location(location.index())))
    }

    /// Returns the name of the target: the one given with `raddle::label!`, or else its type.
    pub fn target_name(&self) -> Option<String> {
        let (names, index) = match self.target()? {
            Target::Location(index) => (&self.execution.location_names, index),
            Target::Object(index) => (&self.execution.object_names, index),
            Target::Thread(thread) => return Some(self.execution.path(thread).to_string()),
        };
        let label = names.label(index);
        Some(label.unwrap_or_else(|| names.kind(index)).to_owned())
    }

    /// Returns the ordering of an access of an atomic, or of a fence.
    pub fn ordering(&self) -> Option<Ordering> {
        self.operation.ordering()
    }

    /// Returns the identity of its source location: the same number in all executions of a check.
    pub fn site(&self) -> usize {
        self.site.index()
    }

    /// Returns its source location as `file:line:column`.
    pub fn location(&self) -> Option<String> {
        self.places.to_text(self.site)
    }
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())?;
        if let Some(name) = self.target_name() {
            write!(f, " {name}")?;
        }
        match self.location() {
            Some(location) => write!(f, " at {location}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The events of an execution, in the order in which they were performed.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    execution: &'a Execution,
    places: &'a Places,
}

impl<'a> Events<'a> {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.execution.events.len()
    }

    /// True when there is no event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the event with this number, from 0.
    pub fn get(&self, index: usize) -> Option<Event<'a>> {
        let event = self.execution.events.get(index)?;
        let events = *self;
        Some(Event { events, event })
    }

    /// Returns the last event.
    pub fn last(&self) -> Option<Event<'a>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Iterates over all events.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event<'a>> + DoubleEndedIterator {
        let events = *self;
        let all = self.execution.events.iter();
        all.map(move |event| Event { events, event })
    }
}

impl fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// An operation that was performed.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    events: Events<'a>,
    event: &'a raddle_engine::Event,
}

impl<'a> Event<'a> {
    /// Returns the thread that performed it.
    pub fn thread(&self) -> ThreadId {
        self.event.id.thread
    }

    /// Returns its number among the events of its thread, from 0.
    pub fn index(&self) -> usize {
        self.event.id.index as usize
    }

    /// Returns the performed operation.
    pub fn operation(&self) -> Operation<'a> {
        Operation {
            operation: &self.event.operation,
            site: self.event.site,
            execution: self.events.execution,
            places: self.events.places,
        }
    }
}

impl<'a> Event<'a> {
    /// Returns the event that it received from: the write that a read takes, the write before a write in coherence order,
    /// the call before a call of an object, the send of a message. `None` for the initial value or state, and for
    /// operations without a source.
    pub fn source(&self) -> Option<Event<'a>> {
        let source = self.event.source?;
        self.events.iter().find(|event| event.event.id == source)
    }

    /// Returns the labels that `raddle::event!` has given it, if the check records them:
    /// [`Checker::observe`](crate::Checker::observe) does.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> {
        let id = self.event.id;
        let labels = self.events.execution.labels.iter();
        labels
            .filter(move |label| label.event == id)
            .map(|label| &*label.text)
    }
}

/// The happens-before order of the events of a [`Finished`] execution.
#[derive(Debug)]
pub struct HappensBefore(EventOrder);

impl HappensBefore {
    /// True when the first event happens before the second in the sense of the memory model. Two events of which neither
    /// happens before the other are concurrent.
    pub fn query(&self, first: Event<'_>, second: Event<'_>) -> bool {
        self.0.has(first.event.id, second.event.id)
    }
}

/// The class of an execution: equal for executions that have the same events with the same sources, in whatever order
/// independent ones were performed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(Vec<raddle_engine::ClassEntry>);

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.events.execution.path(self.thread());
        write!(f, "{path}: {}", self.operation())
    }
}

/// The end of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// Every thread has ended.
    Complete,
    /// Threads are left, and none is enabled.
    Deadlock,
    /// Threads are left, and the enabled ones only repeat themselves.
    Livelock,
    /// The program discarded the execution with `raddle::assume`.
    Discarded,
    /// The execution was stopped: too many events, or a thread that crashed.
    CutShort,
}

/// An execution that has ended.
#[derive(Clone, Copy)]
pub struct Finished<'a> {
    execution: &'a Execution,
    ending: &'a Ending,
    places: &'a Places,
}

impl<'a> Finished<'a> {
    pub(crate) fn new(execution: &'a Execution, ending: &'a Ending, places: &'a Places) -> Self {
        Finished {
            execution,
            ending,
            places,
        }
    }

    /// Returns the end of the execution.
    pub fn ended(&self) -> Ended {
        match self.ending {
            Ending::Complete => Ended::Complete,
            Ending::Deadlock => Ended::Deadlock,
            Ending::Livelock => Ended::Livelock,
            Ending::Discarded => Ended::Discarded,
            Ending::TooManyEvents
            | Ending::OutOfTime
            | Ending::StackOverflow(_)
            | Ending::MemoryError
            | Ending::Interfered
            | Ending::Diverged(_) => Ended::CutShort,
        }
    }

    /// True when it belongs to a class: it has not been cut or discarded.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(
            self.ended(),
            Ended::Complete | Ended::Deadlock | Ended::Livelock
        )
    }

    /// Returns its events.
    pub fn events(&self) -> Events<'a> {
        Events {
            execution: self.execution,
            places: self.places,
        }
    }

    /// Returns the number of threads created.
    pub fn thread_count(&self) -> usize {
        self.execution.threads.len()
    }

    /// Returns the name of the thread that the program gave it, or else its path in the tree of creations.
    pub fn thread_name(&self, thread: ThreadId) -> String {
        let own = self.execution.threads.get(thread.index());
        let name = own.and_then(|info| info.name.clone());
        name.unwrap_or_else(|| self.execution.path(thread).to_string())
    }

    /// Computes its happens-before order.
    pub fn happens_before(&self) -> HappensBefore {
        HappensBefore(EventOrder::of(self.execution))
    }

    /// Returns its class, which compares the events themselves and not their fingerprint.
    pub fn exact_class(&self) -> Class {
        Class(self.execution.class())
    }

    /// Returns the schedule by which it is replayed.
    pub fn schedule(&self) -> raddle_engine::Schedule {
        raddle_engine::Schedule::of(self.execution)
    }

    /// Returns the fingerprint of its class: executions with the same one differ only in the order
    /// of independent operations.
    pub fn class(&self) -> u64 {
        self.execution.fingerprint()
    }
}

impl fmt::Debug for Finished<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {} events", self.ended(), self.events().len())
    }
}
