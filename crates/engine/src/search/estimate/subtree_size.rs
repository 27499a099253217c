//! How many classes a branch leads to, learned from what earlier samples found.
//!
//! What a branch changes and how many events are left to insert after it say much about the size
//! of its tree. A better guess makes an estimate more precise; a bad one never makes it wrong.

use crate::memory::clock::covers;
use crate::search::explore::frame::{Branch, Change, Frame};

/// What is known about a branch before it is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchShape {
    /// What is changed.
    kind: usize,
    /// How many events of the parent are not kept.
    left: usize,
}

impl BranchShape {
    pub(crate) fn at(frame: &Frame, branch: Branch) -> Self {
        let graph = &frame.graph;
        let (kind, kept) = match branch.change {
            Change::Revisit { receive, send } => {
                let prefix = graph.causal(send);
                let first = graph.node(receive).stamp as usize + 1;
                let after = &graph.order[first..branch.keep];
                let kept = after.iter().filter(|&&event| covers(prefix, event)).count();
                (0, first + kept)
            }
            Change::RevisitGroup { .. } => (1, branch.keep),
            Change::Source { .. } => (2, branch.keep),
            Change::Place { .. } => (3, branch.keep),
            Change::PlaceForRead { .. } => (4, branch.keep),
            Change::Complete { .. } => (5, branch.keep),
            Change::Choose { .. } => (6, branch.keep),
            Change::Take { .. } | Change::Deliver { .. } => (7, branch.keep),
            Change::Regroup { .. } => (8, branch.keep),
        };
        BranchShape {
            kind,
            left: graph.order.len() - kept,
        }
    }
}

/// Mean sizes by look.
#[derive(Debug, Default)]
pub(crate) struct SubtreeSizes {
    /// By kind and by what is left.
    sums: Vec<Vec<SizeSum>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SizeSum {
    count: f64,
    sum: f64,
}

/// So many sizes make a mean.
const ENOUGH: f64 = 4.0;
/// Looks that differ by more events than this are not alike.
const FAR: usize = 40;
/// A tree that seemed empty may have been unlucky.
const LEAST: f64 = 0.05;

impl SubtreeSizes {
    pub(crate) fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    pub(crate) fn learn(&mut self, shape: BranchShape, size: f64) {
        if self.sums.len() <= shape.kind {
            self.sums.resize_with(shape.kind + 1, Vec::new);
        }
        let row = &mut self.sums[shape.kind];
        if row.len() <= shape.left {
            row.resize(shape.left + 1, SizeSum::default());
        }
        row[shape.left].count += 1.0;
        row[shape.left].sum += size;
    }

    /// The mean size of branches with that look, or with one close to it.
    pub(crate) fn size(&self, shape: BranchShape) -> f64 {
        if self.is_empty() {
            return shape.left as f64 + 1.0;
        }
        let row = self.sums.get(shape.kind).map_or(&[][..], Vec::as_slice);
        let mut near = SizeSum::default();
        for distance in 0..FAR {
            let above = row.get(shape.left + distance);
            let below = (shape.left.checked_sub(distance).filter(|_| distance > 0))
                .and_then(|left| row.get(left));
            for sums in above.into_iter().chain(below) {
                near.count += sums.count;
                near.sum += sums.sum;
            }
            if near.count >= ENOUGH {
                break;
            }
        }
        match near.count > 0.0 {
            true => (near.sum / near.count).max(LEAST),
            false => 1.0,
        }
    }
}
