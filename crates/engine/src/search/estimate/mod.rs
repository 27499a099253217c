//! Estimates of the number of classes, from random samples of the search tree.
//!
//! Every run is a node of the search tree, and its branches lead to its children. A *tree sample*
//! goes down the tree generation by generation. If a generation has more graphs than it may run, it
//! runs some, each with a known probability, and weights each by the inverse. So the expected total
//! is the size of the tree, whatever the probabilities are. Its variance falls as they match the
//! sizes of the subtrees, which are learned on the way. The idea is Knuth's (Estimating the
//! efficiency of backtrack programs, 1975), with a whole generation at a time as in Chen
//! (Heterogeneous sampling, 1992).
//!
//! Tree samples come in rounds, each with generations twice as wide as the last round's, until the
//! estimate is precise enough or has used its share of the runs.

mod interval;
mod subtree_size;
mod systematic_sample;
mod tree_sample;

use super::Exhaustive;
use crate::base::rng::Rng;
use crate::model::estimate::Estimate;
use crate::search::estimate::interval::interval;
use crate::search::estimate::subtree_size::SubtreeSizes;
use crate::search::estimate::tree_sample::{SampledFrame, TreeSample};
use crate::search::explore::frame::Frame;

/// The conditions under which a search estimates its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Seed of the random choices.
    pub seed: u64,
    /// Number of classes before the first estimate; later ones follow at multiples.
    pub after: u64,
    /// Approximate maximum of runs for the first estimate; later ones have a share of all runs.
    pub runs: u64,
}

/// Growth of the number of classes after which an estimate is repeated, as a factor.
const AGAIN: u64 = 4;
/// Number of runs of which about one is for estimates.
const SHARE: u64 = 16;
/// Tree samples in a round. More of them measure their precision better; fewer can be wider.
const TREES: usize = 10;
/// Tree samples in the first round, which only learns subtree sizes.
const FIRST_TREES: usize = 4;
/// Maximum runs of a tree that is run completely instead of sampled.
const SMALL: u64 = 2_000;
/// Maximum events, in total, of the graphs of a tree that is run completely; more would not fit in
/// memory at once.
const MOST_EVENTS: usize = 200_000;
/// Multiple of its runs after which a first estimate is abandoned.
const PATIENCE: u64 = 4;
/// Width of a generation that is never sampled from.
const EVERYTHING: usize = usize::MAX;
/// Relative width of an interval that is precise enough.
const PRECISE: f64 = 0.1;

/// The sampler of a search, and its result.
#[derive(Debug)]
pub(crate) struct Sampler {
    settings: Sampling,
    rng: Rng,
    sizes: SubtreeSizes,
    /// Number of classes at which the next estimate is due.
    next: u64,
    going_on: Option<Round>,
    /// Runs so far, and branches tried.
    samples: u64,
    tried: u64,
    estimate: Option<Estimate>,
    /// The estimate of the last round, while a more precise one is being made.
    provisional: Option<Estimate>,
}

/// Tree samples of the same width.
#[derive(Debug)]
struct Round {
    width: usize,
    /// Classes counted by each tree sample.
    totals: Vec<f64>,
    /// Runs counted by each tree sample.
    runs: Vec<f64>,
    /// Branches counted by all tree samples.
    branches: f64,
    /// Runs before this round, and before the first round.
    before: u64,
    first: u64,
    tree: TreeSample,
}

impl Sampler {
    pub(crate) fn new(settings: Sampling) -> Self {
        Sampler {
            settings,
            rng: Rng::new(settings.seed),
            sizes: SubtreeSizes::default(),
            next: settings.after,
            going_on: None,
            samples: 0,
            tried: 0,
            estimate: None,
            provisional: None,
        }
    }

    pub(crate) fn is_going_on(&self) -> bool {
        self.going_on.is_some()
    }

    /// True when a round is in progress or should begin.
    fn is_wanted(&self) -> bool {
        self.is_going_on() || self.next == 0 && self.estimate.is_none()
    }

    /// True when there is no estimate yet and there will be one.
    pub(crate) fn is_pending(&self) -> bool {
        self.estimate.is_none() && self.next < u64::MAX
    }

    /// Ends sampling: another search has taken parts of the tree.
    pub(crate) fn stop(&mut self) {
        self.going_on = None;
        self.next = u64::MAX;
    }

    pub(crate) fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }
}

impl Exhaustive {
    /// Starts the first estimate now, with at most `runs` runs.
    pub fn sample_now(&mut self, runs: u64) {
        if let Some(sampler) = &mut self.sampler
            && sampler.is_pending()
            && !sampler.is_going_on()
        {
            sampler.settings.runs = runs;
            sampler.next = 0;
        }
    }

    /// Ends an estimate that is being made, because no runs are left: the last round's counts.
    pub fn conclude_estimate(&mut self) {
        if let Some(sampler) = &mut self.sampler
            && sampler.estimate.is_none()
        {
            sampler.estimate = sampler.provisional;
            sampler.stop();
        }
    }

    /// True when the next runs are for an estimate.
    pub(crate) fn is_estimating(&self) -> bool {
        self.sampler.as_ref().is_some_and(Sampler::is_wanted)
    }

