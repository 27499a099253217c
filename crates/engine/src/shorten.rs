//! The same execution with fewer context switches.
//!
//! Events that do not depend on each other can be run in any order. [`tidy`] keeps what depends in
//! its order and lets each thread run as far as it can, which is how a person would tell it; and it
//! tells of stale values only where no order of events explains what was read. [`closer`] goes further: it lists plans that let a thread run on where it was interrupted;
//! whether the program still does the same then, only a run can tell.

use std::collections::HashMap;

use crate::event::{EventId, Operation};
use crate::execution::Execution;
use crate::strategy::Planned;

/// How often the thread changes from one event to the next.
pub fn switches(execution: &Execution) -> usize {
    let pairs = execution.events.windows(2);
    pairs
        .filter(|pair| pair[0].id.thread != pair[1].id.thread)
        .count()
}

/// How many accesses take a value or a place that is not the last.
pub fn stale(execution: &Execution) -> usize {
    let events = execution.events.iter();
    events.filter(|event| event.back() > 0).count()
}

/// The same execution in an order in which each thread runs as far as it can; if there is one in which
/// every read sees the latest write, such a one.
pub fn tidy(execution: &Execution) -> Vec<Planned> {
    if let Some(order) = in_few_pieces(execution, &dependencies(execution, true)) {
        return Planned::at_last(execution, order);
    }
    let order = in_few_pieces(execution, &dependencies(execution, false));
    Planned::of(
        execution,
        order.unwrap_or((0..execution.events.len()).collect()),
    )
}

/// The positions of all events, in an order in which each thread runs as far as it can; `None` if
/// events need each other.
fn in_few_pieces(execution: &Execution, needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut of_thread = vec![Vec::new(); execution.threads.len()];
    for (position, event) in execution.events.iter().enumerate() {
        of_thread[event.id.thread.index()].push(position);
    }
    let mut next = vec![0; of_thread.len()];
    let mut done = vec![false; execution.events.len()];
    let mut order = Vec::with_capacity(execution.events.len());
    let mut current = 0;
    while order.len() < execution.events.len() {
        // Of those who can go on, whoever goes furthest; the present thread if it can.
        let rest = |thread: usize| {
            let events = &of_thread[thread][next[thread]..];
            reach(execution, events, needs, &done)
        };
        let furthest = (0..of_thread.len())
            .map(|thread| (rest(thread), thread))
            .max_by_key(|&(reach, thread)| (reach, std::cmp::Reverse(thread)));
        let own = rest(current);
        let (length, thread) = match furthest {
            Some((length, thread)) if own == 0 && length > 0 => (length, thread),
            _ if own > 0 => (own, current),
            _ => return None,
        };
        for &position in &of_thread[thread][next[thread]..][..length] {
            done[position] = true;
            order.push(position);
        }
        next[thread] += length;
        current = thread;
    }
    Some(order)
}

/// How many of the events, which are the rest of one thread's, can be run one after the other.
fn reach(execution: &Execution, events: &[usize], needs: &[Vec<usize>], done: &[bool]) -> usize {
    let Some(&first) = events.first() else {
        return 0;
    };
    let thread = |position: usize| execution.events[position].id.thread;
    let is_own = |needed: usize| needed >= first && thread(needed) == thread(first);
    let can_run = |&&event: &&usize| {
        let mut needed = needs[event].iter();
        needed.all(|&needed| done[needed] || is_own(needed))
    };
    events.iter().take_while(can_run).count()
}

/// For each event, the events that must come before it: of accesses to one location either those that
/// came before it in this run, or those that do if every read sees the latest write.
fn dependencies(execution: &Execution, in_coherence_order: bool) -> Vec<Vec<usize>> {
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
                        if event.source.is_some() || event.outcome > 0 && !in_coherence_order =>
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

/// A read comes behind the write it sees and before the next one, a write behind the last one.
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

/// Plans with fewer interruptions than the execution: each lets one thread run on where another came
/// in between, or makes it wait until it runs on.
pub fn closer(execution: &Execution) -> Vec<Vec<Planned>> {
    let mut pieces: Vec<Vec<usize>> = Vec::new();
    for (position, event) in execution.events.iter().enumerate() {
        let same = |piece: &Vec<usize>| execution.events[piece[0]].id.thread == event.id.thread;
        match pieces.last_mut().filter(|piece| same(piece)) {
            Some(piece) => piece.push(position),
            None => pieces.push(vec![position]),
        }
    }
    let thread = |piece: &[usize]| execution.events[piece[0]].id.thread;
    let mut plans = Vec::new();
    for first in 0..pieces.len() {
        let later = pieces[first + 1..]
            .iter()
            .position(|piece| thread(piece) == thread(&pieces[first]));
        let Some(distance) = later else { continue };
        let second = first + 1 + distance;
        let mut pulled = pieces.clone();
        let piece = pulled.remove(second);
        pulled.insert(first + 1, piece);
        let mut pushed = pieces.clone();
        let piece = pushed.remove(first);
        pushed.insert(second - 1, piece);
        for pieces in [pulled, pushed] {
            plans.push(Planned::of(execution, pieces.into_iter().flatten()));
        }
    }
    plans
}
