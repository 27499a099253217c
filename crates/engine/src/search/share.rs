//! Work sharing: splitting off a part of the search, and taking over a part of another.

use super::Exhaustive;
use crate::search::explore::frame::Frame;
use crate::search::frontier::item::Item;

/// Progress of a bounded search that determines its extent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    left_out: bool,
    weakened: bool,
    weakened_late: bool,
}

impl Reach {
    /// Combines the progress of two parts of one search.
    pub fn and(self, other: Reach) -> Self {
        let late = |one: Reach, other: Reach| one.left_out && !one.weakened && other.weakened;
        Reach {
            left_out: self.left_out | other.left_out,
            weakened: self.weakened | other.weakened,
            weakened_late: self.weakened_late
                | other.weakened_late
                | late(self, other)
                | late(other, self),
        }
    }

    /// Returns the three flags for a file: a graph was left out, a weak access was found, and one
    /// was found after a graph was left out.
    pub fn to_words(self) -> [bool; 3] {
        [self.left_out, self.weakened, self.weakened_late]
    }

    /// Restores the value from the flags of a file.
    pub fn of_words([left_out, weakened, weakened_late]: [bool; 3]) -> Self {
        Reach {
            left_out,
            weakened,
            weakened_late,
        }
    }
}

impl Exhaustive {
    /// Makes the search start with nothing to run until it takes over an item.
    pub fn idle(self) -> Self {
        Exhaustive {
            started: true,
            ..self
        }
    }

    /// Starts counting at `classes`, which were run before.
    pub fn counting_from(self, classes: u64) -> Self {
        Exhaustive {
            counted: classes,
            ..self
        }
    }

    /// Returns the progress within the bound.
    pub fn reach(&self) -> Reach {
        Reach {
            left_out: self.left_out,
            weakened: self.weakened,
            weakened_late: self.weakened_late,
        }
    }

    /// Adds the progress of another part of the same search.
    pub fn reached(&mut self, other: Reach) {
        let both = self.reach().and(other);
        self.left_out = both.left_out;
        self.weakened = both.weakened;
        self.weakened_late = both.weakened_late;
    }

    /// Takes over a part of another search. Must be called between executions.
    pub fn take(&mut self, item: Item) {
        if self.position > 0
            && let Some(sampler) = &mut self.sampler
        {
            sampler.stop();
        }
        let mut frame = item.0;
        frame.graph.reductions = self.reductions;
        self.started = true;
        self.frames.push(frame);
    }

    /// Splits off the oldest branches, which tend to have the largest subtrees, and keeps at least
    /// one. Must be called between executions. Returns `None` while a pending estimate still needs
    /// the whole tree.
    pub fn give(&mut self) -> Option<Item> {
        match &mut self.sampler {
            Some(sampler) if sampler.is_pending() => return None,
            Some(sampler) => sampler.stop(),
            None => {}
        }
        let mut with_branches = (0..self.frames.len()).filter(|&index| self.has_branches(index));
        let oldest = with_branches.next()?;
        let has_more = with_branches.next().is_some();
        let frame = &mut self.frames[oldest];
        if has_more && frame.branches.len() == 1 {
            return Some(Item(self.frames.remove(oldest)));
        }
        let half = frame.branches.len() / 2;
        let last = half.checked_sub(1)?;
        let keep = frame.branches[last].keep;
        let mut given = Frame {
            graph: frame.graph.clone(),
            steps: frame.steps.clone(),
            in_order: frame.in_order,
            is_mixed: frame.is_mixed,
            branches: frame.branches.drain(..half).collect(),
            ..Frame::default()
        };
        given.truncate(keep);
        Some(Item(given))
    }

    /// Returns a copy of all parts left to run, oldest first; `None` before the first execution.
    /// Must be called between executions.
    pub fn left(&self) -> Option<Vec<Item>> {
        let left = (0..self.frames.len()).filter(|&index| self.has_branches(index));
        let item = |index: usize| {
            let mut frame = self.frames[index].clone();
            let last = frame.branches.last().expect("it has branches");
            frame.truncate(last.keep);
            Item(frame)
        };
        self.started.then(|| left.map(item).collect())
    }

    /// Removes and returns all parts left to run. Must be called between executions.
    pub fn give_all(&mut self) -> Vec<Item> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.retain(|frame| !frame.branches.is_empty());
        frames.into_iter().map(Item).collect()
    }

    fn has_branches(&self, index: usize) -> bool {
        !self.frames[index].branches.is_empty()
    }
}
