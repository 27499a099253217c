//! Metrics about memory: the write that a read or a write follows.
//!
//! σ is the execution as the list of its events, v a location (an atomic variable). The *source* of
//! a read is the write that it takes its value from, that of a write its predecessor in coherence
//! order; under sequential consistency both are the last write of v before it. An atomic update is
//! a read, and also a write if it writes. The initial value is written where the variable is made,
//! by no thread: it counts for def-use only.
//!
//! - `def-use(l1, l2)`: σ\[j\] is a read or a write at l2, and its source is at l1.
//! - `local-def(l)`: σ\[j\] is a read at l, and its source is of the same thread; `remote-def(l)`:
//!   of another. Both together are LR-Def.
//! - `pset(l1, l2)`: `def-use(l1, l2)` with different threads; or σ\[i\] at l1 only reads, σ\[j\]
//!   at l2 is a write by another thread, and no access of v is between them.
//! - `adjacent(l1, l2)`: σ\[i\] at l1 and σ\[j\] at l2 are accesses of v, and no access of v is
//!   between them.
//!
//! Accesses of cells are not events, so they are not measured. In a program without data races they
//! are ordered by locks or atomics, which are.
//!
//! From Hong (2015), appendix A and section 5.3.2, with the corrections that the prose asks for;
//! PSet is by Yu and Narayanasamy, def-use by Tasiran and others.

use super::board::{Board, Interaction};
use crate::base::ids::{EventId, LocationId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::operation::Operation;

/// A read that no access has followed.
type Read = (SiteId, ThreadId);

/// Accesses of a location.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variable {
    /// The last write in the order of the run, and its source location.
    write: Option<(EventId, SiteId)>,
    /// The last access, if it was only a read.
    read: Option<Read>,
    /// The last access, if adjacent accesses are measured.
    access: Option<SiteId>,
}

/// Accesses of the locations of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// By location.
    variables: Vec<Variable>,
}

impl Data {
    pub(crate) fn reset(&mut self) {
        self.variables.clear();
    }

    /// Makes room for this many locations.
    pub(crate) fn reserve(&mut self, locations: usize) {
        if locations > self.variables.len() {
            self.variables.resize(locations, Variable::default());
        }
    }

    /// Returns the last access, if it was only a read.
    pub(crate) fn last_read(&self, location: LocationId) -> Option<Read> {
        self.variables.get(location.index())?.read
    }

    /// Returns the last access, if adjacent accesses are measured.
    pub(crate) fn last_access(&self, location: LocationId) -> Option<SiteId> {
        self.variables.get(location.index())?.access
    }

    #[inline]
    pub(crate) fn variable(&mut self, location: LocationId) -> &mut Variable {
        &mut self.variables[location.index()]
    }
}

impl Variable {
    /// Returns the source location of a write, if it is the last one.
    #[inline]
    pub(crate) fn site(&self, id: EventId) -> Option<SiteId> {
        self.write
            .filter(|(write, _)| *write == id)
            .map(|(_, site)| site)
    }

    /// Records an access, with the source location and thread of its source; the initial value has
    /// no thread.
    #[inline]
    pub(crate) fn see(
        &mut self,
        event: &Event,
        source: Option<(SiteId, Option<ThreadId>)>,
        board: &mut Board,
    ) {
        let (site, thread) = (event.site, event.id.thread);
        let reads = matches!(
            event.operation,
            Operation::Load { .. } | Operation::Update { .. }
        );
        if let Some((written, writer)) = source {
            let by_other = writer.is_some_and(|writer| writer != thread);
            let interaction = match (by_other, reads) {
                (true, true) => Interaction::ReadsOther,
                (true, false) => Interaction::ReplacesOther,
                (false, true) if writer.is_some() => Interaction::ReadsOwn,
                (false, _) => Interaction::Uses,
            };
            board.cover(interaction, written, site);
        }
        match event.writes() {
            true => {
                self.write = Some((event.id, site));
                if let Some((read, reader)) = self.read.take()
                    && reader != thread
                {
                    board.cover(Interaction::WritesAfterRead, read, site);
                }
            }
            false => self.read = Some((site, thread)),
        }
        if board.keeps_order
            && let Some(before) = self.access.replace(site)
        {
            board.cover(Interaction::Adjoins, before, site);
        }
    }
}
