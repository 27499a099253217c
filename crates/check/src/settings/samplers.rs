//! The samplers of `Auto`, and their seeds.

use raddle_engine::coverage::{Baseline, Metric, Metrics};
use raddle_engine::strategy::{
    CoverageGuided, History, Impact, NearOrders, NearWalk, Noise, Pct, Pos, Random, Surw, Urw,
};

/// Maximum depth of the bugs that `Auto` samples for; `Pct` rarely reaches deeper ones.
const DEEPEST: u32 = 5;

/// Returns the samplers that take turns in `Auto`.
pub(crate) fn all(seed: u64) -> Vec<Box<dyn raddle_engine::Strategy>> {
    let seed = |number: usize| self::seed(seed, number);
    vec![
        Box::new(Random::new(seed(0))),
        Box::new(Urw::new(seed(1))),
        Box::new(History::new(seed(2))),
        Box::new(Urw::new(seed(3))),
        Box::new(Surw::new(seed(4))),
        Box::new(Random::new(seed(5))),
        Box::new(Urw::new(seed(6))),
        Box::new(Pos::new(seed(7))),
        Box::new(Pct::portfolio(DEEPEST, seed(8))),
    ]
}

/// Returns the samplers that prefer what is near a change of the program, in the order of their turns: random orders of the
/// operations near it and of what uses the same, each of these orders once, orders of what is near only, orders of the uses
/// of one location or object, preemptions, and requirements that are new.
pub(crate) fn near(
    baseline: Baseline,
    impact: Impact,
    seed: u64,
) -> Vec<Box<dyn raddle_engine::Strategy>> {
    let seed = |number: usize| self::seed(seed, usize::MAX - number);
    let metrics = Metrics::SYNC_PAIR_DEF_USE | Metric::Adjacent;
    vec![
        Box::new(NearWalk::new(impact.clone(), seed(0)).wide()),
        Box::new(NearOrders::new(impact.clone(), seed(1))),
        Box::new(NearWalk::new(impact.clone(), seed(2))),
        Box::new(Surw::new(seed(3)).near(impact.clone())),
        Box::new(Noise::near(impact, seed(4))),
        Box::new(CoverageGuided::new(metrics, seed(5)).aiming(baseline)),
    ]
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
