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
            if self.pairs.contains(&pair) {
                continue;
            }
            decision.pairs += 1;
            match traced.is_protected(one, other) {
                true => self.pairs.insert(pair),
                false => open.insert(pair),
            };
        }
        let mut racy = HashSet::new();
        decision.races = traced.races(
            |one, other| open.contains(&name(one, other)),
            |one, other| {
                racy.insert(name(one, other));
            },
        );
        // What something else than locks orders in this execution may be unordered in another.
        self.pairs.extend(racy);
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
}

impl Manner {
    /// True for a manner in which the thread takes its first lock and gives back its last one.
    pub fn is_usual(&self) -> bool {
        self.kind == Kind::Usual
    }
}
