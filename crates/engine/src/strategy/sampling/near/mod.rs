//! Schedules of the operations near a change of the program.
//!
//! Most operations of a program cannot tell whether they come before or after a changed one. So threads run up to their
//! next operation near the change, and only there is a thread chosen: the schedules are those of a small program,
//! whatever is around the change. [`NearWalk`] draws them at random, [`NearOrders`] runs each order once.

mod orders;
mod reversals;
mod turns;
mod walk;

pub use orders::NearOrders;
pub use walk::NearWalk;

use std::collections::HashSet;

use super::Impact;
use super::target::Thing;
use crate::base::ids::{SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Source locations of the operations near a change.
///
/// These are the given ones; in a *wide* region also those that use the same location or object as one of them: the
/// reader of what a changed writer writes. What one thread only uses is left out once an execution has shown it.
#[derive(Clone, Debug)]
struct Region {
    impact: Impact,
    is_wide: bool,
    /// Source locations that were added to the given ones.
    added: HashSet<SiteId>,
    /// By source location, once an execution has come to it.
    known: Vec<Option<bool>>,
    /// By location or object, for the execution that is looked at.
    uses: Vec<Use>,
}

/// Uses of a location or an object in an execution.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    by: Option<ThreadId>,
    is_shared: bool,
    is_near: bool,
}

impl Region {
    fn new(impact: Impact) -> Self {
        Region {
            impact,
            is_wide: false,
            added: HashSet::new(),
            known: Vec::new(),
            uses: Vec::new(),
        }
    }

    /// True when operations at the source location are near the change.
    fn contains(&mut self, site: SiteId) -> bool {
        let known = self.known.get(site.index()).copied().flatten();
        known.unwrap_or_else(|| self.impact.contains(site))
    }

    /// Makes a source location one of the region, and in a wide region what it uses.
    fn add(&mut self, site: SiteId) {
        self.added.insert(site);
    }

    /// True for a source location that was given.
    fn is_given(&mut self, site: SiteId) -> bool {
        self.impact.contains(site)
    }

    /// Learns which source locations use the same, and what is shared.
    fn learn(&mut self, execution: &Execution) {
        let Region {
            impact,
            is_wide,
            added,
            known,
            uses,
        } = self;
        let mut is_given = |site| impact.contains(site) || added.contains(&site);
        uses.clear();
        for (thread, thing, site) in all_uses(execution) {
            if uses.len() <= thing.index() {
                uses.resize(thing.index() + 1, Use::default());
            }
            let uses = &mut uses[thing.index()];
            let by = *uses.by.get_or_insert(thread);
            uses.is_shared |= by != thread;
            uses.is_near |= is_given(site);
        }
        for (_, thing, site) in all_uses(execution) {
            if known.len() <= site.index() {
                known.resize(site.index() + 1, None);
            }
            let uses = uses[thing.index()];
            let is_near = uses.is_near && (*is_wide || is_given(site));
            *known[site.index()].get_or_insert(false) |= is_near && uses.is_shared;
        }
    }

    /// Returns the location or object of an operation of a learned execution, if it is near the change and several threads
    /// use it.
    fn thing(&mut self, operation: &Operation, site: SiteId) -> Option<Thing> {
        let thing = Thing::of(operation)?;
        let is_shared = self.uses.get(thing.index()).is_some_and(|it| it.is_shared);
        (is_shared && self.contains(site)).then_some(thing)
    }
}

/// Returns what the events of an execution use, and the operations of threads that are blocked at its end.
fn all_uses(execution: &Execution) -> impl Iterator<Item = (ThreadId, Thing, SiteId)> {
    let events = execution.events.iter();
    let events = events.map(|event| (event.id.thread, &event.operation, event.site));
    let uses = events.chain(blocked(execution));
    uses.filter_map(|(thread, operation, site)| Some((thread, Thing::of(operation)?, site)))
}

/// Returns the operations of threads that are blocked at the end of an execution.
fn blocked(execution: &Execution) -> impl Iterator<Item = (ThreadId, &Operation, SiteId)> {
    let pending = execution.pending.iter().enumerate();
    pending.filter_map(|(thread, pending)| {
        let (operation, site) = pending.as_ref()?;
        Some((ThreadId::new(thread), operation, *site))
    })
}
