//! The possible sources of receives, compared with their sources in all schedules.
//!
//! An event is named by everything it depends on. If a receive, with the same past, has a source
//! with the same past in any schedule, then that source is possible in every execution that has
//! both; and if it never does, it is not.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};

use raddle::{Checker, Memory, Strategy};
use raddle_engine::alternatives::{self, Budget, Candidate};
use raddle_engine::memory::Model;
use raddle_engine::{Event, EventId, Execution, Operation, Received};

/// A source and an outcome, by the name of the source's past; 0 if there is no source.
type Sight = (u64, u32);

/// Outcome of a receive that finds no sender left.
const CLOSED: u32 = u32::MAX;

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The names of the pasts of all events of one execution.
struct Pasts<'a> {
    execution: &'a Execution,
    positions: HashMap<EventId, usize>,
    names: HashMap<EventId, u64>,
}

impl<'a> Pasts<'a> {
    fn of(execution: &'a Execution) -> Self {
        let positions = execution.events.iter().map(|event| event.id).zip(0..);
        let mut pasts = Pasts {
            execution,
            positions: positions.collect(),
            names: HashMap::new(),
        };
        for event in &execution.events {
            pasts.name(event.id);
        }
        pasts
    }

    fn event(&self, id: EventId) -> &'a Event {
        &self.execution.events[self.positions[&id]]
    }

    /// Returns the name of the thread's events before this one.
    fn before(&mut self, id: EventId) -> u64 {
        let last = id.index.checked_sub(1);
        last.map_or(1, |index| self.name(EventId { index, ..id }))
    }

    fn name(&mut self, id: EventId) -> u64 {
        if let Some(&known) = self.names.get(&id) {
            return known;
        }
        let event = self.event(id);
        let before = self.before(id);
        let from: Vec<u64> = match event.operation {
            Operation::Store { .. }
            | Operation::Send { .. }
            | Operation::HangUp { .. }
            | Operation::Leads { .. } => Vec::new(),
            Operation::Meet { .. } => vec![self.meeting(event)],
            Operation::Receive { ports, .. } if event.reply.to_received() == Received::Closed => {
                let ports = self.execution.port_list(&ports);
                let hangs_up = |other: &&Event| match other.operation {
                    Operation::HangUp { port, .. } => ports.contains(&port),
                    _ => false,
                };
                let hang_ups: Vec<EventId> = (self.execution.events.iter())
                    .filter(hangs_up)
                    .map(|other| other.id)
                    .collect();
                let names: BTreeSet<u64> = hang_ups.into_iter().map(|id| self.name(id)).collect();
                names.into_iter().collect()
            }
            _ => event.source.map(|id| self.name(id)).into_iter().collect(),
        };
        let outcome = match event.operation {
            Operation::Update { .. } => u32::from(event.fails_spuriously()),
            Operation::Choose { .. } | Operation::Chance { .. } | Operation::Call { .. } => {
                event.outcome.number()
            }
            Operation::Leads { .. } => u32::from(event.reply.to_answer()),
            _ => 0,
        };
        let place = (self.execution.path(id.thread), id.index);
        let name = hash((place, before, from, outcome));
        self.names.insert(id, name);
        name
    }

    /// Returns the name of the pasts of a barrier group's members, and of earlier groups.
    fn meeting(&mut self, event: &Event) -> u64 {
        let (name, members) = self.execution.group(event).expect("threads meet in groups");
        let of_group = |other: &&Event| {
            let group = self.execution.group(other);
            other.operation.object() == event.operation.object()
                && group.is_some_and(|(group, _)| group == name)
        };
        let left: Vec<EventId> = (self.execution.events.iter())
            .filter(of_group)
            .map(|other| other.id)
            .collect();
        let last = |pasts: &Self, thread| {
            let mut own = pasts.execution.events.iter().map(|event| event.id);
            own.rfind(|id| id.thread == thread)
        };
        let mut came = BTreeSet::new();
        for member in members {
            came.insert(match left.iter().find(|id| id.thread == member) {
                Some(&id) => self.before(id),
                // A member that has not continued has no event since.
                None => last(self, member).map_or(1, |id| self.name(id)),
            });
        }
        // The group before is the source of the event that has the group's name.
        let named = self.positions.contains_key(&name).then(|| self.event(name));
        let earlier = named
            .and_then(|event| event.source)
            .map(|id| self.event(id));
        let earlier = earlier.map_or(0, |event| self.meeting(event));
        hash((came, earlier))
    }

    fn sight(&mut self, event: &Event, seen: Candidate) -> Sight {
        match event.operation {
            Operation::Receive { wait: true, .. } if seen.source.is_none() => (0, CLOSED),
            _ => (
                seen.source.map_or(0, |id| self.name(id)),
                seen.outcome.number(),
            ),
        }
    }
}

