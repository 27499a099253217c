//! The same execution with fewer context switches.
//!
//! Events that do not depend on each other can be run in any order. [`in_few_pieces`] keeps what
//! depends in its order and lets each thread run as far as it can, which is how a person would tell
//! it. [`closer`] goes further: it lists plans that let a thread run on where it was interrupted;
//! whether the program still does the same then, only a run can tell.

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

/// The positions of all events, in an order in which each thread runs as far as it can.
pub fn in_few_pieces(execution: &Execution) -> Vec<usize> {
    let needs = dependencies(execution);
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
            reach(execution, events, &needs, &done)
        };
        let furthest = (0..of_thread.len())
            .map(|thread| (rest(thread), thread))
            .max_by_key(|&(reach, thread)| (reach, std::cmp::Reverse(thread)));
        let own = rest(current);
        let (length, thread) = match furthest {
            Some((length, thread)) if own == 0 && length > 0 => (length, thread),
            _ if own > 0 => (own, current),
            // Nothing can: the dependencies were not those of a real run.
            _ => return (0..execution.events.len()).collect(),
        };
        for &position in &of_thread[thread][next[thread]..][..length] {
            done[position] = true;
            order.push(position);
        }
        next[thread] += length;
        current = thread;
    }
    order
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

/// For each event, the events that must come before it.
fn dependencies(execution: &Execution) -> Vec<Vec<usize>> {
    let mut by_thread: Vec<Option<usize>> = vec![None; execution.threads.len()];
    let mut ends: Vec<Option<usize>> = vec![None; execution.threads.len()];
    // Who asked whether a thread has ended, since it has not.
    let mut asked: Vec<Vec<usize>> = vec![Vec::new(); execution.threads.len()];
    let mut spawns: Vec<(EventId, usize)> = Vec::new();
    let mut objects: Vec<Option<usize>> = vec![None; execution.objects.len()];
    let mut writes: Vec<Option<usize>> = vec![None; execution.locations.len()];
    let mut reads: Vec<Vec<usize>> = vec![Vec::new(); execution.locations.len()];
    let mut needs = Vec::with_capacity(execution.events.len());
    for (position, event) in execution.events.iter().enumerate() {
        let mut before: Vec<usize> = Vec::new();
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
            Operation::Spawn => spawns.push((event.id, position)),
            Operation::Begin => {
                let creator = execution.threads[thread].spawned_by;
                let spawn = spawns.iter().find(|(id, _)| Some(*id) == creator);
                before.extend(spawn.map(|&(_, position)| position));
            }
            Operation::End => {
                ends[thread] = Some(position);
                before.append(&mut asked[thread]);
            }
            Operation::Join { target } => before.extend(ends[target.index()]),
            Operation::IsFinished { target } => match ends[target.index()] {
                Some(end) => before.push(end),
                None => asked[target.index()].push(position),
            },
            _ => {}
        }
        if let Some(location) = event.operation.location() {
            let location = location.index();
            before.extend(writes[location]);
            if matches!(event.operation, Operation::Load { .. }) {
                reads[location].push(position);
            } else {
                before.append(&mut reads[location]);
                writes[location] = Some(position);
            }
        }
        needs.push(before);
    }
    needs
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
