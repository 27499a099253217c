//! Whether an execution does what a future says, while it goes on.

use super::future::{Future, FutureChoice, Point, Sees};
use super::seen;
use crate::base::ids::{EventId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::{is_called, is_thread, things};
use crate::model::operation::Operation;
use crate::object::{Call, Object};

/// Follows an execution from event to event.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    pub(crate) choices: Vec<Followed>,
    /// By thread: where its events are in the order of the run.
    positions: Vec<Vec<usize>>,
    /// By thread: for each choice, whether it is the thread that receives, and the one that sends.
    /// Known from the thread's first event on.
    threads: Vec<Vec<(bool, bool)>>,
    noted: usize,
}

/// One choice of the future.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) choice: FutureChoice,
    /// How often the thread has received and sent there.
    pub(crate) receives: u32,
    pub(crate) sends: u32,
    /// The receive, and what it is to see, once they have happened.
    pub(crate) receive: Option<EventId>,
    pub(crate) source: Option<EventId>,
    pub(crate) verdict: Verdict,
}

/// What became of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The receive has not happened.
    Open,
    /// It has seen what it was to see.
    Fits,
    /// It has seen something else.
    Wrong,
}

/// What an event is to the point of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Receives,
    Sends,
}

/// The operation and the thing in `unlock(state)`.
pub(super) fn parts(thing: &str) -> (Option<&str>, &str) {
    match thing.strip_suffix(')').and_then(|it| it.split_once('(')) {
        Some((operation, thing)) => (Some(operation), thing),
        None => (None, thing),
    }
}

/// What the point is about.
pub(crate) fn thing(point: &Point) -> &str {
    parts(&point.thing).1
}

/// Whether an operation is one of those that are counted there.
pub(crate) fn fits(
    point: &Point,
    thread: ThreadId,
    operation: &Operation,
    role: Role,
    execution: &Execution,
) -> bool {
    is_thread(execution, thread, &point.thread) && counts(point, operation, role, execution)
}

/// The same, if the thread is the right one.
fn counts(point: &Point, operation: &Operation, role: Role, execution: &Execution) -> bool {
    let (label, name) = parts(&point.thing);
    let is_meant = match label {
        Some(label) => operation.label() == label,
        None => does(operation, role, execution),
    };
    is_meant && is_done_to(operation, name, execution)
}

/// Whether the operation is done to what is called so, or is called so itself if it is done to
/// nothing.
pub(crate) fn is_done_to(operation: &Operation, name: &str, execution: &Execution) -> bool {
    let things = things(operation, execution);
    match things.is_empty() {
        true => operation.label() == name,
        false => things
            .iter()
            .any(|&thing| is_called(thing, name, execution)),
    }
}

/// Whether an operation receives or sends anything, if it succeeds.
pub(crate) fn does(operation: &Operation, role: Role, execution: &Execution) -> bool {
    match (operation, role) {
        (Operation::Update { .. }, _) => true,
        (Operation::Call { call, .. }, Role::Receives) => !call.is_silent() && !call.gives_back(),
        (Operation::Call { object, call }, Role::Sends) => {
            let object = &execution.objects[object.index()];
            call.gives_back() || !is_lock(object) && !call.is_silent()
        }
        (
            Operation::Load { .. }
            | Operation::Receive { .. }
            | Operation::IsFinished { .. }
            | Operation::Choose { .. }
            | Operation::Chance { .. },
            role,
        ) => role == Role::Receives,
        (
            Operation::Store { .. }
            | Operation::HangUp { .. }
            | Operation::Send { .. }
            | Operation::End,
            role,
        ) => role == Role::Sends,
        _ => false,
    }
}

/// Whether what is sent there is that somebody gives it back.
fn is_lock(object: &Object) -> bool {
    matches!(
        object,
        Object::Mutex(_)
            | Object::RwLock(_)
            | Object::Semaphore(_)
            | Object::Once(_)
            | Object::Monitor(_)
    )
}

impl Followed {
    /// Whether the receive has seen something else although it could be told what it was to see.
    pub(super) fn is_plainly_wrong(&self) -> bool {
        let source_is_there = match self.choice.sees {
            Some(Sees::Event(_)) => self.source.is_some(),
            _ => true,
        };
        self.verdict == Verdict::Wrong && source_is_there
    }
}

impl Follower {
    pub(crate) fn new(future: &Future) -> Self {
        let followed = |choice: &FutureChoice| Followed {
            choice: choice.clone(),
            receives: 0,
            sends: 0,
            receive: None,
            source: None,
            verdict: Verdict::Open,
        };
        Follower {
            choices: future.choices().iter().map(followed).collect(),
            positions: Vec::new(),
            threads: Vec::new(),
            noted: 0,
        }
    }

    /// An execution begins.
    pub(crate) fn reset(&mut self) {
        self.positions.clear();
        self.threads.clear();
        self.noted = 0;
        for one in &mut self.choices {
            (one.receives, one.sends) = (0, 0);
            (one.receive, one.source) = (None, None);
            one.verdict = Verdict::Open;
        }
    }

