//! A candidate as events and the relations between them.

use std::sync::atomic::Ordering;

use super::candidate::{Action, Name, Source};
use super::program::{LOCATIONS, Location};
use super::relation::{Relation, Set, members};

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// Reads, perhaps as the first half of an update.
    Read(Location),
    /// Writes, perhaps as the second half of an update.
    Write(Location),
    /// A fence.
    Fence,
    /// Begins or ends a thread, or starts or joins one.
    Thread,
}

/// One event. An update is two of one name.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Its name; `None` if it is an initial write.
    pub name: Option<Name>,
    /// Its kind.
    pub kind: EventKind,
    /// Its ordering, if it has one. An initial write has none.
    pub ordering: Option<Ordering>,
}

/// A candidate without the order of the writes to each location.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The events; the initial writes come first, by location.
    pub events: Vec<Event>,
    /// `sb`: program order.
    pub program: Relation,
    /// `rf`: from each write to its reads.
    pub reads_from: Relation,
    /// `rmw`: from the read of an update to its write.
    pub updates: Relation,
    /// From the initial writes to everything, from starting a thread to its begin, from its end to
    /// joining it.
    pub threads: Relation,
    /// The values read, thread by thread with main last, in program order.
    pub values: Vec<i32>,
}

impl Graph {
    /// Returns the graph of a candidate.
    pub fn new(candidate: &[Vec<Action>]) -> Self {
        let mut events: Vec<_> = (0..LOCATIONS)
            .map(|location| Event {
                name: None,
                kind: EventKind::Write(Location(location)),
                ordering: None,
            })
            .collect();
        let mut sources = Vec::new();
        for (number, actions) in candidate.iter().enumerate() {
            for (position, action) in (0..).zip(actions) {
                let first = events.len();
                events.extend(halves((number, position), action));
                if let Action::Access {
                    read: Some((source, ..)),
                    ..
                } = action
                {
                    sources.push((first, *source));
                }
            }
        }
        let mut graph = Graph {
            program: Relation::empty(events.len()),
            reads_from: Relation::empty(events.len()),
            updates: Relation::empty(events.len()),
            threads: Relation::empty(events.len()),
            values: values(candidate),
            events,
        };
        graph.relate_threads(candidate);
        for (read, source) in sources {
            graph.relate_read(read, source);
        }
        graph
    }

    fn relate_threads(&mut self, candidate: &[Vec<Action>]) {
        let find = |events: &[Event], name: Name| {
            let position = events.iter().position(|event| event.name == Some(name));
            position.expect("there is such an event")
        };
        for (a, first) in self.events.iter().enumerate() {
            for (b, second) in self.events.iter().enumerate() {
                match (first.name, second.name) {
                    (None, Some(_)) => self.threads.add(a, b),
                    (Some(one), Some(other)) if one.0 == other.0 && a < b => {
                        self.program.add(a, b);
                        if one == other {
                            self.updates.add(a, b);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (position, action) in (0..).zip(&candidate[0]) {
            let here = find(&self.events, (0, position));
            match *action {
                Action::Spawn(thread) => {
                    self.threads.add(here, find(&self.events, (thread, 0)));
                }
                Action::Join(thread) => {
                    let end = candidate[thread].len() as u32 - 1;
                    self.threads.add(find(&self.events, (thread, end)), here);
                }
                _ => {}
            }
        }
    }

    fn relate_read(&mut self, read: usize, source: Source) {
        let EventKind::Read(location) = self.events[read].kind else {
            unreachable!("a read");
        };
        let wrote =
            |event: &Event| event.name == source && event.kind == EventKind::Write(location);
        let write = self.events.iter().position(wrote);
        self.reads_from
            .add(write.expect("there is such a write"), read);
    }

    /// Returns the events that satisfy the predicate.
    pub fn set(&self, holds: impl Fn(&Event) -> bool) -> Set {
        let events = self.events.iter().enumerate();
        let held = events.filter(|(_, event)| holds(event));
        held.fold(0, |set, (index, _)| set | 1 << index)
    }

    /// True when both are reads or writes of one location.
    pub fn is_same_location(&self, a: usize, b: usize) -> bool {
        let location = |event: usize| match self.events[event].kind {
            EventKind::Read(location) | EventKind::Write(location) => Some(location),
            EventKind::Fence | EventKind::Thread => None,
        };
        location(a).is_some() && location(a) == location(b)
    }

    /// Returns every `mo`: the orders of the writes to each location, the initial one first.
    pub fn coherence_orders(&self) -> Vec<Relation> {
        let mut found = vec![Relation::empty(self.events.len())];
        for location in (0..LOCATIONS).map(Location) {
            let writes: Vec<_> =
                members(self.set(|event| event.kind == EventKind::Write(location))).collect();
            let mut orders = Vec::new();
            permute(&mut writes.clone(), 1, &mut orders);
            let relations = orders.iter().map(|order| self.in_order(order));
            let relations: Vec<_> = relations.collect();
            found = found
                .iter()
                .flat_map(|before| relations.iter().map(|relation| before.or(relation)))
                .collect();
        }
        found
    }

    /// Returns the number of such orders.
    pub fn count_coherence_orders(&self) -> usize {
        let locations = (0..LOCATIONS).map(Location);
        let counts = locations.map(|location| {
            let writes = self.set(|event| event.kind == EventKind::Write(location));
            (1..writes.count_ones() as usize).product::<usize>()
        });
        counts.product()
    }

    fn in_order(&self, writes: &[usize]) -> Relation {
        let mut relation = Relation::empty(self.events.len());
        for (index, &first) in writes.iter().enumerate() {
            let later = &writes[index + 1..];
            later.iter().for_each(|&second| relation.add(first, second));
        }
        relation
    }
}

/// Appends every order of the items from `fixed` on.
fn permute(items: &mut [usize], fixed: usize, found: &mut Vec<Vec<usize>>) {
    if fixed >= items.len() {
        return found.push(items.to_vec());
    }
    for chosen in fixed..items.len() {
        items.swap(fixed, chosen);
        permute(items, fixed + 1, found);
        items.swap(fixed, chosen);
    }
}

fn halves(name: Name, action: &Action) -> Vec<Event> {
    let event = |kind, ordering| Event {
        name: Some(name),
        kind,
        ordering,
    };
    match *action {
        Action::Begin | Action::End | Action::Spawn(_) | Action::Join(_) => {
            vec![event(EventKind::Thread, None)]
        }
        Action::Fence(ordering) => vec![event(EventKind::Fence, Some(ordering))],
        Action::Access {
            location,
            read,
            write,
        } => {
            let read =
                read.map(|(_, _, ordering)| event(EventKind::Read(location), Some(ordering)));
            let write =
                write.map(|(_, ordering)| event(EventKind::Write(location), Some(ordering)));
            read.into_iter().chain(write).collect()
        }
    }
}

fn values(candidate: &[Vec<Action>]) -> Vec<i32> {
    let threads = candidate[1..].iter().chain([&candidate[0]]);
    let values = threads.flatten().filter_map(|action| match action {
        Action::Access { read, .. } => read.map(|(_, value, _)| value),
        _ => None,
    });
    values.collect()
}
