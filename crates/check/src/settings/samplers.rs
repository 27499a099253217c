//! Strategies that draw executions at random: their names, their parameters and the strategies of
//! the engine.

use raddle_engine::strategy::{Dispatcher, History, Noise, Pct, Pos, Random, Surw, Urw};

use crate::settings::options::Strategy;

/// Maximum depth of the bugs that `Auto` samples for; `Pct` rarely reaches deeper ones.
const DEEPEST: u32 = 5;

/// The table of samplers. A row has the name and the variant of [`Strategy`] with the default of
/// its parameter, if it has one. Its constructor creates the sampler from the parameter and a seed.
macro_rules! samplers {
    ($($name:literal => $variant:ident $({ $parameter:ident = $default:expr })?, $new:expr;)*) => {
        /// Names of all samplers.
        #[cfg(test)]
        const NAMES: &[&str] = &[$($name),*];

        /// Returns the sampler with this name in lower case, if there is one.
        pub(crate) fn parse(words: &str) -> Option<Strategy> {
            let (name, parameter) = match words.split_once(':') {
                Some((name, parameter)) => (name, Some(parameter.trim())),
                None => (words, None),
            };
            let strategy = match name {
                $($name => Strategy::$variant $({
                    $parameter: parameter.map_or(Ok($default), str::parse).ok()?,
                })?,)*
                _ => return None,
            };
            let takes_none = text(&strategy).is_some_and(|(_, parameter)| parameter.is_none());
            let is_valid = problem(&strategy).is_none() && !(takes_none && parameter.is_some());
            is_valid.then_some(strategy)
        }

        /// Returns the sampler's name and, as text, its parameter; `None` for other strategies.
        pub(crate) fn text(strategy: &Strategy) -> Option<(&'static str, Option<String>)> {
            match strategy {
                $(Strategy::$variant $({ $parameter })? => {
                    let parameters: &[String] = &[$($parameter.to_string())?];
                    Some(($name, parameters.first().cloned()))
                })*
                _ => None,
            }
        }

        /// Returns the engine's strategy of the sampler; `None` for other strategies.
        pub(crate) fn sampler(strategy: &Strategy, seed: u64) -> Option<Dispatcher> {
            match *strategy {
                $(Strategy::$variant $({ $parameter })? => Some($new($($parameter,)? seed)),)*
                _ => None,
            }
        }
    };
}

samplers! {
    "random" => Random, |seed| Random::new(seed).into();
    "pct" => Pct { depth = 3 }, |depth, seed| Dispatcher::other(Pct::new(depth, seed));
    "pos" => Pos, |seed| Dispatcher::other(Pos::new(seed));
    "urw" => Urw, |seed| Dispatcher::other(Urw::new(seed));
    "surw" => Surw, |seed| Dispatcher::other(Surw::new(seed));
    "history" => History, |seed| Dispatcher::other(History::new(seed));
    "noise" => Noise { probability = 0.1 },
        |probability, seed| Dispatcher::other(Noise::new(probability, seed));
}

/// Returns the reason why the strategy cannot be used, if it cannot.
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

#[cfg(test)]
mod tests {
    use raddle_engine::alternatives::Alternative;
    use raddle_engine::coverage::Metrics;
    use raddle_settings::StrategyText;

    use super::*;

    /// True when programs that pass a strategy on accept this text.
    fn is_passed_on(text: &str) -> bool {
        match raddle_settings::strategy(text) {
            Ok(StrategyText::Named) => true,
            Ok(StrategyText::Coverage(metrics)) => metrics.parse::<Metrics>().is_ok(),
            Ok(StrategyText::Directed(alternative)) => alternative.parse::<Alternative>().is_ok(),
            Err(_) => false,
        }
    }

    #[test]
    fn the_names_that_are_passed_on_are_those_of_the_strategies() {
        let others = ["auto", "exhaustive", "enumerate", "delay", "coverage"];
        let wrong = [
            "",
            "foo",
            "pct9",
            "exhaustiv",
            "replay",
            "scheduler",
            "coveragex",
        ];
        let whole = [
            "coverage(sync-pair)",
            "coverage:def-use",
            "coverage( sync-pair+def-use )",
            "coverage(foo)",
            "coverage(",
            "directed: main a 0 sees main b 0",
            "DIRECTED: main a 0 sees main b 0",
            "directed: x",
            "directed:",
            "directed",
        ];
        let endings = [
            "",
            ":",
            ":0",
            ":1",
            ":3",
            ": 2",
            ":-1",
            ":0.5",
            ":1.5",
            ":x",
            ":4294967296",
        ];
        let names = NAMES.iter().chain(&others).chain(&wrong);
        let with_endings = names.flat_map(|name| endings.map(|end| format!("{name}{end}")));
        let capital = ["Auto", "PCT:2", "Noise:0.5", "Delay:0", "Coverage"].map(str::to_owned);
        let all = with_endings.chain(whole.map(str::to_owned)).chain(capital);
        let (mut good, mut bad) = (0, 0);
        for text in all {
            let parsed: Result<Strategy, _> = text.parse();
            assert_eq!(is_passed_on(&text), parsed.is_ok(), "`{text}`: {parsed:?}");
            *if parsed.is_ok() { &mut good } else { &mut bad } += 1;
        }
        assert!(good >= 25 && bad >= 100, "{good} {bad}");
        for name in NAMES.iter().chain(&others) {
            assert!(raddle_settings::STRATEGIES.contains(name), "{name}");
        }
    }
}
