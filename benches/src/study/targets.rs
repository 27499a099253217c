//! Criteria as targets of guided search: executions to the first failure.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use raddle::{Checker, Level, Strategy};
use raddle_stories::Story;

use super::criteria::{self, DEFAULT, TARGETS};
use super::statistics::{holm, median, rank_sum, signed_rank};

/// Maximum executions of one search; a failure not found by then counts as found there.
pub(super) const CAP: u64 = 1_000;
/// Level of significance.
const ALPHA: f64 = 0.05;

/// Executions to the first failure of one story.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Found {
    pub(super) story: &'static str,
    /// By target, then by seed.
    pub(super) executions: Vec<Vec<f64>>,
}

/// One target next to the default.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Comparison {
    pub(super) name: &'static str,
    /// Geometric mean of the medians.
    pub(super) mean: f64,
    /// Stories in which its median is smaller, and larger.
    pub(super) better: usize,
    pub(super) worse: usize,
    /// The same of these by a rank-sum test of the seeds, adjusted for the number of stories.
    pub(super) clearly_better: usize,
    pub(super) clearly_worse: usize,
    /// Mean probability that it needs more executions than the default.
    pub(super) a12: f64,
    /// Signed-rank test of the logarithms of the medians, adjusted for the number of targets; `None` for the default, and
    /// if no median differs.
    pub(super) p: Option<f64>,
}

/// Searches a story with each target from each seed.
pub(super) fn search(story: &Story, seed: u64, seeds: u64) -> Found {
    let of = |name: &&str| {
        let metric = criteria::named(name).metrics();
        let from = |number: u64| first_failure(story.buggy, metric, seed.wrapping_add(number));
        (0..seeds).map(|number| from(number) as f64).collect()
    };
    Found {
        story: story.name,
        executions: TARGETS.iter().map(of).collect(),
    }
}

fn first_failure(body: fn(), metric: raddle::Metrics, seed: u64) -> u64 {
    let count = AtomicU64::new(0);
    Checker::new()
        .strategy(Strategy::Coverage { metric })
        .seed(seed)
        .max_executions(CAP)
        .max_time(Duration::from_secs(1_000_000))
        .shorten(false)
        .lock_order(Level::Allow)
        .checkpoint_every(Duration::ZERO)
        .run(|| {
            count.fetch_add(1, Relaxed);
            body();
        });
    count.into_inner().min(CAP)
}

/// Compares each target with the default.
pub(super) fn compare(found: &[Found]) -> Vec<Comparison> {
    let index = |name: &str| TARGETS.iter().position(|it| *it == name);
    let default = index(DEFAULT).expect("the default is one of the targets");
    let middle = |values: &[f64]| median(values).expect("at least one seed");
    let mut all: Vec<Comparison> = TARGETS
        .iter()
        .enumerate()
        .map(|(target, name)| {
            let of = |story: &Found| {
                let (mine, its) = (&story.executions[target], &story.executions[default]);
                (
                    middle(mine),
                    middle(its),
                    rank_sum(mine, its).expect("some seeds of each"),
                )
            };
            let stories: Vec<_> = found.iter().map(of).collect();
            let count = |is: &dyn Fn(f64, f64) -> bool| {
                stories
                    .iter()
                    .filter(|(mine, its, _)| is(*mine, *its))
                    .count()
            };
            let p_values: Vec<f64> = stories.iter().map(|(_, _, test)| test.p).collect();
            let adjusted = holm(&p_values);
            let clear = |is_better: bool| {
                let both = stories.iter().zip(&adjusted);
                both.filter(|((_, _, test), p)| **p < ALPHA && (test.a12 < 0.5) == is_better)
                    .count()
            };
            let differences: Vec<f64> = stories
                .iter()
                .map(|(mine, its, _)| mine.ln() - its.ln())
                .collect();
            let logarithms = stories.iter().map(|(mine, ..)| mine.ln());
            Comparison {
                name,
                mean: (logarithms.sum::<f64>() / stories.len() as f64).exp(),
                better: count(&|mine, its| mine < its),
                worse: count(&|mine, its| mine > its),
                clearly_better: clear(true),
                clearly_worse: clear(false),
                a12: stories.iter().map(|(_, _, test)| test.a12).sum::<f64>()
                    / stories.len() as f64,
                p: signed_rank(&differences).map(|test| test.p),
            }
        })
        .collect();
    let tested: Vec<usize> = (0..all.len()).filter(|&it| all[it].p.is_some()).collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|&it| all[it].p).collect();
    for (target, p) in tested.into_iter().zip(holm(&p_values)) {
        all[target].p = Some(p);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stories: usize, executions: impl Fn(usize, usize, usize) -> f64) -> Vec<Found> {
        let of = |story: usize| Found {
            story: "synthetic",
            executions: (0..TARGETS.len())
                .map(|target| (0..8).map(|seed| executions(story, target, seed)).collect())
                .collect(),
        };
        (0..stories).map(of).collect()
    }

    #[test]
    fn a_target_that_is_better_everywhere_is_reported() {
        let found = found(12, |story, target, seed| {
            let base = (10 + story + seed) as f64;
            if target == 1 { base / 9.0 } else { base }
        });
        let all = compare(&found);
        assert_eq!(all[0].p, None, "the default differs nowhere from itself");
        assert_eq!((all[1].better, all[1].worse), (12, 0));
        assert_eq!((all[1].clearly_better, all[1].clearly_worse), (12, 0));
        assert!(all[1].p.unwrap() < 0.001 && all[1].a12 == 0.0, "{all:?}");
        assert_eq!((all[2].better, all[2].worse, all[2].p), (0, 0, None));
    }

    #[test]
    fn targets_that_differ_at_random_are_not() {
        let found = found(30, |story, target, seed| {
            let mut random =
                super::super::random::Random::new((story * 100 + target * 10 + seed) as u64);
            (1 + random.below(50)) as f64
        });
        for target in compare(&found) {
            assert!(target.p.is_none_or(|p| p > 0.05), "{target:?}");
            assert!((0.4..0.6).contains(&target.a12), "{target:?}");
            assert_eq!(
                (target.clearly_better, target.clearly_worse),
                (0, 0),
                "{target:?}"
            );
        }
    }
}
