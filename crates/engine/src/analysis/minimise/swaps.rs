//! Exchanging the order of two events.
//!
//! A thread is held before one of its events until another thread has passed an event on the same
//! object or location. All other threads continue as before, as far as they can. Only a run shows
//! whether the program still fails.

use std::collections::{HashMap, HashSet};

use super::dependencies::dependencies;
use super::slice::Target;
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;
use crate::object::effect::Effect;

/// The position of an operation in the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// At this position among the events.
    At(usize),
    /// Never: this thread is blocked on it at the end.
    Never(ThreadId),
}

impl Moment {
    /// Returns the operation.
    fn operation(self, execution: &Execution) -> Operation {
        match self {
            Moment::At(position) => execution.events[position].operation,
            Moment::Never(thread) => {
                let pending = execution.pending[thread.index()];
                pending.map_or(Operation::End, |(operation, _)| operation)
            }
        }
    }
}

/// Two conflicting events, and a plan with their order exchanged.
#[derive(Clone, Debug)]
pub struct Swap {
    /// The event that comes first.
    pub first: usize,
    /// The event that would come first.
    pub second: Moment,
    /// True when the second comes later and does not read from the first, so that only its source
    /// changes.
    pub is_stale: bool,
    /// True when both events take or release a lock, so that the pair does not name the data that
    /// the lock protects.
    pub is_lock_order: bool,
    /// Number of other locations and objects whose conflicting events are exchanged as well. Events
    /// inside the critical sections of a lock that both events take do not count.
    pub carries: usize,
    /// Plan of the exchanged execution.
    pub plan: Vec<Planned>,
    /// Number of steps of the plan until both events are done, or the second if the first may then
    /// block.
    until: usize,
    names: [Name; 2],
}

/// An event identified across executions that agree up to it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Name {
    thread: ThreadPath,
    index: u32,
    label: &'static str,
    site: SiteId,
}

impl Name {
    fn of(execution: &Execution, id: EventId, operation: &Operation, site: SiteId) -> Self {
        Name {
            thread: execution.path(id.thread),
            index: id.index,
            label: operation.label(),
            site,
        }
    }

    fn position(&self, execution: &Execution) -> Option<usize> {
        let thread = execution.thread_at(&self.thread)?;
        let mut events = execution.events.iter();
        events.position(|event| {
            event.id.thread == thread
                && event.id.index == self.index
                && event.operation.label() == self.label
                && event.site == self.site
        })
    }
}

impl Swap {
    /// Returns the locations and objects that the two events use. A hang-up is an event of a port and of
    /// a location, and may conflict on one where the failure depends on the other.
    pub fn targets(&self, execution: &Execution) -> Vec<Target> {
        targets(execution, self.first, self.second)
    }

    /// True when the execution follows the plan up to the exchanged events and contains both.
    pub fn is_in(&self, execution: &Execution) -> bool {
        let steps = self.plan[..self.until].iter().zip(&execution.events);
        let follows = |(step, event): (&Planned, &Event)| {
            execution.thread_at(&step.thread) == Some(event.id.thread)
        };
        if execution.events.len() < self.until || !steps.into_iter().all(follows) {
            return false;
        }
        let [first, second] = self.names.each_ref().map(|name| name.position(execution));
        match (first, second) {
            (Some(first), Some(second)) if self.is_stale => {
                first < second && execution.events[second].back() == 0
            }
            (Some(first), Some(second)) => second < first,
            _ => false,
        }
    }
}

/// Returns the possible exchanges, latest first, so that as much as possible stays unchanged.
pub fn swaps(execution: &Execution) -> impl Iterator<Item = Swap> {
    let needs = dependencies(execution, false);
    let events = (0..execution.events.len()).rev();
    events.flat_map(move |first| swaps_of(execution, &needs, first))
}

