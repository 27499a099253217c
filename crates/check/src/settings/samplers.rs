//! Strategies that draw executions at random: their names, their numbers and what runs them.

use raddle_engine::strategy::{History, Noise, Pct, Pos, Random, Surw, Urw};

use crate::settings::options::Strategy;

/// The depth if nobody says which.
const DEFAULT_DEPTH: u32 = 3;
/// The deepest bugs that are looked for if nobody says what to do.
const DEEPEST: u32 = 5;
/// How likely an interruption is if nobody says it.
const DEFAULT_PROBABILITY: f64 = 0.1;

/// The strategy with this name in lower case, if it is one of these.
pub(crate) fn parse(name: &str) -> Option<Strategy> {
    let (name, number) = match name.split_once(':') {
        Some((name, number)) => (name, Some(number.trim())),
        None => (name, None),
    };
    let strategy = match (name, number) {
        ("random", None) => Strategy::Random,
        ("pct", depth) => Strategy::Pct {
            depth: depth.map_or(Ok(DEFAULT_DEPTH), str::parse).ok()?,
        },
        ("pos", None) => Strategy::Pos,
        ("urw", None) => Strategy::Urw,
        ("surw", None) => Strategy::Surw,
        ("history", None) => Strategy::History,
        ("noise", probability) => Strategy::Noise {
            probability: probability
                .map_or(Ok(DEFAULT_PROBABILITY), str::parse)
                .ok()?,
        },
        _ => return None,
    };
    problem(&strategy).is_none().then_some(strategy)
}

/// Why the strategy cannot be used, if it cannot.
pub(crate) fn problem(strategy: &Strategy) -> Option<String> {
    match *strategy {
        Strategy::Pct { depth: 0 } => {
            Some("`Strategy::Pct` takes a depth of at least 1".to_owned())
        }
        Strategy::Noise { probability } if !(probability > 0.0 && probability <= 1.0) => {
            Some(format!(
                "`Strategy::Noise` takes a probability above 0 and at most 1, not {probability}"
            ))
        }
        _ => None,
    }
}

/// The strategy's name without its number, and what runs it; `None` if it does not draw at random.
pub(crate) fn sampler(
    strategy: &Strategy,
    seed: u64,
) -> Option<(&'static str, Box<dyn raddle_engine::Strategy>)> {
    Some(match *strategy {
        Strategy::Random => ("random", Box::new(Random::new(seed))),
        Strategy::Pct { depth } => ("pct", Box::new(Pct::new(depth, seed))),
        Strategy::Pos => ("pos", Box::new(Pos::new(seed))),
        Strategy::Urw => ("urw", Box::new(Urw::new(seed))),
        Strategy::Surw => ("surw", Box::new(Surw::new(seed))),
        Strategy::History => ("history", Box::new(History::new(seed))),
        Strategy::Noise { probability } => ("noise", Box::new(Noise::new(probability, seed))),
        _ => return None,
    })
}

/// What takes turns if nobody says what to do.
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

/// The seed of a worker's random choices; the first has the one that was asked for. Well mixed, so that
/// the numbers of one worker are not those of another a few steps later.
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
