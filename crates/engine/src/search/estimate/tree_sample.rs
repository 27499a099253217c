//! One random sample of the search tree, generation by generation; see `mod.rs`.

use super::subtree_size::{BranchShape, SubtreeSizes};
use super::systematic_sample::systematic_sample;
use crate::base::rng::Rng;
use crate::search::explore::frame::{Branch, Change, Frame};

/// Number of graphs drawn for each one that is run, if the tree has memory accesses: some drawn
/// graphs are inconsistent.
const DRAWN: usize = 4;
/// Share of the mean size added to each expected size, so that no graph has too small a
/// probability.
const DEFENCE: f64 = 0.3;

/// One sample of the tree.
#[derive(Debug, Default)]
pub(crate) struct TreeSample {
    /// Graphs of this generation that are still to be run.
    pub(crate) generation: Vec<SampledFrame>,
    /// Graphs that were run and have branches, which lead to the next generation.
    parents: Vec<Parent>,
    /// True when some of these graphs have memory accesses.
    has_memory: bool,
    /// Index, in `taken`, of the branch that is being run.
    pub(crate) running: Option<usize>,
    pub(crate) taken: Vec<TakenBranch>,
    /// Weighted numbers of classes, of runs and of branches.
    pub(crate) total: f64,
    pub(crate) runs: f64,
    pub(crate) branches: f64,
    /// True when some graphs were left out.
    pub(crate) thinned: bool,
    /// Number of events of the longest execution.
    pub(crate) longest: usize,
}

/// A graph with its weight, the inverse of the probability that it was selected.
#[derive(Debug)]
pub(crate) struct SampledFrame {
    pub(crate) frame: Frame,
    /// Index of the branch that led here; `None` for the root.
    pub(crate) taken: Option<usize>,
    pub(crate) weight: f64,
}

/// A graph with branches.
#[derive(Debug)]
struct Parent {
    sample: SampledFrame,
    /// Index of the frame of the search with this graph, which is copied when a child is created.
    /// Copies of all frames of a deep search would take much memory, and few have drawn children.
    of_search: Option<usize>,
}

impl Parent {
    fn frame<'a>(&'a self, search: &'a [Frame]) -> &'a Frame {
        match self.of_search {
            Some(index) => &search[index],
            None => &self.sample.frame,
        }
    }
}

/// A branch that was taken.
#[derive(Debug)]
pub(crate) struct TakenBranch {
    parent: Option<usize>,
    shape: BranchShape,
    pub(crate) weight: f64,
    /// Weighted number of classes in its subtree.
    pub(crate) total: f64,
    /// True when it was drawn but then left out.
    left_out: bool,
}

/// Drawn children, which are created one by one: many may be inconsistent, and all at once would
/// take much memory.
pub(crate) struct DrawnChildren {
    parents: Vec<Parent>,
    /// By parent, the last branch first.
    children: std::vec::IntoIter<Child>,
    /// All children of the parents before this index have been created.
    parent: usize,
}

/// A child, with the probability of being drawn.
struct Child {
    parent: usize,
    position: usize,
    shape: BranchShape,
    share: f64,
}

impl TreeSample {
    /// Starts from the branches of the search, or from the empty graph if it has run nothing. The
    /// search must not go on before the first children are created.
    pub(crate) fn new(search: &[Frame], empty: Option<Frame>) -> Self {
        let sample = |frame| SampledFrame {
            frame,
            taken: None,
            weight: 1.0,
        };
        let mut tree = TreeSample {
            generation: empty.map(sample).into_iter().collect(),
            ..TreeSample::default()
        };
        let frames = search.iter().enumerate();
        for (index, frame) in frames.filter(|(_, frame)| !frame.branches.is_empty()) {
            tree.has_memory |= frame.graph.memory > 0;
            tree.parents.push(Parent {
                sample: sample(Frame::default()),
                of_search: Some(index),
            });
        }
        tree
    }

    /// Records a run; `counts` is true when its class counts.
    pub(crate) fn end(&mut self, frame: Frame, counts: bool) {
        let taken = self.running.take();
        let weight = taken.map_or(1.0, |taken| self.taken[taken].weight);
        self.runs += weight;
        self.longest = self.longest.max(frame.steps.len());
        if counts {
            self.total += weight;
            if let Some(taken) = taken {
                self.taken[taken].total += weight;
            }
        }
        self.keep(SampledFrame {
            frame,
            taken,
            weight,
        });
    }

    /// Keeps the graph as a parent if it has branches.
    pub(crate) fn keep(&mut self, sample: SampledFrame) {
        self.has_memory |= sample.frame.graph.memory > 0;
        if !sample.frame.branches.is_empty() {
            self.parents.push(Parent {
                sample,
                of_search: None,
            });
        }
    }

