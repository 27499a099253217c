//! How large the rest of the search is, from samples of its tree.
//!
//! In the tree of the search every run is a node, and its branches lead to its children. A
//! *descent* goes down that tree generation by generation. If a generation has more graphs than it
//! may run, it runs some, each with a probability that it knows, and each then counts for as many
//! more. So what a descent counts is the size of the tree on average, whatever the probabilities
//! are, and it varies the less, the better they match the sizes of the subtrees, which are learned
//! on the way. The idea is Knuth's (Estimating the efficiency of backtrack programs, 1975), with a
//! whole generation at a time as Chen has it (Heterogeneous sampling, 1992).
//!
//! Descents come in rounds, each with generations twice as wide as the last one's, until the
//! estimate is precise enough or has had its share of the runs.

use super::Exhaustive;
use super::expected::{Expected, Look};
use super::frame::{Branch, Change, Frame};
use super::thin::thin;
use crate::estimate::{Estimate, interval};
use crate::rng::Rng;

/// When a search estimates how large it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampling {
    /// Where random choices start from.
    pub seed: u64,
    /// After so many classes for the first time; then whenever there are some times as many.
    pub after: u64,
    /// So many runs at most for the first estimate, roughly; later ones have a share of all runs.
    pub runs: u64,
}

/// An estimate is made again when there are so many times as many classes.
const AGAIN: u64 = 4;
/// One run in so many, roughly, is for estimates.
const SHARE: u64 = 16;
/// Descents in a round. The more, the better is known how precise they are; the fewer, the wider
/// they can be.
const DESCENTS: usize = 10;
/// In the first round, which is for learning what sizes there are.
const FIRST_DESCENTS: usize = 4;
/// An interval this narrow is good enough, as a part of what it is about.
const PRECISE: f64 = 0.1;
/// So many times as many graphs are drawn as are run, where there is memory, because some of them
/// cannot be run.
const DRAWN: usize = 4;
/// How much of a chance every graph has, whatever its size is thought to be.
const DEFENCE: f64 = 0.3;

/// What samples the tree of a search, and what it has found out.
#[derive(Debug)]
pub(super) struct Sampler {
    settings: Sampling,
    rng: Rng,
    expected: Expected,
    /// When it is due.
    next: u64,
    going_on: Option<Round>,
    /// Runs so far.
    samples: u64,
    estimate: Option<Estimate>,
}

/// Some descents of the same width.
#[derive(Debug)]
struct Round {
    width: usize,
    /// What each descent counted.
    totals: Vec<f64>,
    /// How many runs all of them counted.
    runs: f64,
    /// How many runs there were before this round, and before the first.
    before: u64,
    first: u64,
    descent: Descent,
}

/// One way down the tree.
#[derive(Debug, Default)]
struct Descent {
    /// What is still to be run of this generation.
    generation: Vec<Sample>,
    /// What was run, with the branches that lead to the next.
    parents: Vec<Sample>,
    /// What is being run.
    running: Option<usize>,
    taken: Vec<Taken>,
    /// How many classes it has counted, and how many runs.
    total: f64,
    runs: f64,
    /// Whether some graphs were left out.
    thinned: bool,
}

/// A graph, which stands for so many.
#[derive(Debug)]
struct Sample {
    frame: Frame,
    /// What was taken to get here; nothing for the beginning.
    taken: Option<usize>,
    weight: f64,
}

/// A branch that was taken.
#[derive(Debug)]
struct Taken {
    parent: Option<usize>,
    look: Look,
    weight: f64,
    /// What was counted in its tree.
    total: f64,
    /// Whether it was left out after all.
    left_out: bool,
}

impl Sampler {
    pub(super) fn new(settings: Sampling) -> Self {
        Sampler {
            settings,
            rng: Rng::new(settings.seed),
            expected: Expected::default(),
            next: settings.after,
            going_on: None,
            samples: 0,
            estimate: None,
        }
    }

    pub(super) fn is_going_on(&self) -> bool {
        self.going_on.is_some()
    }

    /// Whether there is nothing to say yet, and there will be.
    pub(super) fn is_pending(&self) -> bool {
        self.estimate.is_none() && self.next < u64::MAX
    }

    /// What there was to sample is no longer all in one place.
    pub(super) fn stop(&mut self) {
        self.going_on = None;
        self.next = u64::MAX;
    }

