//! Alternatives: for every receive of an execution, the sources that it could have had instead.
//!
//! A receive may have another source if there is an execution in which everything that the two
//! causally depend on is unchanged, and the receive has that source. Then only what follows the
//! receive is different. Coherence and the arrival order of messages may change. Choosing among the
//! writes that may reach a read is from "Choosing Among Alternative Futures" (MacDonald, Chen and
//! Novillo); whether one is possible is decided here in the same way as the search decides on
//! revisits.

pub(crate) mod follow;
mod order;
mod points;
pub(crate) mod reason;
mod text;
mod trial;
mod weak;
mod work;

pub use points::choice;
pub use reason::{Chain, Why};
pub use text::{
    Alternative, AlternativeChoice, AlternativeError, AlternativeReceive, AlternativeSource, Point,
};

use crate::memory::clock::covers;
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use trial::Trial;
use work::Work;

use crate::base::ids::EventId;
use crate::base::reply::Reply;
use crate::memory::{Model, is_weak};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// An event with a source or with several outcomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Receive {
    /// Position of the event in the order of the run.
    pub position: usize,
    /// Its actual source and outcome, and the alternatives.
    pub alternatives: Vec<Candidate>,
}

/// A source and an outcome of a receive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Candidate {
    /// The write that is read, the message that is taken, or the call completed before; `None` for
    /// the initial value or state, and for no message.
    pub source: Option<EventId>,
    /// The outcome: an alternative that the program left open, the waiter that is woken, 1 for a
    /// spurious failure of a compare-exchange.
    pub outcome: u32,
}

/// Returns the actual source and outcome of an event, if it is a receive.
pub fn seen(event: &Event) -> Option<Candidate> {
    let outcome = match event.operation {
        Operation::Load { .. } | Operation::IsFinished { .. } | Operation::Receive { .. } => 0,
        Operation::Update { .. } => u32::from(event.fails_spuriously()),
        Operation::Choose { .. } | Operation::Chance { .. } => event.outcome,
        Operation::Call { call, .. } if !call.is_silent() && !call.gives_back() => event.outcome,
        _ => return None,
    };
    let source = event.source;
    Some(Candidate { source, outcome })
}

/// Returns every receive of an execution under this memory model, in the order of the run.
pub fn of(execution: &Execution, model: Model) -> Vec<Receive> {
    of_some(execution, model, u64::MAX)
}

/// As [`of`], with a budget of small steps of work, last receives first: those that are undecided
/// then are left out.
pub fn of_some(execution: &Execution, model: Model, work: u64) -> Vec<Receive> {
    let candidates = Candidates {
        execution,
        past: HappensBefore::causes(execution),
        work: Work::new(work),
        is_weak: model == Model::Rc11
            && execution
                .events
                .iter()
                .any(|event| is_weak(&event.operation)),
    };
    let receive = |(position, event): (usize, &Event)| {
        seen(event).filter(|_| !candidates.work.is_over())?;
        let mut alternatives = candidates.of(event);
        alternatives.sort();
        (!candidates.work.is_over()).then_some(Receive {
            position,
            alternatives,
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
        let alternatives = vec![seen(event)?];
        Some(Receive {
            position,
            alternatives,
        })
    };
    let events = execution.events.iter().enumerate();
    events.filter_map(receive).collect()
}

struct Candidates<'a> {
    execution: &'a Execution,
    past: HappensBefore<EveryEvent>,
    is_weak: bool,
    /// Remaining budget.
    work: Work,
}

impl Candidates<'_> {
    fn of(&self, event: &Event) -> Vec<Candidate> {
        match event.operation {
            Operation::Choose { alternatives } => outcomes(alternatives),
            Operation::Chance { .. } => outcomes(2),
            Operation::Call { .. } => self.of_call(event),
            Operation::Receive { .. } => self.of_receive(event),
            _ => self.of_read(event),
        }
    }

    fn depends(&self, event: EventId, on: EventId) -> bool {
        covers(self.past.clock(event), on)
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

    fn is_possible(&self, receive: Event) -> bool {
        let trial = Trial::new(self.execution, &self.past, receive, receive.source);
        self.succeeds(&trial)
    }

    fn succeeds(&self, trial: &Trial<'_>) -> bool {
        let size = self.execution.events.len() * self.execution.threads.len();
        self.work.spend(size)
            && match self.is_weak {
                true => trial.is_possible_weakly(&self.work),
                false => trial.is_possible(&self.work),
            }
    }

    fn of_read(&self, event: &Event) -> Vec<Candidate> {
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
            let ways = match event.operation {
                Operation::Update { update, .. } => update.outcomes(value),
                _ => 1,
            };
            for outcome in 0..ways {
                let receive = Event {
                    source,
                    outcome,
                    reply: Reply::value(value),
                    ..*event
                };
                if self.is_possible(receive) {
                    found.push(Candidate { source, outcome });
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
            Operation::Store { value, .. } => value,
            Operation::Update { update, .. } => {
                let written = update.apply(write.reply.to_value(), 0);
                written.unwrap_or(write.reply.to_value())
            }
            _ => 1,
        }
    }

    /// A call may be completed after any completion that does not depend on it, but not before one
    /// that its thread depends on.
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
                let ways = 0..state.outcomes(call, thread);
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

    /// A receive may take any message that is untaken before it and can be the next.
    fn of_receive(&self, event: &Event) -> Vec<Candidate> {
        let Operation::Receive { ports, wait } = event.operation else {
            unreachable!("only asked for receives");
        };
        let ports = self.execution.port_list(&ports);
        let sends = |other: &Event| match other.operation {
            Operation::Send { port } => ports.contains(&port),
            _ => false,
        };
        let candidates = self.candidates(event, sends).into_iter();
        let possible = candidates.filter(|&source| match source {
            None if wait => event.source.is_none(),
            None => self.is_possible(Event {
                source,
                reply: Reply::received(crate::base::reply::Received::Empty),
                ..*event
            }),
            Some(send) => self.may_take(event, send),
        });
        possible
            .map(|source| Candidate { source, outcome: 0 })
            .collect()
    }

    fn may_take(&self, receive: &Event, send: EventId) -> bool {
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
        !taken(send) && earlier_are_taken && self.succeeds(&trial)
    }
}

fn outcomes(count: u32) -> Vec<Candidate> {
    let all = 0..count;
    all.map(|outcome| Candidate {
        source: None,
        outcome,
    })
    .collect()
}
