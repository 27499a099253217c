//! Equivalence classes run so far, and the probability of classes that a random walk has not
//! reached.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::outlook::Growth;

/// Maximum number of distinct classes; beyond it the count stays there. Bounds the memory of a long
/// random search to some tens of megabytes.
const MAX_COUNTED_CLASSES: usize = 1 << 21;

/// Classes run, by fingerprint.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    seen: HashMap<u64, Seen, BuildHasherDefault<AlreadyHashed>>,
    /// Number of random executions.
    drawn: u64,
    /// Number of executions compared.
    noted: u64,
    growth: Vec<Growth>,
    /// New classes since the last call of `take_fresh`, if `remember` was called.
    fresh: Option<Vec<u64>>,
}

/// A set of fingerprints.
pub(crate) type Fingerprints = HashSet<u64, BuildHasherDefault<AlreadyHashed>>;

/// The ways in which a class was reached.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Number of random executions that reached it, saturating.
    drawn: u8,
    /// True when a strategy that is not random reached it.
    otherwise: bool,
    /// True when an earlier process reached it.
    remembered: bool,
}

impl Seen {
    /// True when this process has run it.
    fn is_run(self) -> bool {
        self.drawn > 0 || self.otherwise
    }
}

/// The novelty of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Novelty {
    /// Never run.
    New,
    /// Run by an earlier process only.
    Remembered,
    /// Run before by this process.
    Known,
}

/// Probability that a random execution is of a class that was not run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unseen {
    /// Estimate of the probability.
    pub share: f64,
    /// Upper bound of its 95 % confidence interval.
    pub at_most: f64,
}

impl Classes {
    /// Records the class of an execution, and whether the execution was random; returns whether the
    /// class is new.
    pub(crate) fn note(&mut self, class: u64, drawn: bool) -> Novelty {
        self.noted += 1;
        if self.seen.len() >= MAX_COUNTED_CLASSES {
            return match self.seen.contains_key(&class) {
                true => Novelty::Known,
                false => Novelty::New,
            };
        }
        self.drawn += u64::from(drawn);
        let before = self.seen.len();
        let seen = self.seen.entry(class).or_default();
        let was_run = seen.is_run();
        match drawn {
            true => seen.drawn = seen.drawn.saturating_add(1),
            false => seen.otherwise = true,
        }
        let novelty = match (was_run, seen.remembered) {
            (true, _) => Novelty::Known,
            (false, true) => Novelty::Remembered,
            (false, false) => Novelty::New,
        };
        if self.seen.len() > before
            && let Some(fresh) = &mut self.fresh
        {
            fresh.push(class);
        }
        if self.noted.is_power_of_two() {
            self.growth.push(self.point());
        }
        novelty
    }

    /// Adds classes run by earlier processes. From now on new ones are kept for
    /// [`Classes::take_fresh`].
    pub(crate) fn remember(&mut self, classes: &[u64]) {
        for &class in classes {
            if self.seen.len() >= MAX_COUNTED_CLASSES {
                break;
            }
            self.seen.entry(class).or_default().remembered = true;
        }
        // Classes run so far are new unless they are among those.
        let new = self.seen.iter().filter(|(_, seen)| !seen.remembered);
        self.fresh = Some(new.map(|(class, _)| *class).collect());
    }

    /// Returns the new classes since the last call.
    pub(crate) fn take_fresh(&mut self) -> Vec<u64> {
        self.fresh.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn point(&self) -> Growth {
        Growth {
            runs: self.noted,
            found: self.count(),
        }
    }

    /// Returns the number of classes after 1, 2, 4, 8 and so on executions, and after the last.
    pub(crate) fn growth(&self) -> Vec<Growth> {
        let mut growth = self.growth.clone();
        let last = self.point();
        if growth.last() != Some(&last) {
            growth.push(last);
        }
        growth
    }

    /// Returns the number of classes that this process has run.
    pub(crate) fn count_run(&self) -> u64 {
        self.seen.values().filter(|seen| seen.is_run()).count() as u64
    }

    /// Returns the number of classes.
    pub(crate) fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Adds the classes of another worker.
    pub(crate) fn absorb(&mut self, others: Classes) {
        self.drawn += others.drawn;
        self.noted += others.noted;
        // The curves of two workers cannot be added: a class that both found counts once.
        self.growth.clear();
        for (class, other) in others.seen {
            if self.seen.len() >= MAX_COUNTED_CLASSES {
                break;
            }
            let seen = self.seen.entry(class).or_default();
            seen.drawn = seen.drawn.saturating_add(other.drawn);
            seen.otherwise |= other.otherwise;
            seen.remembered |= other.remembered;
        }
    }

    /// Returns the probability of unseen classes; `None` without random executions.
    ///
    /// A class drawn once would have been new to the other draws, so the share of such draws
    /// estimates the probability of a new class (Good and Turing). The bound is Esty's (1983), with
    /// three more draws for small samples (the rule of three).
    pub(crate) fn unseen(&self) -> Option<Unseen> {
        if self.drawn == 0 {
            return None;
        }
        let only_drawn = |times: u8| {
            let such = |seen: &&Seen| seen.drawn == times && !seen.otherwise && !seen.remembered;
            self.seen.values().filter(such).count() as f64
        };
        let (once, twice, drawn) = (only_drawn(1), only_drawn(2), self.drawn as f64);
        let deviation = (once * (1.0 - once / drawn) + 2.0 * twice).max(0.0).sqrt();
        Some(Unseen {
            share: once / drawn,
            at_most: ((once + 1.645 * deviation + 3.0) / drawn).min(1.0),
        })
    }
}

/// Hasher for fingerprints, which are uniform already.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("only u64 keys are hashed");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Rng, mix};