/// Returns the exchanges of this event with later ones that may precede it, earliest first.
fn swaps_of(execution: &Execution, needs: &[Vec<usize>], first: usize) -> Vec<Swap> {
    let mut swaps: Vec<Swap> = unseen(execution, first).into_iter().collect();
    let held = follows(execution, needs, first);
    let mut add = |second: Moment, name: Name, (order, plan, until): Exchanged| {
        swaps.push(Swap {
            first,
            second,
            is_stale: false,
            is_lock_order: is_lock_order(execution, first, second),
            carries: carried(execution, first, second, &order),
            plan,
            until,
            names: [name_at(execution, first), name],
        });
    };
    let all = first + 1..execution.events.len();
    let later = all.filter(|&second| {
        touch_the_same(execution, first, second) && !ends_section(execution, first, second)
    });
    for second in later {
        let thread = execution.events[second].id.thread;
        let given_back = given_back(execution, second);
        let is_own = |at: usize| execution.events[at].id.thread == thread;
        // The release of a lock taken by the second event moves as well, or the first could not
        // follow it.
        let is_inside = |at: usize| second < at && Some(at) <= given_back && is_own(at);
        let goes_first = |at: usize| at <= second && (!held[at] || is_own(at)) || is_inside(at);
        let (order, plan, before) = held_back(execution, first, goes_first, None);
        // A thread that keeps a lock or takes a permit blocks others; the run shows for how long.
        let is_at_once = match execution.events[first].operation.location() {
            Some(_) => true,
            None => given_back.is_some_and(|at| at > second),
        };
        let until = before + usize::from(is_at_once);
        let name = name_at(execution, second);
        add(Moment::At(second), name, (order, plan, until));
    }
    for (thread, pending) in execution.pending.iter().enumerate() {
        let Some((operation, site)) = pending else {
            continue;
        };
        let thread = ThreadId::new(thread);
        let is_own = |at: &usize| execution.events[*at].id.thread == thread;
        let done: Vec<usize> = (0..held.len()).filter(is_own).collect();
        let is_held = is_own(&first) || done.iter().any(|&at| held[at]);
        if is_held || !meet(execution, &execution.events[first].operation, operation) {
            continue;
        }
        let index = done.len() as u32;
        let name = Name::of(execution, EventId { thread, index }, operation, *site);
        let plan = held_back(execution, first, |at| !held[at], Some(thread));
        add(Moment::Never(thread), name, plan);
    }
    swaps
}

fn name_at(execution: &Execution, position: usize) -> Name {
    let event = &execution.events[position];
    Name::of(execution, event.id, &event.operation, event.site)
}

/// Returns the event that releases the lock taken by this one; the event itself if it takes none,
/// `None` if it is never released.
fn given_back(execution: &Execution, taken: usize) -> Option<usize> {
    let event = &execution.events[taken];
    let Some((lock, Effect::Take { .. })) = event.lock_effect() else {
        return Some(taken);
    };
    let mut later = (taken + 1..execution.events.len()).filter(|&at| {
        let other = &execution.events[at];
        other.id.thread == event.id.thread && other.lock_effect() == Some((lock, Effect::Release))
    });
    later.next()
}

/// True when the second event releases a lock that its thread took after the first event:
/// exchanging the first with that acquisition is equivalent.
fn ends_section(execution: &Execution, first: usize, second: usize) -> bool {
    let event = &execution.events[second];
    let Some((lock, Effect::Release)) = event.lock_effect() else {
        return false;
    };
    let between = execution.events[first + 1..second].iter();
    let mut own = between.filter(|other| other.id.thread == event.id.thread);
    own.any(|other| matches!(other.lock_effect(), Some((it, Effect::Take { .. })) if it == lock))
}

/// Returns the exchange in which the access takes the latest write, if it is stale.
fn unseen(execution: &Execution, second: usize) -> Option<Swap> {
    let event = &execution.events[second];
    let location = event.operation.location().filter(|_| event.back() > 0)?;
    let first = execution.events[..second]
        .iter()
        .rposition(|other| other.operation.location() == Some(location) && other.writes())?;
    let mut plan = Planned::of(execution, 0..execution.events.len());
    plan[second].outcome = match event.operation {
        Operation::Update { .. } => event.outcome.at_last(),
        _ => Outcome::FIRST,
    };
    Some(Swap {
        first,
        second: Moment::At(second),
        is_stale: true,
        is_lock_order: false,
        carries: 0,
        plan,
        until: second + 1,
        names: [first, second].map(|at| name_at(execution, at)),
    })
}

/// Returns for each event whether it cannot precede the next event of the first event's thread.
fn follows(execution: &Execution, needs: &[Vec<usize>], first: usize) -> Vec<bool> {
    let thread = execution.events[first].id.thread;
    let mut held = vec![false; needs.len()];
    for at in first + 1..needs.len() {
        let is_own = execution.events[at].id.thread == thread;
        held[at] = is_own || needs[at].iter().any(|&needed| held[needed]);
    }
    held
}

