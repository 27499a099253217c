//! Taking branches here and there, so that the first executions have little in common.
//!
//! In which order the tree of the search is walked makes no difference to what is in it. To take the
//! newest branch first needs least memory, but then executions differ for a long time only in what
//! happens last. So a search that may not come to its end begins otherwise: it takes a branch at random,
//! of the graph that was just run or of any that was run before, until there are too many graphs to keep
//! them all. No class is run twice, and if there is time for all of them, all of them are run.
//!
//! Which thread comes first is drawn too, once for a search: see [`Graph::shuffled`](super::graph::Graph::shuffled).

use super::Exhaustive;
use crate::base::rng::Rng;
use crate::search::explore::frame::{Branch, Change, Frame};

/// So many events may be in all graphs that are kept, roughly.
const MOST_EVENTS: usize = 200_000;
/// One in so many executions goes on from the one before, if that can be.
const GO_ON: usize = 3;
/// What differs in the order of writes only is put off so many times, if that is wanted.
const PUT_OFF: usize = 16;

/// Where the next branch is taken.
#[derive(Clone, Debug)]
pub(super) struct RandomOrder {
    rng: Rng,
    is_over: bool,
}

impl Exhaustive {
    /// The same search in an order that depends on the seed. What it has left cannot be written down.
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

    /// The same search, which puts off what differs in the order of writes only.
    pub fn sources_first(self) -> Self {
        Exhaustive {
            sources_first: true,
            ..self
        }
    }

    /// Makes what some branch leads to the newest graph; `false` if branches are to be taken in order.
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

/// Which branch to take; nothing if it is better to look elsewhere first.
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
    /// Makes this what a branch of `parent` leads to, which stays as it is.
    fn grow(&mut self, parent: &Frame, Branch { keep, change }: Branch, spare: &mut Vec<Frame>) {
        self.graph.clone_from(&parent.graph);
        self.steps.clone_from(&parent.steps);
        (self.in_order, self.is_mixed) = (parent.in_order, parent.is_mixed);
        self.branches.clear();
        self.truncate(keep);
        let (receive, send, companions) = match change {
            Change::Revisit { receive, send } => (receive, send, None),
            Change::RevisitGroup {
                meeting,
                newest,
                companions,
            } => (meeting, newest, Some(companions)),
            change => return self.make(change),
        };
        let whole = std::mem::replace(self, spare.pop().unwrap_or_default());
        self.revisit(&whole, receive, send, companions);
        spare.push(whole);
    }
}