    pub(super) fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// The run that was for the estimate is over; whether its class counts.
    pub(super) fn end(&mut self, frame: Option<Frame>, counts: bool) {
        let (Some(round), Some(frame)) = (&mut self.going_on, frame) else {
            return;
        };
        self.samples += 1;
        let descent = &mut round.descent;
        let taken = descent.running.take();
        let weight = taken.map_or(1.0, |taken| descent.taken[taken].weight);
        descent.runs += weight;
        if counts {
            descent.total += weight;
            if let Some(taken) = taken {
                descent.taken[taken].total += weight;
            }
        }
        descent.parents.push(Sample {
            frame,
            taken,
            weight,
        });
    }
}

impl Descent {
    /// A descent from the branches of the search, or if it has not begun, from the empty graph.
    fn new(search: &[Frame], empty: Option<Frame>) -> Self {
        let sample = |frame| Sample {
            frame,
            taken: None,
            weight: 1.0,
        };
        let unfinished = search.iter().filter(|frame| !frame.branches.is_empty());
        Descent {
            generation: empty.map(sample).into_iter().collect(),
            parents: unfinished.cloned().map(sample).collect(),
            ..Descent::default()
        }
    }

    /// Draws children of what was run.
    fn draw(&mut self, width: usize, expected: &Expected, rng: &mut Rng) -> Vec<Sample> {
        let mut children = Vec::new();
        for (parent, sample) in self.parents.iter().enumerate() {
            for (position, &branch) in sample.frame.branches.iter().enumerate() {
                let look = Look::at(&sample.frame, branch);
                let size = expected.size(look);
                children.push((parent, position, look, size));
            }
        }
        let mut drawn: Vec<_> = children.iter().map(|_| Some(1.0)).collect();
        let memory = self.parents.iter().any(|it| it.frame.graph.memory > 0);
        let width = if memory { width * DRAWN } else { width };
        if children.len() > width {
            self.thinned = true;
            children.sort_by(|one, other| one.3.total_cmp(&other.3));
            let of_parent = children.iter().map(|it| self.parents[it.0].weight);
            let weighed = of_parent.zip(children.iter().map(|it| it.3));
            drawn = thin(&measures(weighed), width, rng);
        }
        let mut drawn: Vec<_> = children
            .into_iter()
            .zip(drawn)
            .filter_map(|((parent, position, look, _), share)| {
                Some((parent, position, look, share?))
            })
            .collect();
        drawn.sort_by_key(|&(parent, position, ..)| (parent, std::cmp::Reverse(position)));
        let mut parents = std::mem::take(&mut self.parents);
        let samples = drawn.into_iter().map(|(parent, position, look, share)| {
            let parent = &mut parents[parent];
            let weight = parent.weight / share;
            self.taken.push(Taken {
                parent: parent.taken,
                look,
                weight,
                total: 0.0,
                left_out: false,
            });
            Sample {
                frame: parent.frame.child(position),
                taken: Some(self.taken.len() - 1),
                weight,
            }
        });
        samples.collect()
    }

