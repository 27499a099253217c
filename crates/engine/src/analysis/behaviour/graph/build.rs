//! Builds the graph of a program from its classes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::super::judge::is_whole;
use super::super::order::ClassOrder;
use super::{BehaviourEnding, BehaviourGraph, BehaviourState, BehaviourTransition};
use crate::base::ids::{EventId, LocationId, ThreadId};
use crate::base::rng::mix;
use crate::memory::Model;
use crate::model::ending::Ending;
use crate::model::event::Event;
use crate::model::execution::{Execution, decides, resolution};
use crate::model::operation::Operation;

/// Maximum states of a graph; more take gigabytes.
pub const MAX_STATES: usize = 500_000;

/// The name of a state: the sum of the names of its events. Two states have equal names with a probability of 2^-128.
type Name = u128;

/// Collects the states of the classes of a program.
#[derive(Debug)]
pub struct GraphBuilder {
    ids: HashMap<Name, usize>,
    states: Vec<BehaviourState>,
    transitions: BTreeSet<BehaviourTransition>,
    max_states: usize,
    /// True when an execution was cut, or there are too many states.
    is_cut: bool,
    is_full: bool,
    is_exact: bool,
}

impl GraphBuilder {
    /// Creates a graph without classes, with at most this number of states.
    #[must_use]
    pub fn new(max_states: usize) -> Self {
        GraphBuilder {
            ids: HashMap::new(),
            states: Vec::new(),
            transitions: BTreeSet::new(),
            max_states,
            is_cut: false,
            is_full: false,
            is_exact: true,
        }
    }

    /// True when some execution was cut, so that states are missing.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// True when there are more states than allowed, so that some are missing.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// False when some states may be those of no run, because of weak memory.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the graph.
    #[must_use]
    pub fn finish(self) -> BehaviourGraph {
        BehaviourGraph {
            states: self.states,
            transitions: self.transitions.into_iter().collect(),
        }
    }

    /// Returns the number of a state, and true if it is new.
    fn state(&mut self, name: Name) -> (usize, bool) {
        let next = self.states.len();
        let id = *self.ids.entry(name).or_insert(next);
        if id == next {
            self.states.push(BehaviourState::default());
        }
        (id, id == next)
    }

    /// Adds all states of the class of an execution.
    pub fn add(&mut self, execution: &Execution, ending: &Ending, model: Model) {
        if !is_whole(execution, ending) {
            self.is_cut |= !matches!(ending, Ending::Discarded);
            return;
        }
        if self.is_full {
            return;
        }
        let class = Class::of(execution, model);
        self.is_exact &= class.order.is_exact();
        let start = vec![0; class.threads.len()];
        let mut visited: HashSet<Vec<u32>> = HashSet::new();
        let mut open = vec![start];
        while let Some(done) = open.pop() {
            let name = class.name(&done);
            let (from, is_new) = self.state(name);
            if is_new {
                self.states[from].values = class.values(&done);
            }
            let next: Vec<usize> = class.next(&done).collect();
            if next.is_empty() {
                self.states[from].ending = Some(match ending {
                    Ending::Deadlock => BehaviourEnding::Deadlock,
                    Ending::Livelock => BehaviourEnding::Livelock,
                    _ => BehaviourEnding::Complete,
                });
            }
            for position in next {
                if self.states.len() >= self.max_states {
                    self.is_full = true;
                    return;
                }
                let mut after = done.clone();
                after[execution.events[position].id.thread.index()] += 1;
                self.step(from, name, &class, position, &after);
                if visited.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
    }

    /// Adds the transitions of an event: one for each of its labels, or an internal one.
    fn step(&mut self, from: usize, name: Name, class: &Class<'_>, position: usize, after: &[u32]) {
        let labels = &class.labels[position];
        let mut from = from;
        for (number, label) in labels
            .iter()
            .enumerate()
            .take(labels.len().saturating_sub(1))
        {
            let middle = name ^ spread(class.names[position].wrapping_add(number as u128 + 1));
            let (to, is_new) = self.state(middle);
            if is_new {
                self.states[to].values = class.values(after);
            }
            let label = Some((*label).to_owned());
            self.transitions
                .insert(BehaviourTransition { from, label, to });
            from = to;
        }
        let (to, is_new) = self.state(class.name(after));
        if is_new {
            self.states[to].values = class.values(after);
        }
        let label = labels.last().map(|label| (*label).to_owned());
        self.transitions
            .insert(BehaviourTransition { from, label, to });
    }
}

/// The events of a class, by which its states are named.
struct Class<'a> {
    execution: &'a Execution,
    order: ClassOrder,
    /// By thread: positions of its events.
    threads: Vec<Vec<usize>>,
    /// By position.
    names: Vec<Name>,
    labels: Vec<Vec<&'a str>>,
    /// By location with a label: its writes in coherence order, with their values.
    values: Vec<(String, u64, Vec<(EventId, u64)>)>,
    /// Under weak memory, by location: its writes in coherence order.
    writes: Vec<Vec<usize>>,
}

impl<'a> Class<'a> {
    fn of(execution: &'a Execution, model: Model) -> Self {
        let order = ClassOrder::of(execution, model);
        let events = &execution.events;
        let mut threads = vec![Vec::new(); execution.threads.len()];
        let mut labels = vec![Vec::new(); events.len()];
        let mut at = HashMap::new();
        for (position, event) in events.iter().enumerate() {
            threads[event.id.thread.index()].push(position);
            at.insert(event.id, position);
        }
        for label in &execution.labels {
            if let Some(&position) = at.get(&label.event) {
                labels[position].push(&*label.text);
            }
        }
        let coherence = coherence(execution);
        let value = |event: &Event| match event.operation {
            Operation::Store { value, .. } => value,
            Operation::Update { update, .. } => {
                update.apply(event.reply.to_value(), event.outcome.fails_spuriously())
            }
            _ => None,
        };
        let names = &execution.location_names;
        let labelled = execution
            .locations
            .iter()
            .enumerate()
            .filter_map(|(index, location)| {
                let name = names.label(index)?.to_owned();
                let writes = coherence[index]
                    .iter()
                    .filter_map(|&position| Some((events[position].id, value(&events[position])?)));
                Some((name, location.initial, writes.collect()))
            });
        let values = labelled.collect();
        let writes = match order.is_exact() {
            true => Vec::new(),
            false => coherence,
        };
        let names = event_names(execution, &at, order.is_exact());
        Class {
            execution,
            order,
            threads,
            names,
            labels,
            values,
            writes,
        }
    }

