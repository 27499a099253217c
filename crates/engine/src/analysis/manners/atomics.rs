//! Accesses of one atomic variable by two threads that may be pending at the same time.
//!
//! They are no data race. But where a program loses an update or sees half of a change, two such accesses come
//! in an order that it was not written for. As hybrid race detection does for plain variables, locks and the
//! order of threads by creation, join and notification rule pairs out; what atomic variables order does not
//! (O'Callahan, Choi, "Hybrid Dynamic Data Race Detection", PPoPP 2003).

use std::collections::{BTreeMap, HashSet};

use super::predict::order_without_locks_and_atomics;
use super::witness::{Point, Witnesses};
use crate::base::ids::{LocationId, ObjectId, SiteId, ThreadId};
use crate::check::held;
use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Two accesses of one variable, one of which may write, and a plan after which both are pending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflicting {
    /// The places of the accesses, in ascending order.
    pub places: [SiteId; 2],
    /// The plan, if the events of the execution have such an order.
    pub plan: Option<Vec<Planned>>,
}

/// A lock, and true if other threads may have it too.
type HeldLock = (ObjectId, bool);

/// An access, with the locks that its thread holds.
struct AtomicUse<'a> {
    event: &'a Event,
    may_write: bool,
    locks: Vec<HeldLock>,
}

/// The first and the last use of a location by a thread at a place.
type Ends<'a> = BTreeMap<(LocationId, ThreadId, SiteId), [AtomicUse<'a>; 2]>;

/// Returns the first and the last use of each location by each thread at each place.
fn ends(execution: &Execution) -> Ends<'_> {
    let holds = held::all(execution);
    let locks_at = |thread: ThreadId, position: usize| -> Vec<HeldLock> {
        let is_held = |hold: &&held::Held| {
            hold.thread == thread
                && hold.from < position
                && hold.to.is_none_or(|released| position < released)
        };
        let held = holds.iter().filter(is_held);
        held.map(|hold| (hold.object, hold.shared)).collect()
    };
    let mut ends = Ends::new();
    for (position, event) in execution.events.iter().enumerate() {
        let may_write = match event.operation {
            Operation::Load { .. } => false,
            Operation::Store { .. } | Operation::Update { .. } => true,
            _ => continue,
        };
        let Some(location) = event.operation.location() else {
            continue;
        };
        let this = || AtomicUse {
            event,
            may_write,
            locks: locks_at(event.id.thread, position),
        };
        let both = ends.entry((location, event.id.thread, event.site));
        let both = both.or_insert_with(|| [this(), this()]);
        both[1] = this();
    }
    ends
}

/// Returns at most `limit` pairs of accesses whose places are not known, and adds them to these.
pub fn conflicting(
    execution: &Execution,
    witnesses: &Witnesses<'_>,
    known: &mut HashSet<[SiteId; 2]>,
    limit: usize,
) -> Vec<Conflicting> {
    let ends = ends(execution);
    let order = order_without_locks_and_atomics(execution);
    let excludes = |one: &AtomicUse<'_>, other: &AtomicUse<'_>| {
        let mut both =
            (one.locks.iter()).flat_map(|it| other.locks.iter().map(move |that| (it, that)));
        both.any(|((first, shared), (second, also))| first == second && !(*shared && *also))
    };
    let may_meet = |one: &AtomicUse<'_>, other: &AtomicUse<'_>| {
        let (first, second) = (one.event.id, other.event.id);
        (one.may_write || other.may_write)
            && !excludes(one, other)
            && !order.is_covered(first, second)
            && !order.is_covered(second, first)
    };
    let mut found = Vec::new();
    let mut location_from = 0;
    let all: Vec<_> = ends.iter().collect();
    for (index, ((location, thread, site), uses)) in all.iter().enumerate() {
        if index > 0 && all[index - 1].0.0 != *location {
            location_from = index;
        }
        for ((_, other_thread, other_site), others) in &all[location_from..index] {
            let mut places = [*site, *other_site];
            places.sort();
            if thread == other_thread || known.contains(&places) {
                continue;
            }
            let mut pairs = uses
                .iter()
                .flat_map(|one| others.iter().map(move |it| (one, it)));
            let Some((one, other)) = pairs.find(|(one, other)| may_meet(one, other)) else {
                continue;
            };
            if found.len() >= limit {
                return found;
            }
            known.insert(places);
            let points = [one, other].map(|it| Point {
                thread: it.event.id.thread,
                index: it.event.id.index,
            });
            found.push(Conflicting {
                places,
                plan: witnesses.meeting(&points),
            });
        }
    }
    found
}