    /// Draws children of the graphs that were run, or of the frames of the search.
    pub(crate) fn draw(
        &mut self,
        search: &[Frame],
        width: usize,
        sizes: &SubtreeSizes,
        rng: &mut Rng,
    ) -> DrawnChildren {
        let mut children = Vec::new();
        for (parent, it) in self.parents.iter().enumerate() {
            let frame = it.frame(search);
            for (position, &branch) in frame.branches.iter().enumerate() {
                let shape = BranchShape::at(frame, branch);
                let size = sizes.size(shape);
                children.push((parent, position, shape, size));
            }
        }
        let mut drawn: Vec<_> = children.iter().map(|_| Some(1.0)).collect();
        let width = match std::mem::take(&mut self.has_memory) {
            true => width.saturating_mul(DRAWN),
            false => width,
        };
        if children.len() > width {
            self.thinned = true;
            children.sort_by(|one, other| one.3.total_cmp(&other.3));
            let of_parent = children.iter().map(|it| self.parents[it.0].sample.weight);
            let weighed = of_parent.zip(children.iter().map(|it| it.3));
            drawn = systematic_sample(&measures(weighed), width, rng);
        }
        let mut drawn: Vec<_> = children
            .into_iter()
            .zip(drawn)
            .filter_map(|((parent, position, shape, _), share)| {
                Some(Child {
                    parent,
                    position,
                    shape,
                    share: share?,
                })
            })
            .collect();
        drawn.sort_by_key(|child| (child.parent, std::cmp::Reverse(child.position)));
        DrawnChildren {
            parents: std::mem::take(&mut self.parents),
            children: drawn.into_iter(),
            parent: 0,
        }
    }

    /// Creates the next drawn child.
    pub(crate) fn take(
        &mut self,
        search: &[Frame],
        drawn: &mut DrawnChildren,
    ) -> Option<SampledFrame> {
        let child = drawn.children.next()?;
        for done in &mut drawn.parents[drawn.parent..child.parent] {
            done.sample.frame = Frame::default();
        }
        drawn.parent = child.parent;
        let parent = &mut drawn.parents[child.parent];
        if let Some(index) = parent.of_search.take() {
            parent.sample.frame.clone_from(&search[index]);
        }
        let parent = &mut parent.sample;
        let weight = parent.weight / child.share;
        self.branches += weight;
        self.taken.push(TakenBranch {
            parent: parent.taken,
            shape: child.shape,
            weight,
            total: 0.0,
            left_out: false,
        });
        Some(SampledFrame {
            frame: parent.frame.child(child.position),
            taken: Some(self.taken.len() - 1),
            weight,
        })
    }

    /// Makes these the next generation, or a sample of them if there are too many.
    pub(crate) fn run(
        &mut self,
        samples: Vec<SampledFrame>,
        width: usize,
        sizes: &SubtreeSizes,
        rng: &mut Rng,
    ) {
        if samples.len() <= width {
            self.generation = samples;
            return;
        }
        self.thinned = true;
        let taken = &mut self.taken;
        let weighed = samples.iter().map(|sample| {
            let shape = sample.taken.map(|it| taken[it].shape);
            (sample.weight, shape.map_or(1.0, |shape| sizes.size(shape)))
        });
        let shares = systematic_sample(&measures(weighed), width, rng);
        for (mut sample, share) in samples.into_iter().zip(shares) {
            let taken = sample.taken.map(|it| &mut taken[it]);
            let taken = taken.expect("only children are drawn");
            match share {
                Some(share) => {
                    sample.weight /= share;
                    taken.weight = sample.weight;
                    self.generation.push(sample);
                }
                None => taken.left_out = true,
            }
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.generation.is_empty() && self.parents.is_empty()
    }

    /// Adds the sizes of the subtrees of the branches taken.
    pub(crate) fn teach(&mut self, sizes: &mut SubtreeSizes) {
        while let Some(taken) = self.taken.pop() {
            if let Some(parent) = taken.parent {
                self.taken[parent].total += taken.total;
            }
            if !taken.left_out {
                sizes.learn(taken.shape, taken.total / taken.weight);
            }
        }
    }
}

/// Returns the measures to draw by: the part of the tree that each element is expected to stand
/// for, plus a share of the mean.
fn measures(weighed: impl Iterator<Item = (f64, f64)> + Clone) -> Vec<f64> {
    let (weight, size) = weighed.clone().fold((0.0, 0.0), |(weights, sizes), it| {
        (weights + it.0, sizes + it.0 * it.1)
    });
    let some = DEFENCE * size / weight;
    weighed
        .map(|(weight, size)| weight * (size + some))
        .collect()
}

impl Frame {
    /// Takes the branch at this position, the last of those that are left.
    fn child(&mut self, position: usize) -> Frame {
        self.branches.truncate(position + 1);
        let Branch { keep, change } = self.branches.pop().expect("there is such a branch");
        self.truncate(keep);
        let mut child = Frame::default();
        match change {
            Change::Revisit { receive, send } => child.revisit(self, receive, send, None),
            Change::RevisitGroup {
                pass,
                newest,
                companions,
            } => child.revisit(self, pass, newest, Some(companions)),
            change => {
                let branches = std::mem::take(&mut self.branches);
                child.clone_from(self);
                self.branches = branches;
                child.make(change);
            }
        }
        child
    }
}