fn targets(execution: &Execution, first: usize, second: Moment) -> Vec<Target> {
    let second = second.operation(execution);
    let first = Target::of(execution, &execution.events[first].operation);
    first.chain(Target::of(execution, &second)).collect()
}

/// True when both events take a lock, waiting for it, or release it.
fn is_lock_order(execution: &Execution, first: usize, second: Moment) -> bool {
    let operations = [Moment::At(first), second].map(|it| it.operation(execution));
    operations.iter().all(|operation| {
        let effect = operation.lock_effect();
        effect.is_some_and(|(_, effect)| !matches!(effect, Effect::Take { waits: false, .. }))
    })
}

/// Returns the number of targets, other than those of the pair, whose conflicting events have another
/// order in the plan. Events of which both are inside the pair's critical sections do not count.
fn carried(execution: &Execution, first: usize, second: Moment, order: &[usize]) -> usize {
    /// The last of some events in the order of the failing execution, counted from 1.
    #[derive(Clone, Copy, Default)]
    struct Last {
        access: usize,
        write: usize,
    }
    let sections = [Moment::At(first), second].map(|moment| match moment {
        Moment::At(taken) => {
            let event = &execution.events[taken];
            let end = given_back(execution, taken).unwrap_or(usize::MAX);
            Some((event.id.thread, taken..=end))
        }
        Moment::Never(_) => None,
    });
    let is_inside = |at: usize| {
        let mut sections = sections.iter().flatten();
        sections.any(|(thread, section)| {
            execution.events[at].id.thread == *thread && section.contains(&at)
        })
    };
    let own = targets(execution, first, second);
    // Of all events so far, and of those outside of the critical sections.
    let mut last: HashMap<Target, [Last; 2]> = HashMap::new();
    let mut exchanged = HashSet::new();
    for &at in &order[first.min(order.len())..] {
        let event = &execution.events[at];
        for target in Target::of(execution, &event.operation) {
            if own.contains(&target) {
                continue;
            }
            let writes = matches!(target, Target::Object(_)) || event.writes();
            let last = last.entry(target).or_default();
            let is_inside = is_inside(at);
            let earlier = last[usize::from(is_inside)];
            let conflicting = match writes {
                true => earlier.access,
                false => earlier.write,
            };
            if conflicting > at + 1 {
                exchanged.insert(target);
            }
            let seen_by = match is_inside {
                true => &mut last[..1],
                false => &mut last[..],
            };
            for last in seen_by {
                last.access = last.access.max(at + 1);
                if writes {
                    last.write = last.write.max(at + 1);
                }
            }
        }
    }
    exchanged.len()
}

/// True when the two events are of different threads, use the same object or location, and one of
/// them changes it.
fn touch_the_same(execution: &Execution, first: usize, second: usize) -> bool {
    let [first, second] = [first, second].map(|at| &execution.events[at]);
    first.id.thread != second.id.thread
        && (first.operation.location().is_none() || first.writes() || second.writes())
        && meet(execution, &first.operation, &second.operation)
}

fn meet(execution: &Execution, one: &Operation, other: &Operation) -> bool {
    let mut own = Target::of(execution, one);
    own.any(|target| Target::of(execution, other).any(|it| it == target))
}

/// An order of the events, its plan, and the number of steps until the exchange is done.
type Exchanged = (Vec<usize>, Vec<Planned>, usize);

/// Returns the order in which the first event follows the later ones that go first, with its plan and
/// the number of steps before that event.
fn held_back(
    execution: &Execution,
    first: usize,
    goes_first: impl Fn(usize) -> bool,
    pending: Option<ThreadId>,
) -> Exchanged {
    let later = first + 1..execution.events.len();
    let (freed, rest): (Vec<usize>, Vec<usize>) = later.partition(|&at| goes_first(at));
    let mut until = first + freed.len();
    let order = (0..first).chain(freed).chain([first]).chain(rest);
    let order: Vec<usize> = order.collect();
    let mut plan = Planned::of(execution, order.iter().copied());
    if let Some(thread) = pending {
        let thread = execution.path(thread);
        plan.insert(
            until,
            Planned {
                thread,
                outcome: Outcome::FIRST,
            },
        );
        until += 1;
    }
    (order, plan, until)
}
