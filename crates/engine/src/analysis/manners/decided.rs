//! What earlier executions have decided, so that each race-equivalent group and each pair of manners is examined
//! once.

use std::collections::{HashMap, HashSet};

use super::predict::PredictedRace;
use super::traced::Traced;
use super::{Kind, Manner};
use crate::model::execution::Execution;

/// Decisions about the executions of one program.
#[derive(Debug, Default)]
pub struct Decided {
    numbers: HashMap<Manner, u32>,
    groups: HashSet<Vec<u32>>,
    /// Pairs that need not be examined again: they are protected, or their races are known.
    pairs: HashSet<(u32, u32)>,
    examined: u64,
}

/// The result of one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decision {
    /// True when it is the first of its race-equivalent group.
    pub is_new: bool,
    /// Number of concurrent pairs of manners that were compared. Pairs of earlier executions are not.
    pub pairs: usize,
    /// Races that no earlier execution has predicted.
    pub races: Vec<PredictedRace>,
}

impl Decided {
    /// Examines an execution, whose accesses were kept, unless it is race-equivalent to an earlier one.
    pub fn look(&mut self, execution: &Execution) -> Decision {
        let traced = Traced::of(execution);
        let numbers: Vec<u32> = traced.manners.iter().map(|it| self.number(it)).collect();
        let mut group = numbers.clone();
        group.sort_unstable();
        if !self.groups.insert(group) {
            return Decision::default();
        }
        let name = |one: usize, other: usize| {
            let (one, other) = (numbers[one], numbers[other]);
            (one.min(other), one.max(other))
        };
        let mut decision = Decision {
            is_new: true,
            ..Decision::default()
        };
        let mut open = HashSet::new();
        for (one, other) in traced.concurrent_pairs() {
            let pair = name(one, other);
            // Pairs that are not concurrent in this execution may be in another.
            if self.pairs.insert(pair) {
                decision.pairs += 1;
                if !traced.is_protected(one, other) {
                    open.insert(pair);
                }
            }
        }
        decision.races = traced.races(|one, other| open.contains(&name(one, other)));
        self.examined += decision.pairs as u64;
        decision
    }

    fn number(&mut self, manner: &Manner) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(manner.clone()).or_insert(next)
    }

    /// Returns the number of race-equivalent groups so far.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of pairs compared so far.
    pub fn examined(&self) -> u64 {
        self.examined
    }
}

impl Manner {
    /// True for a manner in which the thread takes its first lock and gives back its last one.
    pub fn is_usual(&self) -> bool {
        self.kind == Kind::Usual
    }
}
