//! Orders of the operations near a change that differ from those of an execution in one race.
//!
//! Two operations race if they conflict and neither happens before the other by what was performed before them. The
//! second one may be one that was blocked at the end of the execution. The order with the second one first is the
//! beginning of the execution up to the first one, what does not happen after it, and the second one. (The reversal of a race is that of dynamic partial-order reduction: Abdulla, Aronis, Jonsson,
//! Sagonas, "Optimal Dynamic Partial Order Reduction", POPL 2014. Here every race is reversed, not only those of adjacent
//! operations, so that few reversals lead far.)

use std::collections::HashMap;

use super::super::target::Thing;
use super::{Region, blocked};
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::rng::mix;
use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;
use crate::object::effect::Effect;

/// Maximum number of operations of a group that are compared with one another.
const MOST_STEPS: usize = 400;

/// Threads that share locations or objects near the change, with each other and with no other thread.
pub(super) struct Group {
    pub(super) threads: Vec<ThreadPath>,
    /// A name of the order of their operations, up to the order of independent ones.
    pub(super) name: u64,
    pub(super) alternatives: Vec<Order>,
}

/// The beginning of an order of the operations of a group.
#[derive(Debug)]
pub(super) struct Order {
    /// The steps, with their source locations.
    pub(super) steps: Vec<(Planned, SiteId)>,
    /// A name of it, up to the order of independent operations.
    pub(super) name: u64,
    /// Number of the two operations that are not at the given source locations.
    pub(super) distance: u8,
}

/// An operation near the change.
struct Step {
    /// `None` for one that was blocked at the end.
    position: Option<usize>,
    event: Event,
    thing: Thing,
    /// Number of operations near the change of its thread, up to it.
    index: u32,
    /// By thread: number of its operations near the change that happen before it, or are it.
    clock: Vec<u32>,
}

/// Returns the groups of an execution. `outcomes` has the numbers of outcomes of events near the change that had several,
/// by position.
pub(super) fn groups(
    execution: &Execution,
    region: &mut Region,
    outcomes: &HashMap<usize, u32>,
) -> Vec<Group> {
    let (steps, races) = steps(execution, region);
    let group_of = group_of_threads(execution.threads.len(), &steps);
    let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
    let performed = steps.iter().enumerate();
    for (number, step) in performed.filter(|(_, step)| step.position.is_some()) {
        let group = group_of[step.event.id.thread.index()];
        members.entry(group).or_default().push(number);
    }
    let mut groups: Vec<_> = members.into_iter().collect();
    groups.sort_unstable_by_key(|&(group, _)| group);
    let namer = Namer::new(execution);
    let mut found = Vec::new();
    for (group, members) in groups {
        let threads = (0..execution.threads.len()).filter(|&thread| group_of[thread] == group);
        let threads = threads.map(|thread| namer.paths[thread].clone()).collect();
        let mut alternatives = Vec::new();
        if members.len() <= MOST_STEPS {
            let of_group = |&&(first, _): &&(usize, usize)| {
                group_of[steps[first].event.id.thread.index()] == group
            };
            for &(first, second) in races.iter().filter(of_group) {
                let (one, other) = (&steps[first], &steps[second]);
                let thread = one.event.id.thread.index();
                let begin = members.iter().copied().take_while(|&it| it < first);
                let between = members
                    .iter()
                    .copied()
                    .filter(|&it| first < it && it < second);
                let between = between.filter(|&it| steps[it].clock[thread] < one.index);
                let order: Vec<_> = begin.chain(between).chain([second]).collect();
                let near = [one, other].map(|it| u8::from(!region.is_given(it.event.site)));
                alternatives.push(namer.order(&steps, &order, None, near[0] + near[1]));
            }
            for (place, &member) in members.iter().enumerate() {
                let step = &steps[member];
                let Some(&count) = step.position.and_then(|position| outcomes.get(&position))
                else {
                    continue;
                };
                let distance = 2 * u8::from(!region.is_given(step.event.site));
                for outcome in (0..count).map(Outcome::nth) {
                    if outcome != step.event.outcome {
                        let order = &members[..=place];
                        alternatives.push(namer.order(&steps, order, Some(outcome), distance));
                    }
                }
            }
        }
        found.push(Group {
            threads,
            name: namer.name(&steps, &members, None),
            alternatives,
        });
    }
    found
}

/// Returns the operations near the change with their clocks, and the pairs that race.
fn steps(execution: &Execution, region: &mut Region) -> (Vec<Step>, Vec<(usize, usize)>) {
    let threads = execution.threads.len();
    let mut clocks = vec![vec![0; threads]; threads];
    let (mut steps, mut races) = (Vec::<Step>::new(), Vec::new());
    let mut by_thing: HashMap<usize, Vec<usize>> = HashMap::new();
    let events = execution.events.iter().copied().enumerate();
    let events = events.map(|(position, event)| (Some(position), event));
    let blocked = blocked(execution).map(|(thread, operation, site)| Event {
        id: EventId { thread, index: 0 },
        operation: *operation,
        source: None,
        outcome: Outcome::FIRST,
        reply: Reply::DONE,
        site,
    });
    for (position, event) in events.chain(blocked.map(|event| (None, event))) {
        let thread = event.id.thread.index();
        match event.operation {
            Operation::Spawn => {
                let child = event.reply.to_thread().index();
                clocks[child] = clocks[thread].clone();
            }
            Operation::Join { target } if position.is_some() => {
                let joined = clocks[target.index()].clone();
                join(&mut clocks[thread], &joined);
            }
            _ => {}
        }
        let Some(thing) = region.thing(&event.operation, event.site) else {
            continue;
        };
        let number = steps.len();
        let earlier = by_thing.entry(thing.index()).or_default();
        let mut clock = clocks[thread].clone();
        for &other in earlier.iter() {
            let step: &Step = &steps[other];
            if step.event.id.thread == event.id.thread || !conflict(&step.event, &event) {
                continue;
            }
            let by = step.event.id.thread.index();
            if clocks[thread][by] < step.index && may_come_later(&step.event) {
                races.push((other, number));
            }
            join(&mut clock, &step.clock);
        }
        if position.is_some() {
            earlier.push(number);
        }
        clock[thread] += 1;
        let index = clock[thread];
        clocks[thread].clone_from(&clock);
        steps.push(Step {
            position,
            event,
            thing,
            index,
            clock,
        });
    }
    (steps, races)
}

