//! The backward slice of a failure, and the order in which a passing execution differs there.
//!
//! The slice of some threads up to some of their events contains those events in program order. For
//! each event that receives something (a value, a message, a lock, the end of a thread) it also
//! contains the slice up to its source. The program's behaviour there depends on nothing else, so
//! an execution that differs only outside of the slice fails as well. Comparing a failing with a
//! passing execution inside the slice follows Johnson et al. ("Differential Slicing", IEEE S&P
//! 2011).

use std::collections::HashSet;

use crate::base::ids::{EventId, LocationId, ObjectId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::effect::Effect;

/// A location or object that two events may conflict on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// A memory location.
    Location(LocationId),
    /// A synchronization object.
    Object(ObjectId),
}

impl Target {
    /// Returns the targets of an operation.
    pub fn of<'a>(
        execution: &'a Execution,
        operation: &'a Operation,
    ) -> impl Iterator<Item = Target> + use<'a> {
        let (ports, object) = match operation {
            Operation::Receive { ports, .. } => (execution.port_list(ports), None),
            _ => (Default::default(), operation.object()),
        };
        let objects = ports.iter().copied().chain(object);
        let location = operation.location().map(Target::Location);
        location.into_iter().chain(objects.map(Target::Object))
    }
}

/// Number of events of each thread in the slice of a failing execution.
struct Slice {
    lengths: Vec<u32>,
    open: Vec<(ThreadId, u32)>,
}

impl Slice {
    fn add(&mut self, thread: ThreadId, length: u32) {
        if self.lengths[thread.index()] < length {
            self.lengths[thread.index()] = length;
            self.open.push((thread, length));
        }
    }

    fn add_event(&mut self, event: EventId) {
        self.add(event.thread, event.index + 1);
    }
}

/// Returns the targets of events in the slice of `roots` that have another source in the passing
/// execution. Roots are threads of the failing execution, each with a number of its events. Events of
/// a thread are compared as long as the thread does the same in both executions.
pub fn changed(
    failing: &Execution,
    passing: &Execution,
    roots: &[(ThreadId, u32)],
) -> HashSet<Target> {
    let by_thread = [failing, passing].map(by_thread);
    let counterparts = threads_in(failing, passing);
    let back = threads_in(passing, failing);
    let there = |id: EventId| {
        let thread = counterparts[id.thread.index()]?;
        let index = id.index;
        Some(EventId { thread, index })
    };
    let here = |id: EventId| {
        let thread = back[id.thread.index()]?;
        let index = id.index;
        Some(EventId { thread, index })
    };
    let mut slice = Slice {
        lengths: vec![0; failing.threads.len()],
        open: Vec::new(),
    };
    for &(thread, length) in roots {
        slice.add(thread, length);
    }
    let mut changed = HashSet::new();
    while let Some((thread, length)) = slice.open.pop() {
        let own = &by_thread[0][thread.index()];
        let other = counterparts[thread.index()].map(|thread| &by_thread[1][thread.index()]);
        let own = own.iter().take(length as usize);
        for (&one, &other) in own.zip(other.into_iter().flatten()) {
            let (one, other) = (&failing.events[one], &passing.events[other]);
            if one.operation.label() != other.operation.label() || one.site != other.site {
                break;
            }
            match one.operation {
                Operation::Begin => {
                    let creator = failing.threads[thread.index()].spawned_by;
                    creator.into_iter().for_each(|id| slice.add_event(id));
                }
                Operation::Join { target } => {
                    let end = failing.threads[target.index()].end;
                    end.into_iter().for_each(|id| slice.add_event(id));
                }
                _ if !receives(one) => {}
                _ => {
                    let then = other.source.and_then(here);
                    let sources = one.source.into_iter().chain(then);
                    sources.for_each(|id| slice.add_event(id));
                    if one.source.and_then(there) != other.source
                        || one.source.is_some() != other.source.is_some()
                    {
                        changed.extend(Target::of(failing, &one.operation));
                    }
                }
            }
        }
    }
    changed
}

/// Returns the positions of each thread's events.
fn by_thread(execution: &Execution) -> Vec<Vec<usize>> {
    let mut positions = vec![Vec::new(); execution.threads.len()];
    for (position, event) in execution.events.iter().enumerate() {
        positions[event.id.thread.index()].push(position);
    }
    positions
}

/// Returns for each thread the same thread of the other execution.
fn threads_in(execution: &Execution, other: &Execution) -> Vec<Option<ThreadId>> {
    let threads = (0..execution.threads.len()).map(ThreadId::new);
    threads
        .map(|thread| other.thread_at(&execution.path(thread)))
        .collect()
}

/// True when the source of the event is more than a position in an order: the thread receives
/// something.
fn receives(event: &Event) -> bool {
    match event.operation {
        Operation::Load { .. }
        | Operation::Update { .. }
        | Operation::IsFinished { .. }
        | Operation::Receive { .. }
        | Operation::Meet { .. }
        | Operation::Leads { .. } => true,
        Operation::Call { .. } => !matches!(event.lock_effect(), Some((_, Effect::Release))),
        _ => false,
    }
}

/// True when the thread holds the lock after the first `after` events.
pub fn holds(execution: &Execution, thread: ThreadId, lock: ObjectId, after: usize) -> bool {
    let events = execution.events[..after.min(execution.events.len())].iter();
    let mut effects = events
        .rev()
        .filter(|event| event.id.thread == thread)
        .filter_map(|event| event.lock_effect().filter(|&(object, _)| object == lock));
    let last = effects.next();
    last.is_some_and(|(_, effect)| effect != Effect::Release)
}
