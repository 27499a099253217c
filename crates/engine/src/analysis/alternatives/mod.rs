//! Alternatives: for every receive of an execution, the sources that it could have had instead.
//!
//! A receive may have another source if some execution gives it that source and leaves all events
//! on which the two causally depend unchanged. Then only events after the receive differ. Coherence
//! and the arrival order of messages may change. The choice among the writes that may reach a read
//! is from "Choosing Among Alternative Futures" (MacDonald, Chen and Novillo); whether a choice is
//! possible is decided as the search decides on revisits.

pub(crate) mod follow;
mod order;
mod points;
pub(crate) mod reason;
mod text;
mod trial;
mod weak;
mod work;

pub use points::{choice, send};
pub use reason::{Chain, Why};
pub use text::{
    Alternative, AlternativeChoice, AlternativeError, AlternativeReceive, AlternativeSource, Point,
};
pub use work::Budget;

use crate::memory::clock::covers;
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use trial::Trial;
use work::{Possibility, Work};

use crate::base::ids::EventId;
use crate::base::outcome::{Outcome, Resolution};
use crate::base::reply::{Received, Reply};
use crate::memory::psc::SeqCstRules;
use crate::memory::{Model, Weakness};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::{Chance, Operation};

/// An event with a source or with several outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receive {
    /// Position of the event in the order of the run.
    pub position: usize,
    /// Its actual source and outcome, and the alternatives.
    pub alternatives: Vec<Candidate>,
    /// Sources and outcomes for which the analysis gave up: each is an alternative or impossible.
    pub undecided: Vec<Candidate>,
}

/// A source and an outcome of a receive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Candidate {
    /// The write that is read, the message that is taken, or the call completed before; `None` for
    /// the initial value or state, and for no message.
    pub source: Option<EventId>,
    /// The part of the outcome that the source does not determine.
    pub outcome: Resolution,
}

/// Returns the actual source and outcome of an event, if it is a receive.
pub fn seen(event: &Event) -> Option<Candidate> {
    let outcome = match event.operation {
        Operation::Load { .. }
        | Operation::IsFinished { .. }
        | Operation::Receive { .. }
        | Operation::Update { .. }
        | Operation::Choose { .. }
        | Operation::Chance { .. } => event.operation.resolution(event.outcome),
        Operation::Call { call, .. } if !call.is_silent() && !call.gives_back() => {
            event.operation.resolution(event.outcome)
        }
        _ => return None,
    };
    let source = event.source;
    Some(Candidate { source, outcome })
}

/// Returns every receive of an execution under this memory model, in the order of the run.
pub fn of(execution: &Execution, model: Model) -> Vec<Receive> {
    of_some(execution, model, Budget::default())
}

/// Returns receives as [`of`] does, within a budget and from the last receive backwards. Receives
/// for which no work is left are omitted.
pub fn of_some(execution: &Execution, model: Model, budget: Budget) -> Vec<Receive> {
    let operations = execution.events.iter().map(|event| &event.operation);
    let candidates = Candidates {
        execution,
        past: HappensBefore::causes(execution),
        work: Work::new(budget),
        rules: (model.is_weak() && Weakness::of_all(operations).is_weak())
            .then(|| model.seq_cst_rules()),
    };
    let receive = |(position, event): (usize, &Event)| {
        let own = seen(event).filter(|_| !candidates.work.is_over())?;
        let mut found = candidates.of(event);
        found.sort_by_key(|&(candidate, _)| candidate);
        let with = |wanted: Possibility| {
            let with = found.iter().filter(|(_, answer)| *answer == wanted);
            with.map(|&(candidate, _)| candidate).collect()
        };
        let mut undecided: Vec<Candidate> = with(Possibility::Undecided);
        let mut alternatives: Vec<Candidate> = with(Possibility::Possible);
        // The actual source is possible.
        if let Some(at) = undecided.iter().position(|one| *one == own) {
            alternatives.push(undecided.remove(at));
            alternatives.sort();
        }
        Some(Receive {
            position,
            alternatives,
            undecided,
        })
    };
    let events = execution.events.iter().enumerate().rev();
    let mut all: Vec<Receive> = events.filter_map(receive).collect();
    all.reverse();
    all
}

