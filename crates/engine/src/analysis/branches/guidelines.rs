//! Guidelines that no execution has followed: choices of sources that are possible as far as known.

use std::collections::{BTreeSet, HashSet};

use super::record::{Recorder, Seen};
use crate::analysis::alternatives::{Alternative, AlternativeChoice};

/// Maximum combinations of sources of the receives that decide one branch.
const MAX_COMBINATIONS: usize = 256;
/// Maximum instances of branches whose combinations are compared.
const MAX_INSTANCES: usize = 64;

/// A receive with the place of its source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    thread: u32,
    step: u32,
    seen: Seen,
}

impl Pair {
    /// Returns the pair of a choice. Which of the events at a place is the source does not matter.
    pub(super) fn of(thread: u32, step: u32, seen: Seen) -> Self {
        Pair {
            thread,
            step,
            seen: Seen {
                source: seen.source.map(|(thread, step, _)| (thread, step, 0)),
                ..seen
            },
        }
    }
}

/// The possible sources of a receive of one execution.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    pub(super) walk: u32,
    pub(super) event: u32,
    pub(super) thread: u32,
    pub(super) step: u32,
    pub(super) options: Vec<(Seen, AlternativeChoice)>,
}

/// Use-defines that a directed execution is to have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guideline {
    key: Vec<Pair>,
    /// The same as a request for an execution.
    pub alternative: Alternative,
}

/// The result of the directed executions for a guideline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tried {
    /// An execution follows it.
    Followed,
    /// No execution follows it.
    Impossible,
    /// None of those that were tried follows it.
    NotFollowed,
}

impl Recorder {
    /// Returns a guideline that no recorded execution follows and that was not tried: first one source of one receive,
    /// then combinations of sources of the receives that decide a branch.
    pub fn next_guideline(&self) -> Option<Guideline> {
        self.next_pair().or_else(|| self.next_combination())
    }

    /// Records the result of directed executions.
    pub fn set_tried(&mut self, guideline: Guideline, tried: Tried) {
        self.tried.insert(guideline.key, tried);
    }

    /// Returns the number of guidelines that were tried with this result.
    pub fn tried(&self, result: Tried) -> usize {
        self.tried.values().filter(|&&it| it == result).count()
    }

    /// Returns the number of receives with the place of a source that were seen.
    pub fn use_defines(&self) -> usize {
        self.pairs.len()
    }

    fn next_pair(&self) -> Option<Guideline> {
        for run in &self.runs {
            for receive in &run.candidates {
                for (seen, choice) in &receive.options {
                    let pair = Pair::of(receive.thread, receive.step, *seen);
                    let key = vec![pair];
                    if !self.pairs.contains(&pair) && !self.tried.contains_key(&key) {
                        let alternative = Alternative::new().with(choice.clone());
                        return Some(Guideline { key, alternative });
                    }
                }
            }
        }
        None
    }

    fn next_combination(&self) -> Option<Guideline> {
        let instances = self.instances().into_values().flatten();
        for instance in instances.take(MAX_INSTANCES) {
            let Some(decision) = self.decide(instance) else {
                continue;
            };
            if decision.features.len() < 2 {
                continue;
            }
            let seen: HashSet<Vec<Pair>> = decision.combinations().collect();
            for one in &decision.observed {
                // The possible sources of every receive that decides.
                let options = decision.features.iter().map(|&(thread, step, event)| {
                    let mut all = one.run.candidates.iter();
                    all.find(|it| {
                        let walk = &one.run.walks[it.walk as usize];
                        walk.thread == thread && it.event == event && it.step == step
                    })
                });
                let Some(options) = options.collect::<Option<Vec<&Candidates>>>() else {
                    continue;
                };
                let mut all: Vec<Vec<(Pair, &AlternativeChoice)>> = vec![Vec::new()];
                for receive in options {
                    let mut known = BTreeSet::new();
                    let pairs: Vec<(Pair, &AlternativeChoice)> = (receive.options.iter())
                        .map(|(seen, choice)| {
                            (Pair::of(receive.thread, receive.step, *seen), choice)
                        })
                        .filter(|&(pair, _)| known.insert(pair))
                        .collect();
                    let mut longer = Vec::new();
                    for key in &all {
                        for &it in &pairs {
                            longer.push(key.iter().copied().chain([it]).collect());
                        }
                    }
                    longer.truncate(MAX_COMBINATIONS);
                    all = longer;
                }
                for combination in all {
                    let key: Vec<Pair> = combination.iter().map(|&(pair, _)| pair).collect();
                    if !seen.contains(&key) && !self.tried.contains_key(&key) {
                        let alternative = (combination.into_iter())
                            .fold(Alternative::new(), |all, (_, choice)| {
                                all.with(choice.clone())
                            });
                        return Some(Guideline { key, alternative });
                    }
                }
            }
        }
        None
    }
}
