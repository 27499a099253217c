//! Block races of blocks that the program does not declare: two consecutive uses of one atomic variable or lock by a
//! thread, between which another thread may use it, although it did not in this execution.
//!
//! Every critical section uses the data in its lock here, as it may guard other data. Such an order is not a failure
//! in itself, and few of these blocks are meant to be atomic.

use std::collections::{BTreeMap, HashSet};

use super::uses::{self, Sections, Use};
use crate::base::ids::SiteId;
use crate::manners::witness::{Point, Values, Witnesses};
use crate::model::choice::Planned;
use crate::model::declared::Datum;
use crate::model::execution::Execution;

/// Two consecutive uses, and a plan in which another thread's use is between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The places of the first use, of the use of another thread, and of the second use.
    pub places: [SiteId; 3],
    /// The plan. The program need not follow it, as it may read other values.
    pub plan: Vec<Planned>,
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
    let mut by_datum: BTreeMap<Datum, Vec<Use>> = BTreeMap::new();
    for one in uses::all(execution, Sections::All) {
        if one.access.is_none() {
            by_datum.entry(one.datum).or_default().push(one);
        }
    }
    let mut blocks = Vec::new();
    for uses in by_datum.values() {
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
                let was_between = (first.span[0]..second.span[0]).contains(&between.span[0]);
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
