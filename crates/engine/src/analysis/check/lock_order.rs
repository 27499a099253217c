//! Lock-order inversions, found in executions without a failure.
//!
//! A thread that takes a lock while it holds another makes an edge from the held lock to the taken
//! one. A cycle of edges of different threads could be a deadlock, unless one lock guards them all
//! or the modes of readers-writer locks are compatible (Goodlock, Havelund 2000). A search decides
//! whether the threads can get there at the same time. The order is reported in any case, because
//! the next change to the program may make the deadlock possible.

use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::object::effect::{Effect, Mode};
use crate::object::{Exclusion, Object};

/// A dangerous lock order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockOrder {
    /// Threads that take locks in a cycle.
    Circle(Vec<Nested>),
    /// A recursive read lock: if a writer waits in between, both may block forever.
    ReadAgain(Nested),
}

/// A lock taken while another is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// The thread.
    pub thread: ThreadId,
    /// The lock held.
    pub held: ObjectId,
    /// Source location at which it was taken.
    pub since: SiteId,
    /// The lock taken.
    pub taken: ObjectId,
    /// Source location at which it was taken.
    pub at: SiteId,
    /// Number of events of the thread before it took that lock.
    pub index: u32,
}

/// A lock that a thread holds.
#[derive(Clone, Copy)]
struct Held {
    object: ObjectId,
    mode: Mode,
    since: SiteId,
}

struct Edge {
    nested: Nested,
    held_mode: Mode,
    taken_mode: Mode,
    /// Other locks that the thread holds.
    guards: Vec<ObjectId>,
}

fn is_lock(object: &Object) -> bool {
    matches!(object.exclusion(), Exclusion::Lock { .. })
}

/// True when the execution has locks enough for a dangerous order: two, or one that a thread can
/// hold twice because it is shared.
pub fn is_possible(execution: &Execution) -> bool {
    let is_shared = |object: &Object| object.exclusion() == Exclusion::Lock { shared: true };
    let objects = &execution.objects;
    objects
        .iter()
        .filter(|object| is_lock(object))
        .nth(1)
        .is_some()
        || objects.iter().any(is_shared)
}

/// Returns the first dangerous lock order of an execution.
pub fn find(execution: &Execution) -> Option<LockOrder> {
    let mut held: Vec<Vec<Held>> = vec![Vec::new(); execution.threads.len()];
    let mut edges: Vec<Edge> = Vec::new();
    for event in &execution.events {
        let Some((object, effect)) = event.lock_effect() else {
            continue;
        };
        // A wait inside a monitor releases it, so nesting in it is not an inversion.
        if !is_lock(&execution.objects[object.index()]) {
            continue;
        }
        let thread = event.id.thread;
        let mine = &mut held[thread.index()];
        match effect {
            Effect::Take { mode, waits } => {
                for one in mine.iter().filter(|_| waits) {
                    let nested = Nested {
                        thread,
                        held: one.object,
                        since: one.since,
                        taken: object,
                        at: event.site,
                        index: event.id.index,
                    };
                    if one.object == object {
                        return Some(LockOrder::ReadAgain(nested));
                    }
                    let others = mine.iter().map(|other| other.object);
                    let guards = others.filter(|&other| other != one.object).collect();
                    edges.push(Edge {
                        nested,
                        held_mode: one.mode,
                        taken_mode: mode,
                        guards,
                    });
                }
                mine.push(Held {
                    object,
                    mode,
                    since: event.site,
                });
            }
            Effect::Release => {
                let position = mine.iter().rposition(|one| one.object == object);
                if let Some(position) = position {
                    mine.remove(position);
                }
            }
            Effect::Downgrade => {
                let mut locks = mine.iter_mut();
                if let Some(one) = locks.find(|one| one.object == object) {
                    one.mode = Mode::Read;
                }
            }
        }
    }
    let mut path = Vec::new();
    (0..edges.len()).find_map(|first| {
        path.clear();
        path.push(first);
        close(&edges, &mut path).then(|| {
            let circle = path.iter().map(|&edge| edges[edge].nested.clone());
            LockOrder::Circle(circle.collect())
        })
    })
}

/// Extends the path of edges to a cycle if possible.
fn close(edges: &[Edge], path: &mut Vec<usize>) -> bool {
    let (first, last) = (&edges[path[0]], &edges[path[path.len() - 1]]);
    if path.len() > 1 && follows(last, first) {
        return true;
    }
    for next in path[0] + 1..edges.len() {
        let edge = &edges[next];
        let fits = |&other: &usize| {
            let other = &edges[other];
            let guarded = edge.guards.iter().any(|lock| other.guards.contains(lock));
            edge.nested.thread != other.nested.thread
                && edge.nested.held != other.nested.held
                && !guarded
        };
        if follows(last, edge) && path.iter().all(fits) {
            path.push(next);
            if close(edges, path) {
                return true;
            }
            path.pop();
        }
    }
    false
}

/// True when the first blocks on a lock that the second holds.
fn follows(first: &Edge, second: &Edge) -> bool {
    first.nested.taken == second.nested.held && !first.taken_mode.goes_with(second.held_mode)
}
