//! The partial order of a class: the orders of its events in which a program can perform them.
//!
//! Under sequential consistency these are exactly the linear extensions of program order, reads-from, coherence,
//! from-reads, the order of the calls on each object, and the rules of ports and barriers: the conditions by which the
//! search linearizes a graph. Under a weak memory model there is no order in which operations take effect for all
//! threads, so that only reads-from orders the accesses of a location: some of these orders may be those of no run.

use std::collections::HashMap;

use crate::base::ids::{EventId, LocationId, ObjectId};
use crate::base::outcome::Outcome;
use crate::memory::{Model, Weakness};
use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::port::heads;

/// The partial order of the events of an execution.
#[derive(Clone, Debug)]
pub struct ClassOrder {
    /// By position: positions of events that come before it in every order.
    needs: Vec<Vec<usize>>,
    /// True when every order is that of some run.
    is_exact: bool,
}

/// Positions of events, by their identity.
type Positions = HashMap<EventId, usize>;

impl ClassOrder {
    /// Computes the order of the class of an execution that has ended.
    #[must_use]
    pub fn of(execution: &Execution, model: Model) -> Self {
        let operations = execution.events.iter().map(|event| &event.operation);
        let weakness = Weakness::of_all(operations);
        if !model.is_weak() || !weakness.is_weak() {
            return Self::build(execution, true);
        }
        if !weakness.has_weak_accesses() {
            let strong = Self::build(execution, true);
            if strong.is_acyclic() {
                return strong;
            }
        }
        Self::build(execution, false)
    }

    /// True when every linear extension is the order of some run.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Returns the positions of events that come directly before this one.
    #[must_use]
    pub fn needs(&self, position: usize) -> &[usize] {
        &self.needs[position]
    }

    fn build(execution: &Execution, is_strong: bool) -> Self {
        let events = &execution.events;
        let at: Positions = events
            .iter()
            .enumerate()
            .map(|(at, event)| (event.id, at))
            .collect();
        let mut order = ClassOrder {
            needs: vec![Vec::new(); events.len()],
            is_exact: is_strong,
        };
        order.add_threads(execution, &at, is_strong);
        order.add_objects(execution, &at);
        order.add_ports(execution);
        order.add_barriers(execution, &at);
        match is_strong {
            true => order.add_accesses(execution, &at),
            false => order.add_sources(execution, &at),
        }
        for (position, needs) in order.needs.iter_mut().enumerate() {
            needs.retain(|&other| other != position);
            needs.sort_unstable();
            needs.dedup();
        }
        order
    }

    fn add(&mut self, position: usize, earlier: Option<usize>) {
        self.needs[position].extend(earlier);
    }