    fn has(&self, done: &[u32], event: EventId) -> bool {
        done[event.thread.index()] > event.index
    }

    /// Returns the positions of events that can be next.
    fn next<'s>(&'s self, done: &'s [u32]) -> impl Iterator<Item = usize> + 's {
        let events = &self.execution.events;
        let threads = self.threads.iter().zip(done);
        let next = threads.filter_map(|(events, &done)| events.get(done as usize).copied());
        next.filter(move |&position| {
            let needs = self.order.needs(position);
            needs
                .iter()
                .all(|&earlier| self.has(done, events[earlier].id))
        })
    }

    /// Returns the name of a state.
    fn name(&self, done: &[u32]) -> Name {
        let mut sum: Name = 0;
        for (events, &done) in self.threads.iter().zip(done) {
            for &position in &events[..done as usize] {
                sum = sum.wrapping_add(self.names[position]);
            }
        }
        // Coherence among the writes of the state; under sequential consistency, names of events have it.
        for writes in &self.writes {
            let mut previous = None;
            for &write in writes {
                if self.has(done, self.execution.events[write].id) {
                    let pair = previous.map_or(1, |before: usize| self.names[before]);
                    sum = sum.wrapping_add(spread(pair ^ self.names[write].rotate_left(7)));
                    previous = Some(write);
                }
            }
        }
        sum
    }

    /// Returns the values of the labelled locations in a state.
    fn values(&self, done: &[u32]) -> BTreeMap<String, u64> {
        let latest = |(name, initial, writes): &(String, u64, Vec<(EventId, u64)>)| {
            let last = writes.iter().rfind(|(write, _)| self.has(done, *write));
            (name.clone(), last.map_or(*initial, |&(_, value)| value))
        };
        self.values.iter().map(latest).collect()
    }
}

/// Returns the positions of the writes of each location in coherence order.
fn coherence(execution: &Execution) -> Vec<Vec<usize>> {
    let mut next: HashMap<(LocationId, Option<EventId>), (EventId, usize)> = HashMap::new();
    for (position, event) in execution.events.iter().enumerate() {
        if let Some(location) = event.operation.location()
            && event.writes()
        {
            next.insert((location, event.source), (event.id, position));
        }
    }
    let of = |index: usize| {
        let mut writes = Vec::new();
        let mut last = None;
        while let Some(&(event, position)) = next.get(&(LocationId::new(index), last)) {
            writes.push(position);
            last = Some(event);
            if writes.len() > execution.events.len() {
                break;
            }
        }
        writes
    };
    (0..execution.locations.len()).map(of).collect()
}

/// Returns names of events that do not depend on the order of the run.
fn event_names(
    execution: &Execution,
    at: &HashMap<EventId, usize>,
    has_coherence: bool,
) -> Vec<Name> {
    let paths: Vec<Name> = (0..execution.threads.len())
        .map(|thread| {
            let path = execution.path(ThreadId::new(thread));
            let steps = path.steps().iter();
            steps.fold(1, |name: Name, &step| {
                spread(name.wrapping_add(u128::from(step)))
            })
        })
        .collect();
    let mut names: Vec<Name> = vec![0; execution.events.len()];
    for (position, event) in execution.events.iter().enumerate() {
        let own = |id: EventId| spread(paths[id.thread.index()] ^ (u128::from(id.index) << 64));
        // Sources come earlier in the run, but for the coherence of weak memory.
        let of_source = |id: EventId| at.get(&id).map_or(0, |&source| names[source]);
        let mut name = own(event.id);
        let is_store = matches!(
            event.operation,
            Operation::Store { .. } | Operation::HangUp { .. }
        );
        let mut mix_in = |part: Name| name = spread(name ^ part.rotate_left(31));
        if decides(&event.operation) && (has_coherence || !is_store) {
            mix_in(event.source.map_or(3, of_source));
            let outcome = resolution(&event.operation, event.outcome, event.reply);
            mix_in(u128::from(outcome.number()) + 5);
        }
        if let Operation::Receive { .. } = event.operation {
            let found = event.reply.result().unwrap_or_default();
            mix_in(
                found
                    .bytes()
                    .fold(7, |sum, byte| sum * 31 + u128::from(byte)),
            );
        }
        if let Some((name, members)) = execution.group(event) {
            mix_in(own(name));
            let mut members: Vec<Name> = members.iter().map(|it| paths[it.index()]).collect();
            members.sort_unstable();
            members.into_iter().for_each(mix_in);
        }
        names[position] = name;
    }
    names
}

/// Spreads every bit of the input over the whole output.
fn spread(value: u128) -> u128 {
    let (high, low) = ((value >> 64) as u64, value as u64);
    let first = mix(
        low.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ mix(high.wrapping_add(0x632b_e59b_d9b4_e019))
    );
    let second = mix(high.wrapping_add(first) ^ low.rotate_left(32));
    (u128::from(second) << 64) | u128::from(first)
}
