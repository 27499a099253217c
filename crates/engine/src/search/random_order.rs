//! Random order of branches, so that early executions have little in common.
//!
//! The order in which the tree is walked does not change its classes. Newest branch first needs the
//! least memory, but then executions differ only near their ends for a long time. A search that may
//! be stopped early begins differently: it takes a random branch of the last graph or of any
//! earlier one, until too many graphs are stored. No class is run twice, and all are run if time
//! allows.
//!
//! The canonical order of threads is random as well, once per search: see
//! [`Graph::shuffled`](super::graph::Graph::shuffled).

use super::Exhaustive;
use crate::base::rng::Rng;
use crate::search::explore::frame::{Branch, Change, Frame};

/// Maximum events in all stored graphs together, approximately; bounds the memory.
const MOST_EVENTS: usize = 200_000;
/// Number of executions of which one continues from the one before.
const GO_ON: usize = 3;
/// Mean number of times that a graph with only coherence branches left is skipped, if these are
/// deferred.
const PUT_OFF: usize = 16;

/// State of the random order.
#[derive(Clone, Debug)]
pub(super) struct RandomOrder {
    rng: Rng,
    is_over: bool,
}

impl Exhaustive {
    /// Makes the search walk the tree in an order that depends on the seed. The rest of such a
    /// search cannot be saved.
    pub fn scattered(self, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Exhaustive {
            order: rng.below(usize::MAX) as u64 | 1,
            random_order: Some(RandomOrder {
                rng,
                is_over: false,
            }),
            ..self
        }
    }

    /// Defers branches that change only coherence.
    pub fn sources_first(self) -> Self {
        Exhaustive {
            sources_first: true,
            ..self
        }
    }

    /// Makes the graph of a random branch the newest one; returns `false` when branches are to be
    /// taken in order.
    pub(super) fn take_random(&mut self) -> bool {
        let Some(random_order) = &mut self.random_order else {
            return false;
        };
        let rng = &mut random_order.rng;
        while let Some(last) = self.frames.len().checked_sub(1) {
            let length = self.frames[last].graph.order.len();
            random_order.is_over |= self.frames.len() * length > MOST_EVENTS;
            if random_order.is_over {
                return false;
            }
            let index = match rng.below(GO_ON) {
                0 => last,
                _ => rng.below(last + 1),
            };
            let frame = &mut self.frames[index];
            if frame.branches.is_empty() {
                self.spare.push(self.frames.swap_remove(index));
                continue;
            }
            let Some(position) = draw(&frame.branches, self.sources_first, rng) else {
                continue;
            };
            let branch = frame.branches.remove(position);
            let mut child = self.spare.pop().unwrap_or_default();
            child.grow(frame, branch, &mut self.spare);
            self.frames.push(child);
            return true;
        }
        false
    }
}

/// Draws the position of the next branch; `None` to try another graph first.
fn draw(branches: &[Branch], sources_first: bool, rng: &mut Rng) -> Option<usize> {
    let is_order = |branch: &Branch| {
        matches!(
            branch.change,
            Change::Place { .. } | Change::PlaceForRead { .. }
        )
    };
    let others = branches.iter().filter(|&it| !is_order(it)).count();
    if !sources_first || others == branches.len() || others == 0 && rng.below(PUT_OFF) == 0 {
        return Some(rng.below(branches.len()));
    }
    let chosen = rng.below(others.max(1));
    let mut positions = (0..branches.len()).filter(|&at| !is_order(&branches[at]));
    positions.nth(chosen)
}

impl Frame {
    /// Makes this frame the result of taking `branch` in `parent`, which stays as it is.
    fn grow(&mut self, parent: &Frame, Branch { keep, change }: Branch, spare: &mut Vec<Frame>) {
        self.graph.clone_from(&parent.graph);
        self.steps.clone_from(&parent.steps);
        (self.in_order, self.is_mixed) = (parent.in_order, parent.is_mixed);
        self.branches.clear();
        self.truncate(keep);
        let (receive, send, companions) = match change {
            Change::Revisit { receive, send } => (receive, send, None),
            Change::RevisitGroup {
                pass,
                newest,
                companions,
            } => (pass, newest, Some(companions)),
            change => return self.make(change),
        };
        let whole = std::mem::replace(self, spare.pop().unwrap_or_default());
        self.revisit(&whole, receive, send, companions);
        spare.push(whole);
    }
}
