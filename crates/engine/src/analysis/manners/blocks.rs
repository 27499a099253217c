//! Blocks that are not atomic: two uses of one atomic variable or lock by a thread, between which another thread
//! may use it, although it did not in this execution.
//!
//! A use of a lock is a critical section, as the data in it may be read and written. For a variable, only those
//! orders count that have no equivalent in which the two uses are next to each other: a write between two reads, a
//! read between two writes, and a write between a read and a write or a write and a read (Lu et al., AVIO, ASPLOS
//! 2006). Such an order is not a failure in itself.

use std::collections::{BTreeMap, HashSet};

use super::witness::{Point, Values, Witnesses};
use crate::base::ids::{SiteId, ThreadId};
use crate::check::held;
use crate::model::choice::Planned;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// A block, and a plan in which another thread's use is in its middle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The places of the first use, of the use of another thread, and of the second use.
    pub places: [SiteId; 3],
    /// The plan. The program need not follow it, as it may read other values.
    pub plan: Vec<Planned>,
}

/// An atomic variable or a lock, by its index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Thing {
    Location(usize),
    Lock(usize),
}

/// A use of a thing, from an event of a thread up to another.
#[derive(Clone, Copy, Debug)]
struct Use {
    thread: ThreadId,
    from: u32,
    to: u32,
    position: usize,
    site: SiteId,
    reads: bool,
    writes: bool,
}

/// Returns all uses of each thing, in the order of the run.
fn uses(execution: &Execution) -> BTreeMap<Thing, Vec<Use>> {
    let mut uses: BTreeMap<Thing, Vec<Use>> = BTreeMap::new();
    for (position, event) in execution.events.iter().enumerate() {
        let reads = !matches!(event.operation, Operation::Store { .. });
        let is_access = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Store { .. } | Operation::Update { .. }
        );
        if let Some(location) = event.operation.location().filter(|_| is_access) {
            let location = Thing::Location(location.index());
            uses.entry(location).or_default().push(Use {
                thread: event.id.thread,
                from: event.id.index,
                to: event.id.index + 1,
                position,
                site: event.site,
                reads,
                writes: event.writes(),
            });
        }
    }
    for hold in held::all(execution) {
        let Some(to) = hold.to else { continue };
        let (from, to) = (&execution.events[hold.from], &execution.events[to]);
        uses.entry(Thing::Lock(hold.object.index()))
            .or_default()
            .push(Use {
                thread: hold.thread,
                from: from.id.index,
                to: to.id.index + 1,
                position: hold.from,
                site: from.site,
                reads: true,
                writes: !hold.shared,
            });
    }
    uses
}

/// True when no order with the two uses of one thread next to each other has the same effect.
fn is_broken(first: &Use, between: &Use, second: &Use) -> bool {
    match between.writes {
        true => first.reads || second.reads,
        false => first.writes && second.writes,
    }
}

/// Returns at most `limit` blocks whose places are not known, and adds them to these.
pub fn broken(
    execution: &Execution,
    witnesses: &Witnesses<'_>,
    known: &mut HashSet<[SiteId; 3]>,
    limit: usize,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for uses in uses(execution).values() {
        for (index, second) in uses.iter().enumerate() {
            let mut earlier = uses[..index].iter().rev();
            let Some(first) = earlier.find(|one| one.thread == second.thread) else {
                continue;
            };
            for between in uses.iter().filter(|one| one.thread != second.thread) {
                if blocks.len() >= limit {
                    return blocks;
                }
                let places = [first.site, between.site, second.site];
                let was_between = (first.position..second.position).contains(&between.position);
                if was_between || !is_broken(first, between, second) || known.contains(&places) {
                    continue;
                }
                if let Some(plan) = plan(witnesses, first, between, second) {
                    known.insert(places);
                    blocks.push(Block { places, plan });
                }
            }
        }
    }
    blocks
}

/// Returns a plan that has the first use, then that of the other thread, and stops before the second one.
fn plan(
    witnesses: &Witnesses<'_>,
    first: &Use,
    between: &Use,
    second: &Use,
) -> Option<Vec<Planned>> {
    let point = |thread, index| Point { thread, index };
    let begun = point(first.thread, first.to);
    let limits = [begun, point(between.thread, between.from)];
    let start = witnesses.closure(&[begun], &limits, &[], Values::Any)?;
    let both = [
        point(second.thread, second.from),
        point(between.thread, between.to),
    ];
    let all = witnesses.closure(&both, &both, &[], Values::Any)?;
    Some(witnesses.plan_in_parts(&start, &all))
}