    /// Takes note of what has happened since it was last asked.
    pub(crate) fn note(&mut self, execution: &Execution) {
        while let Some(event) = execution.events.get(self.noted) {
            let thread = event.id.thread.index();
            if self.positions.len() <= thread {
                self.positions.resize(thread + 1, Vec::new());
                self.threads.resize(thread + 1, Vec::new());
            }
            if self.positions[thread].is_empty() {
                self.threads[thread] = self.roles(event.id.thread, execution);
            }
            self.positions[thread].push(self.noted);
            self.noted += 1;
            for index in 0..self.choices.len() {
                self.note_for(index, event, execution);
            }
        }
    }

    /// For each choice, whether it is this thread that receives, and that sends.
    fn roles(&self, thread: ThreadId, execution: &Execution) -> Vec<(bool, bool)> {
        let is = |point: &Point| is_thread(execution, thread, &point.thread);
        let choices = self.choices.iter().map(|one| &one.choice);
        choices
            .map(|choice| match &choice.sees {
                Some(Sees::Event(source)) => (is(&choice.receive), is(source)),
                _ => (is(&choice.receive), false),
            })
            .collect()
    }

    fn note_for(&mut self, index: usize, event: &Event, execution: &Execution) {
        let FutureChoice { receive, sees, .. } = &self.choices[index].choice;
        let operation = &event.operation;
        let (is_receiver, is_sender) = self.threads[event.id.thread.index()][index];
        let sends = match sees {
            Some(Sees::Event(source)) if is_sender => {
                let wrote = !matches!(operation, Operation::Update { .. }) || event.writes();
                (wrote && counts(source, operation, Role::Sends, execution))
                    .then_some(source.occurrence)
            }
            _ => None,
        };
        let receives = is_receiver && counts(receive, operation, Role::Receives, execution);
        let is_it = receives && self.choices[index].receives == receive.occurrence;
        let verdict = match is_it && self.is_seen(index, event, event.source, execution) {
            true => Verdict::Fits,
            false => Verdict::Wrong,
        };
        let one = &mut self.choices[index];
        if is_it {
            one.receive = Some(event.id);
            one.verdict = verdict;
        }
        one.receives += u32::from(receives);
        if let Some(occurrence) = sends {
            if one.sends == occurrence {
                one.source = Some(event.id);
            }
            one.sends += 1;
        }
    }

    /// Whether an event that has this source sees what it is to see, and turns out as it is to.
    fn is_seen(
        &self,
        index: usize,
        event: &Event,
        source: Option<EventId>,
        execution: &Execution,
    ) -> bool {
        let one = &self.choices[index];
        let outcome = seen(event).map_or(event.outcome, |seen| seen.outcome);
        let turns_out = one.choice.outcome.is_none_or(|wanted| wanted == outcome);
        turns_out && self.sees(index, &event.operation, source, execution)
    }

    /// Whether it is the right source.
    pub(crate) fn sees(
        &self,
        index: usize,
        operation: &Operation,
        source: Option<EventId>,
        execution: &Execution,
    ) -> bool {
        let one = &self.choices[index];
        match &one.choice.sees {
            None => true,
            Some(Sees::Initial) => {
                let is_whole = parts(&one.choice.receive.thing).0.is_none();
                self.sent(operation, source, is_whole, execution).is_none()
            }
            Some(Sees::Event(point)) => {
                let is_whole = parts(&point.thing).0.is_none();
                one.source.is_some()
                    && self.sent(operation, source, is_whole, execution) == one.source
            }
        }
    }

    /// The last call of those before that sent anything, if it is calls that are looked at; the source
    /// itself otherwise.
    fn sent(
        &self,
        operation: &Operation,
        mut source: Option<EventId>,
        is_whole: bool,
        execution: &Execution,
    ) -> Option<EventId> {
        let Operation::Call { call, .. } = operation else {
            return source;
        };
        if !is_whole || call.is_silent() {
            return source;
        }
        loop {
            let event = &execution.events[self.position(source?)];
            if does(&event.operation, Role::Sends, execution) {
                return source;
            }
            source = event.source;
        }
    }

    /// Where an event is in the order of the run.
    pub(crate) fn position(&self, id: EventId) -> usize {
        self.positions[id.thread.index()][id.index as usize]
    }

    /// How many events a thread has.
    pub(crate) fn count(&self, thread: ThreadId) -> u32 {
        let events = self.positions.get(thread.index());
        events.map_or(0, |events| events.len() as u32)
    }

    /// How many choices fit.
    pub(crate) fn fitting(&self) -> usize {
        let fitting = self.choices.iter();
        fitting.filter(|one| one.verdict == Verdict::Fits).count()
    }

    /// Whether all do.
    pub(crate) fn fits(&self) -> bool {
        self.fitting() == self.choices.len()
    }

    /// Those that do not.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = &Followed> {
        let choices = self.choices.iter();
        choices.filter(|one| one.verdict == Verdict::Wrong)
    }
}

/// Whether the call takes something that others have to wait for then.
pub(crate) fn takes(call: &Call) -> bool {
    !call.gives_back() && !call.is_silent()
}
