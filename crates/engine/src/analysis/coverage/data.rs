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

use super::board::Board;
use super::metric::Metric;
use crate::base::ids::{LocationId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::operation::Operation;

/// A read that no access has followed.
type Read = (SiteId, ThreadId);

/// Accesses of the locations of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    /// By location: the last access, if it was only a read.
    reads: Vec<Option<Read>>,
    /// By location: the last access, if adjacent accesses are measured.
    accesses: Vec<Option<SiteId>>,
}

impl Data {
    pub(crate) fn reset(&mut self) {
        self.reads.fill(None);
        self.accesses.clear();
    }

    /// Returns the last access, if it was only a read.
    pub(crate) fn last_read(&self, location: LocationId) -> Option<Read> {
        self.reads.get(location.index()).copied().flatten()
    }

    /// Records an access, with the source location and thread of its source; the initial value has
    /// no thread.
    #[inline]
    pub(crate) fn see(
        &mut self,
        event: &Event,
        location: LocationId,
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
            board.use_of(written, site, by_other);
            if reads && writer.is_some() {
                let metric = match by_other {
                    true => Metric::RemoteDef,
                    false => Metric::LocalDef,
                };
                board.cover(metric, site);
            }
        }
        if location.index() >= self.reads.len() {
            self.reads.resize(location.index() + 1, None);
        }
        let last = &mut self.reads[location.index()];
        match event.writes() {
            true => {
                if let Some((read, reader)) = last.take()
                    && reader != thread
                {
                    board.cover_pair(Metric::PSet, read, site);
                }
            }
            false => *last = Some((site, thread)),
        }
        if board.keeps_order {
            if location.index() >= self.accesses.len() {
                self.accesses.resize(location.index() + 1, None);
            }
            if let Some(before) = self.accesses[location.index()].replace(site) {
                board.adjoin(before, site);
            }
        }
    }
}
