//! The requirements that an execution covers, recorded as they are covered.
//!
//! An *interaction* of two source locations covers one to three requirements. Once executions have
//! covered all of them, they matter for combinations only, so the interaction is *settled*: a table
//! has the one row of [`Combinations`](super::combinations::Combinations) that it still marks. Row 0
//! is no requirement's: it is marked by interactions of requirements that are not combined.

use super::bits::Bits;
use super::catalogue::{Catalogue, Id, Requirement};
use super::combinations;
use super::metric::{Metric, Metrics};
use super::settled::Settled;
use crate::base::ids::SiteId;

/// The row of requirements that are not combined.
const NO_ROW: u32 = 0;

/// Interaction of two source locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interaction {
    /// Two consecutive holds of a lock by one thread.
    FollowsOwn = 1,
    /// The same by two threads.
    FollowsOther,
    /// A read or a write whose source is the initial value, or a write whose source is of its own
    /// thread.
    Uses,
    /// A read of a write of its own thread.
    ReadsOwn,
    /// A write whose source is of another thread.
    ReplacesOther,
    /// A read of a write of another thread.
    ReadsOther,
    /// A write directly after a read by another thread.
    WritesAfterRead,
    /// Two consecutive accesses.
    Adjoins,
    /// The first location takes a lock on which a thread blocks at the second.
    Blocks,
    /// The second location takes a lock while one is held that was taken at the first.
    Nests,
    /// The first location unblocks a thread that waits at the second.
    Wakes,
}

/// Source locations of a requirement, of those of its interaction.
#[derive(Clone, Copy)]
enum Places {
    First,
    Second,
    Both,
}

impl Interaction {
    fn requirements(self) -> &'static [(Metric, Places)] {
        use Places::{Both, First, Second};
        match self {
            Interaction::FollowsOwn => &[(Metric::SyncPair, Both)],
            Interaction::FollowsOther => &[(Metric::SyncPair, Both), (Metric::Follows, Both)],
            Interaction::Uses => &[(Metric::DefUse, Both)],
            Interaction::ReadsOwn => &[(Metric::DefUse, Both), (Metric::LocalDef, Second)],
            Interaction::ReplacesOther => &[(Metric::DefUse, Both), (Metric::PSet, Both)],
            Interaction::ReadsOther => &[
                (Metric::DefUse, Both),
                (Metric::PSet, Both),
                (Metric::RemoteDef, Second),
            ],
            Interaction::WritesAfterRead => &[(Metric::PSet, Both)],
            Interaction::Adjoins => &[(Metric::Adjacent, Both)],
            Interaction::Blocks => &[
                (Metric::BlockedPair, Both),
                (Metric::Blocking, First),
                (Metric::Blocked, Second),
            ],
            Interaction::Nests => &[(Metric::LockOrder, Both)],
            Interaction::Wakes => &[(Metric::WaitNotify, Both)],
        }
    }
}

/// Requirements covered by the current execution and by those before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    pub(crate) catalogue: Catalogue,
    /// Metrics that are measured or combined.
    wanted: Metrics,
    combined: Metrics,
    /// Requirements covered by finished executions.
    pub(super) covered: Bits,
    /// Requirements that the current execution is the first to cover.
    fresh: Bits,
    has_fresh: bool,
    /// The combined requirements that were covered; at most [`combinations::MOST`]. Each has a row
    /// of the combinations: its index here, plus one.
    members: Vec<Id>,
    /// By requirement: its row; [`NO_ROW`] if it has none.
    rows: Vec<u32>,
    /// Rows marked by the current execution.
    together: Bits,
    settled: Settled,
    /// True when adjacent accesses are measured, and with them the order in which requirements are
    /// covered.
    pub(super) keeps_order: bool,
    pub(super) order: Vec<Id>,
}

impl Board {
    pub(super) fn new(metrics: Metrics, combined: Metrics) -> Self {
        let wanted = metrics | combined;
        Board {
            wanted,
            combined,
            keeps_order: wanted.contains(Metric::Adjacent),
            ..Board::default()
        }
    }

    pub(crate) fn reset(&mut self) {
        if std::mem::take(&mut self.has_fresh) {
            self.fresh.clear();
        }
        self.together.clear();
        self.order.clear();
    }

    /// Ends the execution; returns the number of requirements that it is the first to cover.
    pub(super) fn finish(&mut self) -> u32 {
        match std::mem::take(&mut self.has_fresh) {
            false => 0,
            true => {
                let added = self.covered.absorb(&self.fresh);
                self.fresh.clear();
                added
            }
        }
    }

    /// Records an interaction.
    #[inline]
    pub(crate) fn cover(&mut self, interaction: Interaction, first: SiteId, second: SiteId) {
        match self.settled.get(key(interaction, first, second)) {
            Some(row) => self.together.insert_within(row as usize),
            None => self.cover_each(interaction, first, second),
        }
    }

    /// Records the requirements of an interaction.
    #[inline(never)]
    fn cover_each(&mut self, interaction: Interaction, first: SiteId, second: SiteId) {
        let (mut marked, mut marks, mut is_new) = (NO_ROW, 0, false);
        for &(metric, places) in interaction.requirements() {
            let id = self.catalogue.id(match places {
                Places::First => Requirement::at(metric, first),
                Places::Second => Requirement::at(metric, second),
                Places::Both => Requirement::pair(metric, first, second),
            });
            if !self.wanted.contains(metric) {
                continue;
            }
            if !self.covered.contains(id) {
                self.fresh.insert(id);
                self.has_fresh = true;
                is_new = true;
            }
            if self.combined.contains(metric) {
                marked = self.assign_row(id);
                self.together.insert(marked as usize);
                marks += 1;
            }
            if self.keeps_order && matches!(metric, Metric::SyncPair | Metric::Adjacent) {
                self.order.push(id);
            }
        }
        if !is_new && marks <= 1 && !self.keeps_order {
            self.together.insert(marked as usize);
            self.settled.insert(key(interaction, first, second), marked);
        }
    }

    /// Returns the row of a combined requirement; assigns one if it has none and there are fewer
    /// than the maximum.
    pub(super) fn assign_row(&mut self, id: Id) -> u32 {
        if id >= self.rows.len() {
            self.rows.resize(id + 1, NO_ROW);
        }
        if self.rows[id] == NO_ROW && self.members.len() < combinations::MOST {
            self.members.push(id);
            self.rows[id] = self.members.len() as u32;
        }
        self.rows[id]
    }

    /// Returns the row of a combined requirement that was covered.
    pub(super) fn row(&self, id: Id) -> Option<usize> {
        let row = self.rows.get(id).copied().unwrap_or(NO_ROW);
        (row != NO_ROW).then_some(row as usize)
    }

    /// Returns the requirement of a row.
    pub(super) fn member(&self, row: usize) -> Id {
        self.members[row - 1]
    }

    /// Returns the rows of the requirements that the current execution has covered.
    pub(super) fn together(&mut self) -> &Bits {
        self.together.remove(NO_ROW as usize);
        &self.together
    }

    /// True when the current execution has covered a combined requirement.
    pub(super) fn is_current(&self, id: Id) -> bool {
        match self.row(id) {
            Some(row) => self.together.contains(row),
            None => self.fresh.contains(id),
        }
    }
}

#[inline]
fn key(interaction: Interaction, first: SiteId, second: SiteId) -> u64 {
    (interaction as u64) << 60 | (first.index() as u64) << 30 | second.index() as u64
}