    /// Prepares a run for the estimate if one is due; returns `false` when it is the search's turn.
    pub(crate) fn begin_sample(&mut self) -> bool {
        let Some(sampler) = &mut self.sampler else {
            return false;
        };
        let more = !self.started || self.frames.iter().any(|it| !it.branches.is_empty());
        if sampler.going_on.is_none() && more && self.counted >= sampler.next {
            sampler.going_on = Some(Round {
                width: 1,
                totals: Vec::new(),
                runs: Vec::new(),
                branches: 0.0,
                before: sampler.samples,
                first: sampler.samples,
                tree: TreeSample::default(),
            });
            self.begin_tree();
            self.next_generation();
        }
        let going_on = (self.sampler.as_mut()).and_then(|sampler| sampler.going_on.as_mut());
        let sample = going_on.and_then(|round| {
            let sample = round.tree.generation.pop()?;
            round.tree.running = sample.taken;
            Some(sample.frame)
        });
        self.sampled = sample.is_some();
        self.frames.extend(sample);
        self.sampled
    }

    /// Starts from the branches of the search, or from the empty graph if it has run nothing.
    fn begin_tree(&mut self) {
        let empty = (!self.started).then(|| Frame::new(self.reductions, self.order));
        let tree = TreeSample::new(&self.frames, empty);
        if let Some(round) = (self.sampler.as_mut()).and_then(|it| it.going_on.as_mut()) {
            round.tree = tree;
        }
    }

    /// Ends a run for the estimate; `counts` is true when its class counts.
    pub(crate) fn end_sample(&mut self, counts: bool) {
        let frame = self.frames.pop();
        if let (Some(sampler), Some(frame)) = (&mut self.sampler, frame)
            && let Some(round) = &mut sampler.going_on
        {
            sampler.samples += 1;
            round.tree.end(frame, counts);
            let used = sampler.samples - round.first;
            // With `after == 0` the check asks only for the estimate, so it is never abandoned.
            if sampler.settings.after > 0
                && sampler.estimate.is_none()
                && used > PATIENCE * sampler.settings.runs
            {
                sampler.stop();
            }
        }
        self.next_generation();
    }

    /// Determines the next runs for the estimate, in this tree sample or in the next one, until the
    /// estimate is complete.
    fn next_generation(&mut self) {
        let Some(mut sampler) = self.sampler.take() else {
            return;
        };
        while let Some(round) = &mut sampler.going_on {
            let Round { tree, width, .. } = round;
            if !tree.generation.is_empty() {
                break;
            }
            if tree.is_over() {
                let goes_on = sampler.end_tree(self.counted, self.started);
                self.sampler = Some(sampler);
                if goes_on {
                    self.begin_tree();
                }
                sampler = self.sampler.take().expect("it was just put there");
                continue;
            }
            let mut runnable = Vec::new();
            let mut drawn = tree.draw(&self.frames, *width, &sampler.sizes, &mut sampler.rng);
            while let Some(sample) = tree.take(&self.frames, &mut drawn) {
                sampler.tried += 1;
                self.frames.push(sample.frame);
                let can_run = self.make_runnable() && !self.is_out_of_bounds();
                let frame = self.frames.pop().expect("it was just pushed");
                let sample = SampledFrame { frame, ..sample };
                match can_run {
                    true => runnable.push(sample),
                    false => tree.keep(sample),
                }
            }
            tree.run(runnable, *width, &sampler.sizes, &mut sampler.rng);
        }
        self.sampler = Some(sampler);
    }
}

impl Sampler {
    /// Evaluates a tree sample; returns true when another one follows.
    fn end_tree(&mut self, counted: u64, started: bool) -> bool {
        let Some(round) = &mut self.going_on else {
            return false;
        };
        let mut tree = std::mem::take(&mut round.tree);
        tree.teach(&mut self.sizes);
        let exact = !tree.thinned;
        if exact {
            round.totals.clear();
            round.runs.clear();
            round.branches = 0.0;
        }
        round.totals.push(tree.total);
        round.runs.push(tree.runs);
        round.branches += tree.branches;
        let wanted = match round.width {
            1 => FIRST_TREES,
            _ => TREES,
        };
        if !exact && round.totals.len() < wanted {
            return true;
        }
        let cost = self.samples - round.before;
        let finest = if exact {
            0.0
        } else {
            (cost as f64).sqrt().recip()
        };
        let (mean, low, high) = interval(&round.totals, finest);
        let next = 2 * cost * TREES as u64 / wanted as u64;
        let may_use = self.settings.runs.max(counted / SHARE);
        let used = self.samples - round.first;
        let (runs, _, most_runs) = interval(&round.runs, finest);
        let is_small = most_runs <= may_use.saturating_sub(used).min(SMALL) as f64
            && most_runs * tree.longest as f64 <= MOST_EVENTS as f64;
        let is_rough = round.width == 1 && !exact;
        let is_precise = !is_rough && high - low <= PRECISE * mean;
        // A small tree is run completely, unless the search is about to do that.
        let is_counted = is_small && !started;
        let goes_on = match is_small {
            true if !is_rough || is_counted => !exact && is_counted,
            _ => !is_precise && used + next <= may_use,
        };
        let count = round.totals.len() as f64;
        let whole = |rest: f64| counted.saturating_add(rest.round() as u64);
        let estimate = Estimate {
            classes: whole(mean),
            low: whole(low),
            high: whole(high),
            runs: whole(runs),
            branches: (round.branches / count).round() as u64,
            tried: self.tried,
            samples: self.samples,
            is_rough,
        };
        if goes_on {
            self.provisional = Some(estimate);
            round.width = match is_counted {
                true => EVERYTHING,
                false => round.width * 2,
            };
            round.totals.clear();
            round.runs.clear();
            round.branches = 0.0;
            round.before = self.samples;
        } else {
            self.estimate = Some(estimate);
            self.going_on = None;
            self.next = counted.max(1).saturating_mul(AGAIN);
        }
        goes_on
    }
}
