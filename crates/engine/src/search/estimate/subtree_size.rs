//! Expected number of classes behind a branch, learned from earlier samples.
//!
//! The kind of change and the number of events left to insert predict the size of a subtree well. A
//! better prediction makes an estimate more precise; a bad one never biases it.

use crate::memory::clock::covers;
use crate::search::explore::frame::{Branch, Change, Frame};

/// The properties of a branch that are known before it is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchShape {
    /// Kind of change.
    kind: usize,
    /// Number of events of the parent that are not kept.
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

/// Mean subtree sizes by shape.
#[derive(Debug, Default)]
pub(crate) struct SubtreeSizes {
    /// By kind, and by number of events left.
    sums: Vec<Vec<SizeSum>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SizeSum {
    count: f64,
    sum: f64,
}

/// Minimum number of sizes for a mean.
const ENOUGH: f64 = 4.0;
/// Maximum difference, in events, between shapes that are averaged; beyond it they are unrelated.
const FAR: usize = 40;
/// Least predicted size, because samples may have missed the classes of a subtree that seemed
/// empty.
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

    /// Returns the mean size of branches with this shape, or with a similar one.
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
