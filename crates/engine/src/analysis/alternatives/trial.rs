//! Decides whether a receive could have had another source: the causal past of the two, with the
//! receive taking that source, must be consistent.
//!
//! Under sequential consistency, there must be a linearization of all events. Otherwise
//! happens-before is known, and the writes of each location must have a consistent coherence order.
//! In both cases edges are added that follow from known ones; where none follows, both orders of
//! two writes are tried. The problem is NP-hard in general (Gibbons and Korach, 1997). In practice
//! hardly any pair is left to try; if there are too many, the answer is undecided.

use std::collections::HashMap;

use super::order::Order;
use super::weak;
use super::work::{Possibility, Work};
use crate::base::ids::{EventId, ObjectId};
use crate::memory::clock::{covers, join};
use crate::memory::happens_before::{EveryEvent, HappensBefore};
use crate::memory::psc::SeqCstRules;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::{Operation, Ports};
use crate::object::Object;

/// A causally closed part of an execution, followed by a receive.
pub(super) struct Trial<'a> {
    pub(super) execution: &'a Execution,
    past: &'a HappensBefore<EveryEvent>,
    /// By thread, the number of its events in the part, without the receive.
    clock: Vec<u32>,
    /// The receive with its new source.
    pub(super) receive: Event,
    /// Causal past of the receive.
    own: Vec<u32>,
}

/// Reads and writes of one location.
#[derive(Default)]
pub(super) struct Accesses {
    pub(super) writes: Vec<EventId>,
    /// Reads, each with its source.
    pub(super) reads: Vec<(EventId, Option<EventId>)>,
}

impl<'a> Trial<'a> {
    /// Creates the trial of a receive with a source that does not depend on it.
    pub(super) fn new(
        execution: &'a Execution,
        past: &'a HappensBefore<EveryEvent>,
        receive: Event,
        sources: impl IntoIterator<Item = EventId>,
    ) -> Self {
        let mut clock = past.before(receive.id);
        for source in sources {
            join(&mut clock, &past.clock(source));
        }
        let mut own = clock.clone();
        own[receive.id.thread.index()] = receive.id.index + 1;
        Trial {
            execution,
            past,
            clock,
            receive,
            own,
        }
    }

    /// Returns the events, the receive last.
    pub(super) fn events(&self) -> impl Iterator<Item = &Event> + '_ {
        let all = self.execution.events.iter();
        all.filter(|event| covers(&self.clock, event.id))
            .chain(std::iter::once(&self.receive))
    }

    /// Decides whether it is consistent under RC11.
    pub(super) fn decide_weakly(&self, rules: SeqCstRules, work: &Work) -> Possibility {
        match self.receive.operation {
            Operation::Receive { .. } => self.order().is_some().into(),
            _ => weak::decide(self, rules, work),
        }
    }

    /// Decides whether it is sequentially consistent.
    pub(super) fn decide(&self, work: &Work) -> Possibility {
        let all = self.accesses();
        if let Some(answer) = self.at_a_glance(&all) {
            return answer.into();
        }
        let search = Search { all: &all, work };
        match self.order() {
            Some(order) => search.linearise(order, &mut work.tries()),
            None => Possibility::Impossible,
        }
    }

    /// Decides sequential consistency in simple cases. The receive depends on all other events, so
    /// it comes last, and all other writes must precede its source. That may hold if the source,
    /// and the events that depend on it, are placed as late as possible.
    fn at_a_glance(&self, all: &[Accesses]) -> Option<bool> {
        let reads = |one: &&Accesses| one.reads.iter().any(|&(id, _)| id == self.receive.id);
        let writes = &all.iter().find(reads)?.writes;
        let mut others = writes.iter().filter(|&&write| write != self.receive.id);
        let Some(source) = self.receive.source else {
            return Some(others.next().is_none());
        };
        let comes_later =
            |&&write: &&EventId| write != source && self.past.is_covered(source, write);
        if others.any(|write| comes_later(&write)) {
            return Some(false);
        }
        let is_port = |object: &Object| matches!(object, Object::Port(_));
        if self.execution.objects.iter().any(is_port) {
            return None;
        }
        let is_put_off =
            |event: &&Event| event.id == self.receive.id || self.past.is_covered(source, event.id);
        let first = self.events().filter(|event| !is_put_off(event));
        let line = first.chain(self.events().filter(is_put_off));
        is_right(line.map(|event| event.id), all).then_some(true)
    }

    /// Returns the accesses of each location. The end of a thread is a location too.
    pub(super) fn accesses(&self) -> Vec<Accesses> {
        let locations = self.execution.locations.len();
        let threads = self.execution.threads.len();
        let mut all: Vec<Accesses> = Vec::new();
        all.resize_with(locations + threads, Accesses::default);
        for event in self.events() {
            let (place, reads, writes) = match event.operation {
                Operation::End => (locations + event.id.thread.index(), false, true),
                Operation::IsFinished { target } => (locations + target.index(), true, false),
                operation => match operation.location() {
                    Some(location) => (location.index(), !event.is_store(), event.writes()),
                    None => continue,
                },
            };
            if writes {
                all[place].writes.push(event.id);
            }
            if reads {
                all[place].reads.push((event.id, event.source));
            }
        }
        all.retain(|one| !one.reads.is_empty() || one.writes.len() > 1);
        all
    }

    /// Returns the order that follows from all rules but those of memory; `None` if it is cyclic.
    fn order(&self) -> Option<Order> {
        let mut order = Order::new(self.execution.threads.len());
        for event in self.events() {
            match event.id == self.receive.id {
                true => order.push(event.id, &self.own),
                false => order.push(event.id, &self.past.clock(event.id)),
            }
        }
        for (index, object) in self.execution.objects.iter().enumerate() {
            if let Object::Port(port) = object
                && !self.deliver(ObjectId::new(index), port.is_ordered(), &mut order)
            {
                return None;
            }
        }
        Some(order)
    }

    /// Orders the sends of an ordered port by their receives, and a receive that found the port
    /// empty before the next send.
    fn deliver(&self, port: ObjectId, ordered: bool, order: &mut Order) -> bool {
        let is_of = |ports: &Ports| self.execution.port_list(ports).contains(&port);
        let sends: Vec<EventId> = self
            .events()
            .filter(|event| matches!(event.operation, Operation::Send { port: of } if of == port))
            .map(|event| event.id)
            .collect();
        let mut taken: Vec<EventId> = Vec::new();
        let mut fits = true;
        for event in self.events() {
            let Operation::Receive { ports, wait } = event.operation else {
                continue;
            };
            if !is_of(&ports) {
                continue;
            }
            match event.source {
                Some(send) if sends.contains(&send) => {
                    if let Some(&last) = taken.last()
                        && ordered
                    {
                        fits &= order.add(last, send);
                    }
                    taken.push(send);
                }
                None if !wait => {
                    for &send in sends.iter().filter(|send| !taken.contains(send)) {
                        fits &= order.add(event.id, send);
                    }
                }
                _ => {}
            }
        }
        if let Some(&last) = taken.last()
            && ordered
        {
            for &send in sends.iter().filter(|send| !taken.contains(send)) {
                fits &= order.add(last, send);
            }
        }
        fits
    }
}