fn shown(event: &Event) -> String {
    let name = |id: EventId| format!("{}.{}", id.thread.index(), id.index);
    let source = event.source.map_or("nothing".to_owned(), name);
    format!(
        "{}: {:?} sees {source}, {}",
        name(event.id),
        event.operation,
        event.outcome.number()
    )
}

/// The size of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Classes of executions.
    pub classes: usize,
    /// Receives in them.
    pub receives: usize,
    /// Possible sources of these.
    pub alternatives: usize,
    /// Alternatives that an analysis without guesses leaves undecided.
    pub undecided: usize,
}

/// Compares the possible sources in every execution of a program with the sources in all its
/// schedules; `None` if there are more schedules than `max_schedules`.
pub fn compared(
    checker: &Checker,
    memory: Memory,
    max_schedules: u64,
    program: impl Fn() + Send + Sync,
) -> Option<Counts> {
    let checker = checker
        .clone()
        .memory(memory)
        .strategy(Strategy::EnumeratePrivateFirst)
        .max_executions(max_schedules)
        .keep_going(true)
        .shorten(false);
    let mut all: HashMap<u64, Execution> = HashMap::new();
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        let class = all.entry(execution.fingerprint());
        class.or_insert_with(|| execution.clone());
    });
    if !report.exhausted {
        return None;
    }
    let model = match memory {
        Memory::Sc => Model::Sc,
        Memory::Rc11Paper => Model::Rc11Paper,
        _ => Model::Rc11,
    };
    let mut happens: HashMap<(u64, u64), BTreeSet<Sight>> = HashMap::new();
    for execution in all.values() {
        let mut pasts = Pasts::of(execution);
        for event in &execution.events {
            if let Some(seen) = alternatives::seen(event) {
                let sight = pasts.sight(event, seen);
                let receive = (
                    hash(execution.path(event.id.thread)),
                    pasts.before(event.id),
                );
                happens.entry(receive).or_default().insert(sight);
            }
        }
    }
    let mut counts = Counts::default();
    for execution in all.values() {
        counts.classes += 1;
        let mut pasts = Pasts::of(execution);
        for receive in alternatives::of(execution, model) {
            let event = &execution.events[receive.position];
            assert!(
                receive.undecided.is_empty(),
                "decided without a limit of work"
            );
            let offered: BTreeSet<Sight> = (receive.alternatives.iter())
                .map(|&one| pasts.sight(event, one))
                .collect();
            let own = pasts.sight(event, alternatives::seen(event).expect("it is a receive"));
            let there: BTreeSet<u64> = pasts.names.values().copied().collect();
            let name = (
                hash(execution.path(event.id.thread)),
                pasts.before(event.id),
            );
            let possible: BTreeSet<Sight> = (happens[&name].iter().copied())
                .filter(|&(source, _)| source == 0 || there.contains(&source))
                .filter(|&(_, outcome)| outcome != CLOSED || own.1 == CLOSED)
                .collect();
            assert_eq!(
                offered,
                possible,
                "what {} could see in\n{}",
                shown(event),
                (execution.events.iter().map(shown).collect::<Vec<_>>()).join("\n")
            );
            counts.receives += 1;
            counts.alternatives += offered.len();
        }
        counts.undecided += left_undecided(execution, model);
    }
    Some(counts)
}

/// Checks the alternatives of an analysis that gives up at once: the offered ones are possible, and
/// the possible ones are offered or undecided. Returns the number of undecided ones.
fn left_undecided(execution: &Execution, model: Model) -> usize {
    let budget = Budget {
        tries: 0,
        ..Budget::default()
    };
    let whole = alternatives::of(execution, model);
    let some = alternatives::of_some(execution, model, budget);
    assert_eq!(some.len(), whole.len(), "every receive is examined");
    let mut undecided = 0;
    for (some, whole) in some.iter().zip(&whole) {
        let is_possible = |one: &&Candidate| whole.alternatives.contains(one);
        assert!(some.alternatives.iter().all(|one| is_possible(&one)));
        let wrongly_impossible = whole
            .alternatives
            .iter()
            .find(|one| !some.alternatives.contains(one) && !some.undecided.contains(one));
        assert_eq!(wrongly_impossible, None, "{some:?}");
        undecided += some.undecided.iter().filter(is_possible).count();
    }
    undecided
}