/// Returns every receive of an execution with its actual source only.
pub fn as_seen(execution: &Execution) -> Vec<Receive> {
    let receive = |(position, event): (usize, &Event)| {
        Some(Receive {
            position,
            alternatives: vec![seen(event)?],
            undecided: Vec::new(),
        })
    };
    let events = execution.events.iter().enumerate();
    events.filter_map(receive).collect()
}

struct Candidates<'a> {
    execution: &'a Execution,
    past: HappensBefore<EveryEvent>,
    /// The rules of `SeqCst`, if the execution is weak.
    rules: Option<SeqCstRules>,
    /// Remaining budget.
    work: Work,
}

impl Candidates<'_> {
    /// Returns the candidates that are possible or undecided.
    fn of(&self, event: &Event) -> Vec<(Candidate, Possibility)> {
        let possible = |all: Vec<Candidate>| {
            let all = all.into_iter();
            all.map(|one| (one, Possibility::Possible)).collect()
        };
        match event.operation {
            Operation::Choose { alternatives } => possible(outcomes(alternatives)),
            // The arrival of a writer by then is not analysed.
            Operation::Chance {
                what: Chance::WriterFirst,
            } => {
                let answers = [Possibility::Possible, Possibility::Undecided];
                outcomes(2).into_iter().zip(answers).collect()
            }
            Operation::Chance {
                what: Chance::SpuriousUnpark,
            } => possible(outcomes(2)),
            Operation::Call { .. } => possible(self.of_call(event)),
            Operation::Receive { .. } => self.of_receive(event),
            _ => self.of_read(event),
        }
    }

    fn depends(&self, event: EventId, on: EventId) -> bool {
        self.past.is_covered(on, event)
    }

    /// Returns `None`, and the events for which `holds` is true and that do not depend on the
    /// receive.
    fn candidates(
        &self,
        receive: &Event,
        is_source: impl Fn(&Event) -> bool,
    ) -> Vec<Option<EventId>> {
        let all = self.execution.events.iter();
        let free = all.filter(|event| is_source(event) && !self.depends(event.id, receive.id));
        std::iter::once(None)
            .chain(free.map(|event| Some(event.id)))
            .collect()
    }

    fn decide(&self, receive: Event) -> Possibility {
        let trial = Trial::new(self.execution, &self.past, receive, receive.source);
        self.decide_trial(&trial)
    }

    fn decide_trial(&self, trial: &Trial<'_>) -> Possibility {
        let size = self.execution.events.len() * self.execution.threads.len();
        match (self.work.spend(size), self.rules) {
            (false, _) => Possibility::Undecided,
            (true, Some(rules)) => trial.decide_weakly(rules, &self.work),
            (true, None) => trial.decide(&self.work),
        }
    }

    fn of_read(&self, event: &Event) -> Vec<(Candidate, Possibility)> {
        let target = match event.operation {
            Operation::IsFinished { target } => Some(target),
            _ => None,
        };
        let location = event.operation.location();
        let writes = |other: &Event| match target {
            Some(target) => other.id.thread == target && other.operation == Operation::End,
            None => other.operation.location() == location && other.writes(),
        };
        let mut found = Vec::new();
        for source in self.candidates(event, writes) {
            let value = self.value(event, source);
            let reply = match target {
                Some(_) => Reply::answer(source.is_some()),
                None => Reply::value(value),
            };
            let ways = match event.operation {
                Operation::Update { update, .. } => update.outcomes(value),
                _ => 1,
            };
            for outcome in Resolution::all(ways) {
                let receive = Event {
                    source,
                    outcome: Outcome::of_update(0, outcome),
                    reply,
                    ..*event
                };
                let answer = self.decide(receive);
                if answer != Possibility::Impossible {
                    found.push((Candidate { source, outcome }, answer));
                }
            }
        }
        found
    }

    /// Returns the value that a read of this source gives.
    fn value(&self, read: &Event, source: Option<EventId>) -> u64 {
        let Some(source) = source else {
            let location = read.operation.location();
            return location.map_or(0, |it| self.execution.locations[it.index()].initial);
        };
        let write = &self.execution.events[self.past.position(source)];
        match write.operation {
            Operation::Store { value, .. } => value.unwrap_or_default(),
            Operation::Update { update, .. } => {
                let written = update.apply(write.reply.to_value(), false);
                written.unwrap_or(write.reply.to_value())
            }
            _ => 1,
        }
    }

    /// Returns the candidates of a call. It may complete after any completion that does not depend
    /// on it, but not before one that its thread depends on.
    fn of_call(&self, event: &Event) -> Vec<Candidate> {
        let Operation::Call { object, call } = event.operation else {
            unreachable!("only asked for calls");
        };
        let known = self.past.before(event.id);
        let thread = event.id.thread;
        let mut state = self.execution.first_states[object.index()].clone();
        let (mut source, mut found) = (None, Vec::new());
        let completed = self.execution.events.iter().filter(|other| {
            matches!(other.operation, Operation::Call { object: of, call } if of == object && !call.is_silent())
        });
        let mut offer = |state: &crate::object::Object, source: Option<EventId>| {
            if state.open(call, thread) {
                let ways = Resolution::all(state.outcomes(call, thread));
                found.extend(ways.map(|outcome| Candidate { source, outcome }));
            }
        };
        let mut left = completed
            .take_while(|other| other.id != event.id)
            .peekable();
        loop {
            let knows_next = left.peek().is_some_and(|next| covers(&known, next.id));
            if !knows_next {
                offer(&state, source);
            }
            let Some(next) = left.next() else { break };
            let Operation::Call { call, .. } = next.operation else {
                unreachable!("only calls are left");
            };
            state.apply(call, next.id.thread, next.outcome);
            source = Some(next.id);
        }
        found
    }

    /// Returns the candidates of a receive: the messages not received before it that can be the
    /// next.
    fn of_receive(&self, event: &Event) -> Vec<(Candidate, Possibility)> {
        let Operation::Receive { ports, wait } = event.operation else {
            unreachable!("only asked for receives");
        };
        let ports = self.execution.port_list(&ports);
        let sends = |other: &Event| match other.operation {
            Operation::Send { port } => ports.contains(&port),
            _ => false,
        };
        let candidates = self.candidates(event, sends).into_iter();
        let outcome = Resolution::FIRST;
        let decided = candidates.map(|source| {
            let answer = match source {
                None if wait => event.source.is_none().into(),
                None => self.decide(Event {
                    source,
                    reply: Reply::received(Received::Empty),
                    ..*event
                }),
                Some(send) => self.may_take(event, send),
            };
            (Candidate { source, outcome }, answer)
        });
        decided
            .filter(|&(_, answer)| answer != Possibility::Impossible)
            .collect()
    }

    fn may_take(&self, receive: &Event, send: EventId) -> Possibility {
        let port = |id: EventId| {
            self.execution.events[self.past.position(id)]
                .operation
                .object()
        };
        let trial = Trial::new(
            self.execution,
            &self.past,
            Event {
                source: Some(send),
                ..*receive
            },
            [send],
        );
        let taken = |message: EventId| {
            trial.events().any(|event| {
                event.id != receive.id
                    && event.source == Some(message)
                    && matches!(event.operation, Operation::Receive { .. })
            })
        };
        let earlier_are_taken = trial.events().all(|event| {
            let is_earlier = matches!(event.operation, Operation::Send { .. })
                && event.id.thread == send.thread
                && event.id.index < send.index
                && port(event.id) == port(send);
            !is_earlier || taken(event.id)
        });
        match !taken(send) && earlier_are_taken {
            true => self.decide_trial(&trial),
            false => Possibility::Impossible,
        }
    }
}

fn outcomes(count: u32) -> Vec<Candidate> {
    let all = Resolution::all(count);
    all.map(|outcome| Candidate {
        source: None,
        outcome,
    })
    .collect()
}
