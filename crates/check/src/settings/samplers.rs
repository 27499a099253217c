//! The samplers of `Auto`, and their seeds.

use raddle_engine::coverage::{Baseline, Metric, Metrics};
use raddle_engine::strategy::{
    CoverageGuided, History, Impact, Noise, Pct, Pos, Random, SiteKeys, Surw, Urw,
};

/// Maximum depth of the bugs that `Auto` samples for; `Pct` rarely reaches deeper ones.
const DEEPEST: u32 = 5;

/// Returns the samplers that take turns in `Auto`. Those of a stream have numbers of source locations that are the
/// same in all processes.
pub(crate) fn all(seed: u64, keys: Option<SiteKeys>) -> Vec<Box<dyn raddle_engine::Strategy>> {
    let seed = |number: usize| self::seed(seed, number);
    let history = History::new(seed(2));
    let history = match keys {
        Some(keys) => history.with_keys(keys),
        None => history,
    };
    vec![
        Box::new(Random::new(seed(0))),
        Box::new(Urw::new(seed(1))),
        Box::new(history),
        Box::new(Urw::new(seed(3))),
        Box::new(Surw::new(seed(4))),
        Box::new(Random::new(seed(5))),
        Box::new(Urw::new(seed(6))),
        Box::new(Pos::new(seed(7))),
        Box::new(Pct::portfolio(DEEPEST, seed(8))),
    ]
}

/// Returns the samplers that prefer what is near a change of the program: preemptions near it, orders of the uses
/// of one location or object that it uses, and requirements that are new.
pub(crate) fn near(
    baseline: Baseline,
    impact: Impact,
    seed: u64,
) -> Vec<Box<dyn raddle_engine::Strategy>> {
    let seed = |number: usize| self::seed(seed, usize::MAX - number);
    let metrics = Metrics::SYNC_PAIR_DEF_USE | Metric::Adjacent;
    vec![
        Box::new(Noise::near(impact.clone(), seed(0))),
        Box::new(Surw::new(seed(1)).near(impact)),
        Box::new(CoverageGuided::new(metrics, seed(2)).aiming(baseline)),
    ]
}

/// Returns a round of samplers in which `some` and `others` take turns, each as often as the longer list is
/// long; strategies of the shorter list are not repeated.
pub(crate) fn alternating(
    some: Vec<Box<dyn raddle_engine::Strategy>>,
    others: Vec<Box<dyn raddle_engine::Strategy>>,
) -> Vec<Box<dyn raddle_engine::Strategy>> {
    let (mut some, mut others) = (some.into_iter(), others.into_iter());
    let mut all = Vec::new();
    loop {
        let next = [some.next(), others.next()];
        if next.iter().all(Option::is_none) {
            return all;
        }
        all.extend(next.into_iter().flatten());
    }
}

/// Returns the seed of a worker's random choices; the first worker has the seed of the check. Well
/// mixed, so that the numbers of one worker are not those of another a few steps later.
pub(crate) fn seed(seed: u64, worker: usize) -> u64 {
    if worker == 0 {
        return seed;
    }
    let mut mixed = seed.rotate_left(32) ^ worker as u64;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        mixed = (mixed ^ mixed >> 33).wrapping_mul(factor);
    }
    mixed ^ mixed >> 33
}
