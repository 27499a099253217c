//! Dependencies between the events of an execution.

use std::collections::HashMap;

use crate::base::ids::{EventId, ThreadId};
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Returns for each event the events that must precede it. Accesses of one location keep the order
/// of this run, or that of coherence if `in_coherence_order`.
pub(super) fn dependencies(execution: &Execution, in_coherence_order: bool) -> Vec<Vec<usize>> {
    let mut needs = vec![Vec::new(); execution.events.len()];
    let mut by_thread: Vec<Option<usize>> = vec![None; execution.threads.len()];
    let mut position_of: HashMap<EventId, usize> = HashMap::new();
    let mut objects: Vec<Option<usize>> = vec![None; execution.objects.len()];
    let mut writes: Vec<Option<usize>> = vec![None; execution.locations.len()];
    let mut reads: Vec<Vec<usize>> = vec![Vec::new(); execution.locations.len()];
    for (position, event) in execution.events.iter().enumerate() {
        position_of.insert(event.id, position);
    }
    for (position, event) in execution.events.iter().enumerate() {
        let before = &mut needs[position];
        let thread = event.id.thread.index();
        before.extend(by_thread[thread].replace(position));
        let mut use_object = |object: usize| before.extend(objects[object].replace(position));
        match event.operation {
            Operation::Receive { ports, .. } => {
                for port in execution.port_list(&ports) {
                    use_object(port.index());
                }
            }
            operation => {
                if let Some(object) = operation.object() {
                    use_object(object.index());
                }
            }
        }
        match event.operation {
            Operation::Begin => {
                let creator = execution.threads[thread].spawned_by;
                before.extend(creator.and_then(|id| position_of.get(&id)));
            }
            Operation::Join { target } => {
                let end = execution.threads[target.index()].end;
                before.extend(end.and_then(|id| position_of.get(&id)));
            }
            Operation::IsFinished { target } => {
                let end = execution.threads[target.index()].end;
                let end = end.and_then(|id| position_of.get(&id).copied());
                match end {
                    Some(end)
                        if event.source.is_some()
                            || !event.outcome.sees_end() && !in_coherence_order =>
                    {
                        before.push(end);
                    }
                    Some(end) => needs[end].push(position),
                    None => {}
                }
            }
            _ => {}
        }
        let Some(location) = event.operation.location() else {
            continue;
        };
        if in_coherence_order {
            continue;
        }
        let before = &mut needs[position];
        before.extend(writes[location.index()]);
        if matches!(event.operation, Operation::Load { .. }) {
            reads[location.index()].push(position);
        } else {
            before.append(&mut reads[location.index()]);
            writes[location.index()] = Some(position);
        }
    }
    if in_coherence_order {
        follow_sources(execution, &position_of, &mut needs);
    }
    needs
}

/// True when an event precedes the last event of a thread in every execution that has the same order of
/// conflicting events: accesses of one location of which one writes, and calls on one object.
pub fn precedes(execution: &Execution, first: EventId, thread: ThreadId) -> bool {
    let events = &execution.events;
    let Some(first) = events.iter().position(|event| event.id == first) else {
        return false;
    };
    let needs = dependencies(execution, false);
    let mut follows = vec![false; events.len()];
    let mut last = false;
    for position in first..events.len() {
        let needed = needs[position].iter().any(|&needed| follows[needed]);
        follows[position] = position == first || needed;
        if events[position].id.thread == thread {
            last = follows[position];
        }
    }
    last
}

/// Orders a read after its source and before the next write, and a write after the previous one.
fn follow_sources(
    execution: &Execution,
    position_of: &HashMap<EventId, usize>,
    needs: &mut [Vec<usize>],
) {
    let accesses = || {
        let events = execution.events.iter().enumerate();
        events.filter_map(|(at, event)| Some((at, event, event.operation.location()?)))
    };
    let mut next: HashMap<(usize, Option<EventId>), usize> = HashMap::new();
    for (position, event, location) in accesses().filter(|(_, event, _)| event.writes()) {
        next.insert((location.index(), event.source), position);
    }
    for (position, event, location) in accesses() {
        needs[position].extend(event.source.and_then(|id| position_of.get(&id)));
        let next = next.get(&(location.index(), event.source));
        if let Some(&next) = next.filter(|&&next| next != position && !event.is_store()) {
            needs[next].push(position);
        }
    }
}