    /// Program order, creations, joins, and questions whether a thread has ended.
    fn add_threads(&mut self, execution: &Execution, at: &Positions, is_strong: bool) {
        let mut last: Vec<Option<usize>> = vec![None; execution.threads.len()];
        for (position, event) in execution.events.iter().enumerate() {
            let thread = event.id.thread.index();
            self.add(position, last[thread].replace(position));
            let find = |id: Option<EventId>| id.and_then(|id| at.get(&id).copied());
            match event.operation {
                Operation::Begin => {
                    self.add(position, find(execution.threads[thread].spawned_by));
                }
                Operation::Join { target } => {
                    self.add(position, find(execution.threads[target.index()].end));
                }
                Operation::IsFinished { target } => {
                    let end = find(execution.threads[target.index()].end);
                    match end {
                        Some(_) if event.source.is_some() => self.add(position, end),
                        Some(end) if is_strong => self.add(end, Some(position)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// The order of the calls on each object.
    fn add_objects(&mut self, execution: &Execution, at: &Positions) {
        let mut last: HashMap<ObjectId, usize> = HashMap::new();
        for (position, event) in execution.events.iter().enumerate() {
            match event.operation {
                // Only after the call that opened it.
                Operation::Call { call, .. } if call.is_silent() => {
                    self.add(position, event.source.and_then(|id| at.get(&id).copied()));
                }
                Operation::Call { object, .. } => {
                    self.add(position, last.insert(object, position));
                }
                _ => {}
            }
        }
    }

    /// Messages come after their sends and in the order of each sender; those of an ordered port in the order of all
    /// sends.
    fn add_ports(&mut self, execution: &Execution) {
        let events = &execution.events;
        let is_ordered = |port: ObjectId| execution.objects[port.index()].port().is_ordered();
        let mut sends: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        let mut hang_ups: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        let mut empty: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        // The last receive from an ordered port, and the last one of a message of each sender.
        let mut received: HashMap<ObjectId, usize> = HashMap::new();
        let mut received_of: HashMap<(ObjectId, usize), usize> = HashMap::new();
        let mut position_of: Positions = HashMap::new();
        for (position, event) in events.iter().enumerate() {
            match event.operation {
                Operation::Send { port } => {
                    position_of.insert(event.id, position);
                    if is_ordered(port) {
                        let before = sends.entry(port).or_default();
                        let last = before.last().copied();
                        before.push(position);
                        self.add(position, last);
                        // Receives that found the port empty come before it.
                        let found = empty.get(&port).into_iter().flatten();
                        self.needs[position].extend(found);
                    }
                }
                Operation::HangUp { port, .. } => hang_ups.entry(port).or_default().push(position),
                Operation::Delivered { .. } => {
                    let receive = event.source.and_then(|id| position_of.get(&id));
                    self.needs[position].extend(receive);
                }
                Operation::Receive { ref ports, wait } => {
                    position_of.insert(event.id, position);
                    let send = event.source.and_then(|id| position_of.get(&id).copied());
                    self.add(position, send);
                    for &port in execution.port_list(ports) {
                        if is_ordered(port) {
                            self.add(position, received.insert(port, position));
                        }
                        if send.is_none() && wait {
                            let closed = hang_ups.get(&port).into_iter().flatten();
                            self.needs[position].extend(closed);
                        } else if send.is_none() {
                            empty.entry(port).or_default().push(position);
                        }
                    }
                    if let Some(send) = send
                        && let Operation::Send { port } = events[send].operation
                    {
                        let sender = events[send].id.thread.index();
                        self.add(position, received_of.insert((port, sender), position));
                    }
                }
                _ => {}
            }
        }
    }

    /// A thread passes a barrier when all threads of its group have arrived and the groups before have met.
    fn add_barriers(&mut self, execution: &Execution, at: &Positions) {
        let events = &execution.events;
        // By name of a group: its passes, and the events after which its members arrive.
        let mut groups: Vec<(ObjectId, EventId, Vec<usize>, Vec<usize>)> = Vec::new();
        for (position, event) in events.iter().enumerate() {
            let Operation::Meet { barrier } = event.operation else {
                continue;
            };
            let Some((name, _)) = execution.group(event) else {
                continue;
            };
            let previous = EventId {
                thread: event.id.thread,
                index: event.id.index.saturating_sub(1),
            };
            let arrives = at
                .get(&previous)
                .copied()
                .filter(|&arrives| arrives != position);
            let known = groups
                .iter_mut()
                .find(|group| (group.0, group.1) == (barrier, name));
            let group = match known {
                Some(group) => group,
                None => {
                    groups.push((barrier, name, Vec::new(), Vec::new()));
                    groups.last_mut().expect("it has just been added")
                }
            };
            group.2.push(position);
            group.3.extend(arrives);
        }
        for (number, (barrier, _, passes, arrivals)) in groups.iter().enumerate() {
            let members = |passes: &[usize]| -> Vec<usize> {
                let threads = passes.iter().map(|&pass| events[pass].id.thread.index());
                threads.collect()
            };
            let mut before = groups[..number].iter().rev();
            let before = before.find(|group| group.0 == *barrier);
            for &pass in passes {
                self.needs[pass].extend(arrivals);
            }
            // A group meets after the one before it has met, that is after some pass of it. A common member says which;
            // else no partial order has this rule.
            if let Some((_, _, earlier, _)) = before {
                let own = members(passes);
                let has_common = members(earlier).iter().any(|thread| own.contains(thread));
                self.is_exact &= has_common;
            }
        }
    }

    /// Reads-from, coherence and from-reads.
    fn add_accesses(&mut self, execution: &Execution, at: &Positions) {
        let mut next: HashMap<(LocationId, Option<EventId>), usize> = HashMap::new();
        for (position, event, location) in accesses(execution) {
            if event.writes() {
                next.insert((location, event.source), position);
            }
        }
        for (position, event, location) in accesses(execution) {
            self.add(position, event.source.and_then(|id| at.get(&id).copied()));
            if let Some(&next) = next.get(&(location, event.source))
                && next != position
                && !event.is_store()
            {
                self.add(next, Some(position));
            }
        }
    }

    /// Reads-from only.
    fn add_sources(&mut self, execution: &Execution, at: &Positions) {
        for (position, event, _) in accesses(execution) {
            if !event.is_store() {
                self.add(position, event.source.and_then(|id| at.get(&id).copied()));
            }
        }
    }

    fn is_acyclic(&self) -> bool {
        let mut missing: Vec<usize> = self.needs.iter().map(Vec::len).collect();
        let mut after = vec![Vec::new(); self.needs.len()];
        for (position, needs) in self.needs.iter().enumerate() {
            needs
                .iter()
                .for_each(|&earlier| after[earlier].push(position));
        }
        let mut open: Vec<usize> = (0..missing.len()).filter(|&it| missing[it] == 0).collect();
        let mut placed = 0;
        while let Some(position) = open.pop() {
            placed += 1;
            for &next in &after[position] {
                missing[next] -= 1;
                if missing[next] == 0 {
                    open.push(next);
                }
            }
        }
        placed == missing.len()
    }

    /// Returns the positions of all events in an order in which these come in the given order, which must be one that
    /// the partial order permits.
    #[must_use]
    pub fn completed(&self, given: &[usize]) -> Vec<usize> {
        let mut is_placed = vec![false; self.needs.len()];
        let mut order = Vec::with_capacity(self.needs.len());
        for &position in given {
            self.place(position, &mut is_placed, &mut order);
        }
        for position in 0..self.needs.len() {
            self.place(position, &mut is_placed, &mut order);
        }
        order
    }

    /// Places an event after those that it needs.
    fn place(&self, position: usize, is_placed: &mut [bool], order: &mut Vec<usize>) {
        let mut open = vec![(position, 0)];
        while let Some((position, next)) = open.pop() {
            if is_placed[position] {
                continue;
            }
            let mut needs = self.needs[position].iter().enumerate().skip(next);
            match needs.find(|(_, earlier)| !is_placed[**earlier]) {
                Some((number, &earlier)) => open.extend([(position, number + 1), (earlier, 0)]),
                None => {
                    is_placed[position] = true;
                    order.push(position);
                }
            }
        }
    }

    /// Returns every order of the events; `None` if there are more than `most`.
    #[must_use]
    pub fn all(&self, most: usize) -> Option<Vec<Vec<usize>>> {
        let mut found = Vec::new();
        let mut is_placed = vec![false; self.needs.len()];
        self.extend(&mut Vec::new(), &mut is_placed, most, &mut found)
            .then_some(found)
    }

    fn extend(
        &self,
        order: &mut Vec<usize>,
        is_placed: &mut Vec<bool>,
        most: usize,
        found: &mut Vec<Vec<usize>>,
    ) -> bool {
        if order.len() == self.needs.len() {
            found.push(order.clone());
            return found.len() <= most;
        }
        for position in 0..self.needs.len() {
            let is_ready = self.needs[position]
                .iter()
                .all(|&earlier| is_placed[earlier]);
            if is_placed[position] || !is_ready {
                continue;
            }
            is_placed[position] = true;
            order.push(position);
            let goes_on = self.extend(order, is_placed, most, found);
            order.pop();
            is_placed[position] = false;
            if !goes_on {
                return false;
            }
        }
        true
    }
}

/// Returns the accesses of locations, each with its position.
fn accesses(execution: &Execution) -> impl Iterator<Item = (usize, &Event, LocationId)> {
    let events = execution.events.iter().enumerate();
    events.filter_map(|(at, event)| Some((at, event, event.operation.location()?)))
}

/// Returns the plan that performs the events of an execution in another order, with the same sources.
#[must_use]
pub fn plan(execution: &Execution, order: &[usize]) -> Vec<Planned> {
    let mut coherence: HashMap<(LocationId, Option<EventId>), EventId> = HashMap::new();
    for (_, event, location) in accesses(execution).filter(|(_, event, _)| event.writes()) {
        coherence.insert((location, event.source), event.id);
    }
    let mut written: Vec<EventId> = Vec::new();
    let mut sent: Vec<(ObjectId, EventId)> = Vec::new();
    let mut plan = Planned::of(execution, order.iter().copied());
    for (step, &position) in plan.iter_mut().zip(order) {
        let event = &execution.events[position];
        if let Some(location) = event.operation.location() {
            // Writes after the source in coherence order that are performed already.
            let mut later = 0;
            let mut next = coherence.get(&(location, event.source));
            let mut left = execution.events.len();
            while let Some(write) = next.filter(|_| left > 0) {
                later += u32::from(*write != event.id && written.contains(write));
                next = coherence.get(&(location, Some(*write)));
                left -= 1;
            }
            step.outcome = match event.operation {
                Operation::Update { .. } => {
                    Outcome::of_update(later, event.outcome.resolution_of_update())
                }
                _ => Outcome::of_access(later),
            };
            if event.writes() {
                written.push(event.id);
            }
        }
        match event.operation {
            Operation::Send { port } => sent.push((port, event.id)),
            Operation::Receive { ref ports, .. } => {
                if let Some(source) = event.source {
                    let number = number_of(execution, execution.port_list(ports), &sent, source);
                    step.outcome = number.unwrap_or(event.outcome);
                    sent.retain(|&(_, send)| send != source);
                }
            }
            _ => {}
        }
    }
    plan
}

/// Returns the outcome of a receive that takes this message, of those that were sent and not received.
fn number_of(
    execution: &Execution,
    ports: &[ObjectId],
    sent: &[(ObjectId, EventId)],
    source: EventId,
) -> Option<Outcome> {
    let mut number = 0;
    for &port in ports {
        let in_port = sent.iter().filter(|(of, _)| *of == port);
        let messages: Vec<EventId> = in_port.map(|&(_, send)| send).collect();
        let is_ordered = execution.objects[port.index()].port().is_ordered();
        for &head in heads(&messages, is_ordered, |send| send.thread) {
            if head == source {
                return Some(Outcome::nth(number));
            }
            number += 1;
        }
    }
    None
}