    /// Makes these the next generation, or some of them if there are too many.
    fn run(&mut self, samples: Vec<Sample>, width: usize, expected: &Expected, rng: &mut Rng) {
        if samples.len() <= width {
            self.generation = samples;
            return;
        }
        self.thinned = true;
        let taken = &mut self.taken;
        let weighed = samples.iter().map(|sample| {
            let look = sample.taken.map(|it| taken[it].look);
            (sample.weight, look.map_or(1.0, |look| expected.size(look)))
        });
        let shares = thin(&measures(weighed), width, rng);
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

    fn is_over(&self) -> bool {
        let leads_on = |sample: &Sample| !sample.frame.branches.is_empty();
        self.generation.is_empty() && !self.parents.iter().any(leads_on)
    }

    /// Learns how large the trees of the branches taken are.
    fn teach(&mut self, expected: &mut Expected) {
        while let Some(taken) = self.taken.pop() {
            if let Some(parent) = taken.parent {
                self.taken[parent].total += taken.total;
            }
            if !taken.left_out {
                expected.learn(taken.look, taken.total / taken.weight);
            }
        }
    }
}

/// What to draw by: how much of the tree each is thought to stand for, and some more.
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
    /// Takes the branch at this position, of those that are left the last to be taken.
    fn child(&mut self, position: usize) -> Frame {
        self.branches.truncate(position + 1);
        let Branch { keep, change } = self.branches.pop().expect("there is such a branch");
        self.truncate(keep);
        let mut child = Frame::default();
        match change {
            Change::Revisit { receive, send } => child.revisit(self, receive, send, None),
            Change::Gather {
                meeting,
                newest,
                companions,
            } => child.revisit(self, meeting, newest, Some(companions)),
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

impl Exhaustive {
    /// Does not wait any longer with its first estimate, for which it may use so many runs.
    pub fn sample_now(&mut self, runs: u64) {
        if let Some(sampler) = &mut self.sampler
            && sampler.is_pending()
            && !sampler.is_going_on()
        {
            sampler.settings.runs = runs;
            sampler.next = 0;
        }
    }

    /// Gets ready for a run that is for the estimate, if it is time for one; otherwise it is the
    /// search's turn.
    pub(super) fn begin_sample(&mut self) -> bool {
        let Some(mut sampler) = self.sampler.take() else {
            return false;
        };
        let more = !self.started || self.frames.iter().any(|it| !it.branches.is_empty());
        if sampler.going_on.is_none() && more && self.counted >= sampler.next {
            sampler.going_on = Some(Round {
                width: 1,
                totals: Vec::new(),
                runs: 0.0,
                before: sampler.samples,
                first: sampler.samples,
                descent: Descent::new(&self.frames, self.empty()),
            });
        }
        let found = sampler.going_on.is_some() && self.next_sample(&mut sampler);
        self.sampler = Some(sampler);
        found
    }

    /// What the search starts with, if it has not started.
    fn empty(&self) -> Option<Frame> {
        (!self.started).then(|| Frame::new(self.reductions))
    }

    /// Finds the next run of a descent, of the same or of the next one; `false` when the estimate is
    /// there.
    fn next_sample(&mut self, sampler: &mut Sampler) -> bool {
        while let Some(round) = &mut sampler.going_on {
            let Round { descent, width, .. } = round;
            if let Some(Sample { frame, taken, .. }) = descent.generation.pop() {
                descent.running = taken;
                self.frames.push(frame);
                return true;
            }
            if descent.is_over() {
                if sampler.end_descent(self.counted)
                    && let Some(round) = &mut sampler.going_on
                {
                    round.descent = Descent::new(&self.frames, self.empty());
                }
                continue;
            }
            let mut runnable = Vec::new();
            for sample in descent.draw(*width, &sampler.expected, &mut sampler.rng) {
                self.frames.push(sample.frame);
                let settled = self.settle() && !self.is_out_of_bounds();
                let frame = self.frames.pop().expect("it was just pushed");
                let list = match settled {
                    true => &mut runnable,
                    false => &mut descent.parents,
                };
                list.push(Sample { frame, ..sample });
            }
            descent.run(runnable, *width, &sampler.expected, &mut sampler.rng);
        }
        false
    }
}

impl Sampler {
    /// Takes stock of a descent; whether another one follows.
    fn end_descent(&mut self, counted: u64) -> bool {
        let Some(round) = &mut self.going_on else {
            return false;
        };
        let mut descent = std::mem::take(&mut round.descent);
        descent.teach(&mut self.expected);
        let exact = !descent.thinned;
        if exact {
            round.totals.clear();
            round.runs = 0.0;
        }
        round.totals.push(descent.total);
        round.runs += descent.runs;
        let wanted = match round.width {
            1 => FIRST_DESCENTS,
            _ => DESCENTS,
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
        let next = 2 * cost * DESCENTS as u64 / wanted as u64;
        let may_use = self.settings.runs.max(counted / SHARE);
        let goes_on = high - low > PRECISE * mean && self.samples - round.first + next <= may_use;
        if goes_on {
            round.width *= 2;
            round.totals.clear();
            round.runs = 0.0;
            round.before = self.samples;
        } else {
            let whole = |rest: f64| counted.saturating_add(rest.round() as u64);
            self.estimate = Some(Estimate {
                classes: whole(mean),
                low: whole(low),
                high: whole(high),
                runs: whole(round.runs / round.totals.len() as f64),
                samples: self.samples,
            });
            self.going_on = None;
            self.next = counted.max(1).saturating_mul(AGAIN);
        }
        goes_on
    }
}