    #[test]
    fn what_was_seen_once_says_how_much_was_not() {
        let mut classes = Classes::default();
        assert_eq!(classes.unseen(), None);
        for class in [1, 2, 2, 3, 3, 3, 4, 5, 5, 5] {
            classes.note(mix(class), true);
        }
        assert_eq!(classes.count(), 5);
        assert_eq!(classes.unseen().map(|it| it.share), Some(0.2), "1 and 4");
        // A class that the search has run as well is not unseen.
        classes.note(mix(4), false);
        assert_eq!(classes.unseen().map(|it| it.share), Some(0.1));
        let mut others = Classes::default();
        for _ in 0..10 {
            others.note(mix(1), true);
        }
        classes.absorb(others);
        assert_eq!(classes.count(), 5);
        let unseen = classes.unseen().unwrap();
        assert_eq!(unseen.share, 0.0);
        assert!(
            (unseen.at_most - (3.0 + 1.645 * 2f64.sqrt()) / 20.0).abs() < 1e-9,
            "2 was seen twice"
        );
    }

    #[test]
    fn what_was_run_before_is_neither_new_nor_unseen() {
        let mut classes = Classes::default();
        assert_eq!(classes.note(mix(9), true), Novelty::New);
        classes.remember(&[mix(1), mix(2)]);
        assert_eq!((classes.count(), classes.count_run()), (3, 1));
        assert_eq!(classes.take_fresh(), [mix(9)]);
        assert_eq!(classes.note(mix(1), true), Novelty::Remembered);
        assert_eq!(classes.note(mix(1), true), Novelty::Known);
        assert_eq!(classes.note(mix(2), true), Novelty::Remembered);
        assert_eq!(classes.note(mix(3), true), Novelty::New);
        assert_eq!(classes.take_fresh(), [mix(3)]);
        assert_eq!(classes.take_fresh(), []);
        assert_eq!((classes.count(), classes.count_run()), (4, 4));
        // 9 and 3 were drawn once in five draws.
        assert_eq!(classes.unseen().map(|it| it.share), Some(0.4));
        let growth = classes.growth();
        let growth: Vec<_> = growth.iter().map(|it| (it.runs, it.found)).collect();
        assert_eq!(growth, [(1, 1), (2, 3), (4, 3), (5, 4)]);
    }

    /// Draws from classes of known probability: the true unseen probability is within the bound as
    /// often as claimed.
    #[test]
    fn what_is_unseen_is_within_the_bound() {
        let mut rng = Rng::new(5);
        for (classes, draws) in [(10, 20), (100, 100), (1000, 500), (1000, 5_000)] {
            // Class i has a probability proportional to 1 / (i + 1).
            let weights: Vec<_> = (0..classes).map(|it| 1.0 / f64::from(it + 1)).collect();
            let sum: f64 = weights.iter().sum();
            let rounds = 300;
            let within = (0..rounds).filter(|_| {
                let mut seen = Classes::default();
                let mut hidden = vec![true; weights.len()];
                for _ in 0..draws {
                    let mut at = rng.unit() * sum;
                    let past = |weight: &f64| {
                        at -= weight;
                        at < 0.0
                    };
                    let class = weights.iter().position(past).unwrap_or(0);
                    hidden[class] = false;
                    seen.note(mix(class as u64 + 1), true);
                }
                let unseen = weights.iter().zip(hidden).filter(|(_, hidden)| *hidden);
                let truth = unseen.map(|(weight, _)| weight).sum::<f64>() / sum;
                seen.unseen().unwrap().at_most >= truth
            });
            let share = within.count() as f64 / f64::from(rounds);
            assert!(
                share >= 0.95,
                "{share} for {draws} draws of {classes} classes"
            );
        }
    }
}