/// True when every read takes the last write before it.
fn is_right(line: impl Iterator<Item = EventId>, all: &[Accesses]) -> bool {
    let mut writers: HashMap<EventId, usize> = HashMap::new();
    let mut readers: HashMap<EventId, (usize, Option<EventId>)> = HashMap::new();
    for (location, Accesses { writes, reads }) in all.iter().enumerate() {
        writers.extend(writes.iter().map(|&write| (write, location)));
        readers.extend(
            reads
                .iter()
                .map(|&(read, source)| (read, (location, source))),
        );
    }
    let mut last: Vec<Option<EventId>> = vec![None; all.len()];
    for id in line {
        if let Some(&(location, source)) = readers.get(&id)
            && source != last[location]
        {
            return false;
        }
        if let Some(&location) = writers.get(&id) {
            last[location] = Some(id);
        }
    }
    true
}

/// Searches for a linearization.
struct Search<'a> {
    all: &'a [Accesses],
    work: &'a Work,
}

impl Search<'_> {
    /// Decides whether there is a linearization in which every read takes the last write before it.
    fn linearise(&self, mut order: Order, tries: &mut u32) -> Possibility {
        if !self.follow(&mut order) {
            return self.refusal();
        }
        let Some((first, second)) = self.unordered(&order) else {
            return Possibility::Possible;
        };
        let mut with = |first: EventId, second: EventId| {
            let Some(left) = tries.checked_sub(1) else {
                return Possibility::Undecided;
            };
            *tries = left;
            let mut order = order.clone();
            match self.add(&mut order, first, second) {
                true => self.linearise(order, tries),
                false => self.refusal(),
            }
        };
        with(first, second).or(|| with(second, first))
    }

    /// Returns the answer after an edge could not be added: there is a cycle, unless no work is
    /// left.
    fn refusal(&self) -> Possibility {
        match self.work.is_over() {
            true => Possibility::Undecided,
            false => Possibility::Impossible,
        }
    }

    fn add(&self, order: &mut Order, first: EventId, second: EventId) -> bool {
        self.work.spend(order.size()) && order.add(first, second)
    }

    /// Adds all implied edges: a write before a read precedes the read's source, and a write after
    /// the source follows the read. Returns `false` on a cycle, and if no work is left.
    fn follow(&self, order: &mut Order) -> bool {
        let mut learns = true;
        while std::mem::take(&mut learns) {
            for Accesses { writes, reads } in self.all {
                for &(read, source) in reads {
                    if !self.work.spend(writes.len()) {
                        return false;
                    }
                    for &write in writes {
                        if write == read || Some(write) == source {
                            continue;
                        }
                        if order.has(write, read) {
                            match source {
                                Some(source) if order.has(write, source) => {}
                                Some(source) if self.add(order, write, source) => learns = true,
                                _ => return false,
                            }
                        }
                        let is_later = source.is_none_or(|source| order.has(source, write));
                        if is_later && !order.has(read, write) {
                            if !self.add(order, read, write) {
                                return false;
                            }
                            learns = true;
                        }
                    }
                }
            }
        }
        true
    }

    /// Returns two writes of one location that are not ordered.
    fn unordered(&self, order: &Order) -> Option<(EventId, EventId)> {
        self.all.iter().find_map(|Accesses { writes, .. }| {
            let pairs = writes.iter().enumerate().flat_map(|(at, &first)| {
                let later = writes[at + 1..].iter();
                later.map(move |&second| (first, second))
            });
            let mut free = pairs.filter(|&(a, b)| !order.has(a, b) && !order.has(b, a));
            free.next()
        })
    }
}
