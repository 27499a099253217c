//! Exchanging the order of two events.
//!
//! A thread is held before one of its events until another thread has passed an event on the same
//! object or location. Everything else continues as before, as far as it can. Only a run shows
//! whether the program still fails.

use super::dependencies::dependencies;
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;
use crate::object::effect::Effect;

/// When a thread performs an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// At this position among the events.
    At(usize),
    /// Never: this thread is blocked on it at the end.
    Never(ThreadId),
}

/// Two conflicting events, and a plan with their order exchanged.
#[derive(Clone, Debug)]
pub struct Swap {
    /// The event that comes first.
    pub first: usize,
    /// The event that would come first.
    pub second: Moment,
    /// True when the second comes later and does not see the first, so that only its source
    /// changes.
    pub is_stale: bool,
    /// True when the second follows an event that depends on the first, which is then reordered as
    /// well.
    pub is_far: bool,
    /// Plan of the exchanged execution.
    pub plan: Vec<Planned>,
    /// Number of steps of the plan until both events are done, or the second if the first may block
    /// then.
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

/// Returns the later events that may precede this one, earliest first.
fn swaps_of(execution: &Execution, needs: &[Vec<usize>], first: usize) -> Vec<Swap> {
    let mut swaps: Vec<Swap> = unseen(execution, first).into_iter().collect();
    let held = follows(execution, needs, first);
    let mut add =
        |second: Moment, name: Name, (plan, until): (Vec<Planned>, usize), is_far: bool| {
            swaps.push(Swap {
                first,
                second,
                is_stale: false,
                is_far,
                plan,
                until,
                names: [name_at(execution, first), name],
            });
        };
    let all = first + 1..execution.events.len();
    let later = all.filter(|&second| touch_the_same(execution, first, second));
    for second in later {
        let thread = execution.events[second].id.thread;
        let given_back = given_back(execution, second);
        let is_own = |at: usize| execution.events[at].id.thread == thread;
        // The release of a lock taken by the second event comes along, or the first could not
        // follow it.
        let is_inside = |at: usize| second < at && Some(at) <= given_back && is_own(at);
        let goes_first = |at: usize| at <= second && (!held[at] || is_own(at)) || is_inside(at);
        let (plan, before) = held_back(execution, first, goes_first, None);
        // A thread that keeps a lock or takes a permit blocks others; the run shows for how long.
        let is_at_once = match execution.events[first].operation.location() {
            Some(_) => true,
            None => given_back.is_some_and(|at| at > second),
        };
        let until = before + usize::from(is_at_once);
        let is_far = !is_free(execution, &held, second);
        add(
            Moment::At(second),
            name_at(execution, second),
            (plan, until),
            is_far,
        );
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
        add(Moment::Never(thread), name, plan, false);
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

/// If the access is stale: returns the exchange in which it takes the latest write.
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
        is_far: false,
        plan,
        until: second + 1,
        names: [first, second].map(|at| name_at(execution, at)),
    })
}

/// By event: true when it cannot precede the next event of the first event's thread.
fn follows(execution: &Execution, needs: &[Vec<usize>], first: usize) -> Vec<bool> {
    let thread = execution.events[first].id.thread;
    let mut held = vec![false; needs.len()];
    for at in first + 1..needs.len() {
        let is_own = execution.events[at].id.thread == thread;
        held[at] = is_own || needs[at].iter().any(|&needed| held[needed]);
    }
    held
}

/// True when the thread of the second event reaches it although others are held.
fn is_free(execution: &Execution, held: &[bool], second: usize) -> bool {
    let thread = execution.events[second].id.thread;
    let mut own = (0..second).filter(|&at| execution.events[at].id.thread == thread);
    !own.any(|at| held[at])
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
    if one.location().is_some() && one.location() == other.location() {
        return true;
    }
    let uses = |operation: &Operation| match operation {
        Operation::Receive { ports, .. } => execution.port_list(ports).to_vec(),
        operation => operation.object().into_iter().collect(),
    };
    let others = uses(other);
    uses(one).iter().any(|object| others.contains(object))
}

/// Returns the plan in which the first event follows the later ones that go first, and the number
/// of steps before it.
fn held_back(
    execution: &Execution,
    first: usize,
    goes_first: impl Fn(usize) -> bool,
    pending: Option<ThreadId>,
) -> (Vec<Planned>, usize) {
    let later = first + 1..execution.events.len();
    let (freed, rest): (Vec<usize>, Vec<usize>) = later.partition(|&at| goes_first(at));
    let mut until = first + freed.len();
    let order = (0..first).chain(freed).chain([first]).chain(rest);
    let mut plan = Planned::of(execution, order);
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
    (plan, until)
}