fn join(clock: &mut [u32], other: &[u32]) {
    for (own, other) in clock.iter_mut().zip(other) {
        *own = (*own).max(*other);
    }
}

/// True for uses of one thing whose order matters.
fn conflict(one: &Event, other: &Event) -> bool {
    let silent = |event: &Event| match event.operation {
        Operation::Load { .. } => true,
        Operation::Call { call, .. } => call.is_silent(),
        _ => false,
    };
    !(silent(one) && silent(other)) && !is_silent_call(one) && !is_silent_call(other)
}

fn is_silent_call(event: &Event) -> bool {
    matches!(event.operation, Operation::Call { call, .. } if call.is_silent())
}

/// False for the release of a lock: what takes it next can only come before the acquisition.
fn may_come_later(event: &Event) -> bool {
    !matches!(
        event.lock_effect(),
        Some((_, Effect::Release | Effect::Downgrade))
    )
}

/// Returns for each thread the first one with which it shares something near the change, at least itself.
fn group_of_threads(threads: usize, steps: &[Step]) -> Vec<usize> {
    let mut group_of: Vec<usize> = (0..threads).collect();
    let mut first: HashMap<usize, usize> = HashMap::new();
    for step in steps {
        let thread = step.event.id.thread.index();
        let first = *first.entry(step.thing.index()).or_insert(thread);
        let (one, other) = (group_of[first], group_of[thread]);
        if one != other {
            let (to, from) = (one.min(other), one.max(other));
            group_of
                .iter_mut()
                .filter(|it| **it == from)
                .for_each(|it| *it = to);
        }
    }
    group_of
}

/// Names orders of operations.
struct Namer {
    paths: Vec<ThreadPath>,
    /// By thread: a number of its path.
    numbers: Vec<u64>,
}

impl Namer {
    fn new(execution: &Execution) -> Self {
        let ids = (0..execution.threads.len()).map(ThreadId::new);
        let paths: Vec<_> = ids.map(|thread| execution.path(thread)).collect();
        let number = |path: &ThreadPath| {
            let add = |sum: u64, &step: &u32| mix(sum.wrapping_add(u64::from(step)));
            path.steps().iter().fold(1, add)
        };
        let numbers = paths.iter().map(number).collect();
        Namer { paths, numbers }
    }

    /// Returns the order of these operations, the last one with another outcome if one is given.
    fn order(
        &self,
        steps: &[Step],
        order: &[usize],
        outcome: Option<Outcome>,
        distance: u8,
    ) -> Order {
        let planned = |&number: &usize| {
            let event = &steps[number].event;
            let planned = Planned {
                thread: self.paths[event.id.thread.index()].clone(),
                outcome: event.outcome,
            };
            (planned, event.site)
        };
        let mut planned: Vec<_> = order.iter().map(planned).collect();
        if let (Some(last), Some(outcome)) = (planned.last_mut(), outcome) {
            last.0.outcome = outcome;
        }
        Order {
            steps: planned,
            name: self.name(steps, order, outcome),
            distance,
        }
    }

    /// Returns a name of the order: the sum of a number of each operation, from its thread, the operation of the thread,
    /// its outcome, and the operations before it that it conflicts with.
    fn name(&self, steps: &[Step], order: &[usize], outcome: Option<Outcome>) -> u64 {
        // By thing: the number of its last write, and those of all uses after it.
        let mut uses: HashMap<usize, (u64, u64)> = HashMap::new();
        let mut done = vec![0_u64; self.numbers.len()];
        let mut sum = 0_u64;
        for (place, &number) in order.iter().enumerate() {
            let step = &steps[number];
            let thread = step.event.id.thread.index();
            done[thread] += 1;
            let is_last = place + 1 == order.len();
            let outcome = outcome.filter(|_| is_last).unwrap_or(step.event.outcome);
            let own = mix(self.numbers[thread].wrapping_add(done[thread] << 32))
                .wrapping_add(mix(3 + u64::from(outcome.number())));
            let (write, later) = uses.entry(step.thing.index()).or_default();
            let reads = matches!(step.event.operation, Operation::Load { .. });
            let name = match reads || is_silent_call(&step.event) {
                true => {
                    let name = mix(own ^ *write);
                    *later = later.wrapping_add(name);
                    name
                }
                false => {
                    let name = mix(own ^ mix(write.wrapping_add(*later)));
                    (*write, *later) = (name, 0);
                    name
                }
            };
            sum = sum.wrapping_add(name);
        }
        mix(sum)
    }
}
