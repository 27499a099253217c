//! Matches a running execution against an alternative.

use super::seen;
use super::text::{Alternative, AlternativeChoice, AlternativeSource, Point};
use crate::base::ids::{EventId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::naming::{is_called, is_thread, things};
use crate::model::operation::Operation;
use crate::object::{Call, Exclusion};

/// Follows an execution event by event.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    pub(crate) choices: Vec<Followed>,
    /// By thread: positions of its events in the order of the run.
    positions: Vec<Vec<usize>>,
    /// By thread: for each choice, true for the receiving thread, and true for the sending one.
    /// Known from the thread's first event on.
    threads: Vec<Vec<(bool, bool)>>,
    noted: usize,
}

/// One choice of the alternative.
#[derive(Clone, Debug)]
pub(crate) struct Followed {
    pub(crate) choice: AlternativeChoice,
    /// Number of receives and of sends so far at the points of the choice.
    pub(crate) receives: u32,
    pub(crate) sends: u32,
    /// The receive, and its wanted source, once they have been performed.
    pub(crate) receive: Option<EventId>,
    pub(crate) source: Option<EventId>,
    pub(crate) verdict: Verdict,
}

/// Result of a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The receive has not been performed.
    Open,
    /// It has the wanted source.
    Fits,
    /// It has another source.
    Wrong,
}

/// Role of an event at a point of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Receives,
    Sends,
}

/// Splits `unlock(state)` into the operation and the thing.
pub(super) fn parts(thing: &str) -> (Option<&str>, &str) {
    match thing.strip_suffix(')').and_then(|it| it.split_once('(')) {
        Some((operation, thing)) => (Some(operation), thing),
        None => (None, thing),
    }
}

/// Returns the thing of a point.
pub(crate) fn thing(point: &Point) -> &str {
    parts(&point.thing).1
}

/// True when the operation is counted at the point.
pub(crate) fn fits(
    point: &Point,
    thread: ThreadId,
    operation: &Operation,
    role: Role,
    execution: &Execution,
) -> bool {
    is_thread(execution, thread, &point.thread) && counts(point, operation, role, execution)
}

/// True when the operation is counted at the point, given that the thread matches.
fn counts(point: &Point, operation: &Operation, role: Role, execution: &Execution) -> bool {
    let (label, name) = parts(&point.thing);
    let is_meant = match label {
        Some(label) => operation.label() == label,
        None => does(operation, role, execution),
    };
    is_meant && is_done_to(operation, name, execution)
}

/// True when the operation is on the thing of this name, or has this label itself if it is on
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

/// True when the operation receives or sends something if it succeeds.
pub(crate) fn does(operation: &Operation, role: Role, execution: &Execution) -> bool {
    match (operation, role) {
        (Operation::Update { .. }, _) => true,
        (Operation::Call { call, .. }, Role::Receives) => !call.is_silent() && !call.gives_back(),
        (Operation::Call { object, call }, Role::Sends) => {
            let object = &execution.objects[object.index()];
            call.gives_back() || object.exclusion() == Exclusion::None && !call.is_silent()
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

impl Followed {
    /// True when the receive had another source although the wanted one existed.
    pub(super) fn is_plainly_wrong(&self) -> bool {
        let source_is_there = match self.choice.sees {
            Some(AlternativeSource::Event(_)) => self.source.is_some(),
            _ => true,
        };
        self.verdict == Verdict::Wrong && source_is_there
    }
}

impl Follower {
    pub(crate) fn new(alternative: &Alternative) -> Self {
        let followed = |choice: &AlternativeChoice| Followed {
            choice: choice.clone(),
            receives: 0,
            sends: 0,
            receive: None,
            source: None,
            verdict: Verdict::Open,
        };
        Follower {
            choices: alternative.choices().iter().map(followed).collect(),
            positions: Vec::new(),
            threads: Vec::new(),
            noted: 0,
        }
    }

    /// Starts an execution.
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

    /// Processes the events since the last call.
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

    /// Returns for each choice whether this thread receives, and whether it sends.
    fn roles(&self, thread: ThreadId, execution: &Execution) -> Vec<(bool, bool)> {
        let is = |point: &Point| is_thread(execution, thread, &point.thread);
        let choices = self.choices.iter().map(|one| &one.choice);
        choices
            .map(|choice| match &choice.sees {
                Some(AlternativeSource::Event(source)) => (is(&choice.receive), is(source)),
                _ => (is(&choice.receive), false),
            })
            .collect()
    }

    fn note_for(&mut self, index: usize, event: &Event, execution: &Execution) {
        let AlternativeChoice { receive, sees, .. } = &self.choices[index].choice;
        let operation = &event.operation;
        let (is_receiver, is_sender) = self.threads[event.id.thread.index()][index];
        let sends = match sees {
            Some(AlternativeSource::Event(source)) if is_sender => {
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

    /// True when an event with this source satisfies the choice, outcome included.
    fn is_seen(
        &self,
        index: usize,
        event: &Event,
        source: Option<EventId>,
        execution: &Execution,
    ) -> bool {
        let one = &self.choices[index];
        let seen = seen(event).map(|seen| seen.outcome);
        let outcome = seen.unwrap_or(event.outcome.resolution());
        let turns_out = one
            .choice
            .outcome
            .is_none_or(|wanted| wanted == outcome.number());
        turns_out && self.sees(index, &event.operation, source, execution)
    }

    /// True when the source is the wanted one.
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
            Some(AlternativeSource::Initial) => {
                let is_whole = parts(&one.choice.receive.thing).0.is_none();
                self.sent(operation, source, is_whole, execution).is_none()
            }
            Some(AlternativeSource::Event(point)) => {
                let is_whole = parts(&point.thing).0.is_none();
                one.source.is_some()
                    && self.sent(operation, source, is_whole, execution) == one.source
            }
        }
    }

    /// Returns the last earlier call that sends something, if the choice names calls; else the
    /// source itself.
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

    /// Returns the position of an event in the order of the run.
    pub(crate) fn position(&self, id: EventId) -> usize {
        self.positions[id.thread.index()][id.index as usize]
    }

    /// Returns the number of events of a thread.
    pub(crate) fn count(&self, thread: ThreadId) -> u32 {
        let events = self.positions.get(thread.index());
        events.map_or(0, |events| events.len() as u32)
    }

    /// Returns the number of choices that fit.
    pub(crate) fn fitting(&self) -> usize {
        let fitting = self.choices.iter();
        fitting.filter(|one| one.verdict == Verdict::Fits).count()
    }

    /// True when all choices fit.
    pub(crate) fn fits(&self) -> bool {
        self.fitting() == self.choices.len()
    }

    /// Returns the choices that are wrong.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = &Followed> {
        let choices = self.choices.iter();
        choices.filter(|one| one.verdict == Verdict::Wrong)
    }
}

/// True when the call acquires something that blocks others.
pub(crate) fn takes(call: &Call) -> bool {
    !call.gives_back() && !call.is_silent()
}
