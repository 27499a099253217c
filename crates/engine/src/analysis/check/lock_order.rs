//! Lock-order inversions, found in executions without a failure.
//!
//! A thread that takes a lock while it holds another makes an edge from the held lock to the taken
//! one. A cycle of edges of different threads could be a deadlock, unless one lock guards them all
//! or the modes of readers-writer locks are compatible (Goodlock, Havelund 2000). A search decides
//! whether the threads can get there at the same time. The order is reported in any case, because
//! the next change to the program may make the deadlock possible.

use std::collections::HashSet;

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

/// Maximum number of paths that are extended while a circle is looked for that is not known: there are
/// exponentially many in an execution with many locks.
const MOST_PATHS: u32 = 10_000;

/// Returns the first dangerous lock order of an execution.
pub fn find(execution: &Execution) -> Option<LockOrder> {
    let (edges, again) = edges(execution);
    if let Some(nested) = again {
        return Some(LockOrder::ReadAgain(nested));
    }
    circle(&edges, |_| true, u32::MAX).map(LockOrder::Circle)
}

/// Returns a circle of locks whose sites of the second locks are not known.
pub fn find_other(
    execution: &Execution,
    is_known: impl Fn(&[SiteId]) -> bool,
) -> Option<Vec<Nested>> {
    let (mut edges, _) = edges(execution);
    let mut seen = HashSet::new();
    // A loop has the same edges in each round.
    edges.retain(|edge| {
        let Nested {
            thread,
            held,
            taken,
            at,
            ..
        } = edge.nested;
        seen.insert((thread, held, taken, at))
    });
    let is_new = |path: &[&Edge]| {
        let sites: Vec<_> = path.iter().map(|edge| edge.nested.at).collect();
        !is_known(&sites)
    };
    circle(&edges, is_new, MOST_PATHS)
}

/// Returns the nested locks of an execution, and the first lock that a thread takes while it has it.
fn edges(execution: &Execution) -> (Vec<Edge>, Option<Nested>) {
    let mut again = None;
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
                        again.get_or_insert(nested);
                        continue;
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
    (edges, again)
}

/// Returns the first circle of edges that is wanted, unless that takes too many paths.
fn circle(
    edges: &[Edge],
    is_wanted: impl Fn(&[&Edge]) -> bool,
    mut paths: u32,
) -> Option<Vec<Nested>> {
    let mut path = Vec::new();
    for first in 0..edges.len() {
        path.clear();
        path.push(first);
        if close(edges, &mut path, &is_wanted, &mut paths) {
            let circle = path.iter().map(|&edge| edges[edge].nested.clone());
            return Some(circle.collect());
        }
    }
    None
}

/// Extends the path of edges to a cycle if possible.
fn close(
    edges: &[Edge],
    path: &mut Vec<usize>,
    is_wanted: &impl Fn(&[&Edge]) -> bool,
    paths: &mut u32,
) -> bool {
    let (first, last) = (&edges[path[0]], &edges[path[path.len() - 1]]);
    if path.len() > 1 && follows(last, first) {
        let circle: Vec<_> = path.iter().map(|&edge| &edges[edge]).collect();
        return is_wanted(&circle);
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
            *paths = paths.saturating_sub(1);
            if *paths == 0 {
                return false;
            }
            path.push(next);
            if close(edges, path, is_wanted, paths) {
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
