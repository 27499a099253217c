//! The names of strategies, for every program that reads one: checks, and the command line, which
//! passes a strategy on.

use std::fmt;
use std::str::FromStr;

use super::dispatch::Dispatcher;
use super::sampling;
use crate::analysis::alternatives::{Alternative, AlternativeError};
use crate::analysis::coverage::{Metrics, UnknownMetric};

/// Maximum number of delays of `delay` without a number.
const DEFAULT_DELAYS: u32 = 2;

/// A strategy as its name describes it.
#[derive(Clone, Debug, PartialEq)]
pub enum StrategyName {
    /// `auto`: samplers and the exhaustive search take turns.
    Auto,
    /// `exhaustive`: every class once.
    Exhaustive,
    /// `enumerate`: every schedule once.
    Enumerate,
    /// `delay` or `delay:3`: every schedule with at most this number of delays.
    Delay(u32),
    /// `coverage` or `coverage(def-use)`: guided by requirements of these metrics.
    Coverage(Metrics),
    /// `directed:` and an alternative: one execution that has its sources.
    Directed(Alternative),
    /// The name of a sampler, and perhaps its parameter.
    Sampler(Sampler),
}

/// A text that is the name of no strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrategyNameError {
    /// No strategy has this name, or it does not take this parameter.
    Strategy(String),
    /// `coverage` with a name that is no metric.
    Metric(UnknownMetric),
    /// `directed:` with a text that is no alternative.
    Alternative(AlternativeError),
}

impl fmt::Display for StrategyNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            StrategyNameError::Metric(error) => return error.fmt(f),
            StrategyNameError::Alternative(error) => return error.fmt(f),
            StrategyNameError::Strategy(name) => name,
        };
        write!(
            f,
            "unknown strategy `{name}`; there are: auto, exhaustive, "
        )?;
        for (name, _) in SAMPLERS {
            write!(f, "{name}, ")?;
        }
        f.write_str("enumerate, coverage, coverage(METRIC), delay, and ")?;
        for example in SAMPLERS.iter().filter_map(|(_, example)| *example) {
            write!(f, "{example}, ")?;
        }
        f.write_str(
            "delay:3 for at most 3 delays, directed: and an alternative for one execution that does what it \
             says",
        )
    }
}

impl std::error::Error for StrategyNameError {}

impl FromStr for StrategyName {
    type Err = StrategyNameError;

    fn from_str(text: &str) -> Result<Self, StrategyNameError> {
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("directed:") {
            let alternative = text["directed:".len()..].parse();
            let alternative = alternative.map(StrategyName::Directed);
            return alternative.map_err(StrategyNameError::Alternative);
        }
        if let Some(metrics) = metrics_of(&lower) {
            let metrics = metrics.parse().map(StrategyName::Coverage);
            return metrics.map_err(StrategyNameError::Metric);
        }
        let (name, parameter) = match lower.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter.trim())),
            None => (lower.as_str(), None),
        };
        let known = match (name, parameter) {
            ("auto", None) => Some(StrategyName::Auto),
            ("exhaustive", None) => Some(StrategyName::Exhaustive),
            ("enumerate", None) => Some(StrategyName::Enumerate),
            ("coverage", None) => Some(StrategyName::Coverage(Metrics::SYNC_PAIR_DEF_USE)),
            ("delay", None) => Some(StrategyName::Delay(DEFAULT_DELAYS)),
            ("delay", Some(bound)) => bound.parse().ok().map(StrategyName::Delay),
            _ => Sampler::named(name, parameter).map(StrategyName::Sampler),
        };
        known.ok_or_else(|| StrategyNameError::Strategy(text.to_owned()))
    }
}

/// Returns the metrics in the name of a strategy: `coverage(sync-pair)` or `coverage:sync-pair`.
fn metrics_of(name: &str) -> Option<&str> {
    let metrics = name.strip_prefix("coverage")?;
    let in_parentheses = metrics
        .strip_prefix('(')
        .and_then(|it| it.strip_suffix(')'));
    in_parentheses.or(metrics.strip_prefix(':')).map(str::trim)
}

/// Defines [`Sampler`] by the rows of the table.
macro_rules! define_samplers {
    ($($(#[$doc:meta])* $name:literal => $variant:ident $({
        $(#[$parameter_doc:meta])*
        $parameter:ident: $type:ty = $default:expr, $valid:expr, $rule:literal, $example:literal
    })?;)*) => {
        /// A sampler: a strategy that draws executions at random.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Sampler {
            $($(#[$doc])* $variant $({ $(#[$parameter_doc])* $parameter: $type })?,)*
        }

        /// The name of each sampler, and a description of its parameter.
        const SAMPLERS: &[(&str, Option<&str>)] = &[$(($name, first(&[$($example)?]))),*];

        impl Sampler {
            /// Returns the sampler with this name in lower case, if it takes this parameter.
            fn named(name: &str, parameter: Option<&str>) -> Option<Self> {
                let sampler = match name {
                    $($name => Sampler::$variant $({
                        $parameter: parameter.map_or(Ok($default), str::parse).ok()?,
                    })?,)*
                    _ => return None,
                };
                let is_taken = parameter.is_none() || sampler.parameter().is_some();
                (is_taken && sampler.problem().is_none()).then_some(sampler)
            }

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Sampler::$variant $({ $parameter: _ })? => $name,)*
                }
            }

            /// Returns the parameter as text, if the sampler has one.
            pub fn parameter(self) -> Option<String> {
                match self {
                    $(Sampler::$variant $({ $parameter })? => {
                        let parameters: &[String] = &[$($parameter.to_string())?];
                        parameters.first().cloned()
                    })*
                }
            }

            /// Returns the rule that the parameter breaks, if it does.
            pub fn problem(self) -> Option<String> {
                match self {
                    $(Sampler::$variant $({ $parameter })? => {
                        let broken: &[String] = &[$({
                            if std::ops::RangeBounds::contains(&$valid, &$parameter) {
                                return None;
                            }
                            format!("`Strategy::{}` takes {}, not {}", stringify!($variant), $rule, $parameter)
                        })?];
                        broken.first().cloned()
                    })*
                }
            }

            /// Returns the strategy, with this seed of its random choices.
            pub fn strategy(self, seed: u64) -> Dispatcher {
                if self == Sampler::Random {
                    return sampling::Random::new(seed).into();
                }
                match self {
                    $(Sampler::$variant $({ $parameter })? => {
                        Dispatcher::other(sampling::$variant::new($($parameter,)? seed))
                    })*
                }
            }
        }
    };
}

crate::samplers!(define_samplers);

/// Returns the only element, if there is one.
const fn first(elements: &[&'static str]) -> Option<&'static str> {
    match elements {
        [element, ..] => Some(element),
        [] => None,
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.parameter() {
            Some(parameter) => write!(f, ":{parameter}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StrategyName, StrategyNameError> {
        text.parse()
    }

    #[test]
    fn every_sampler_is_read_back_from_its_text_and_is_in_the_message() {
        let message = read("foo").unwrap_err().to_string();
        for (name, _) in SAMPLERS {
            let Ok(StrategyName::Sampler(sampler)) = read(name) else {
                panic!("{name}");
            };
            assert_eq!(sampler.name(), *name);
            assert_eq!(
                read(&sampler.to_string()),
                Ok(StrategyName::Sampler(sampler))
            );
            assert_eq!(
                read(&name.to_uppercase()),
                Ok(StrategyName::Sampler(sampler))
            );
            assert!(message.contains(&format!(" {name}, ")), "{message}");
        }
    }

    #[test]
    fn parameters_are_taken_where_there_is_one_and_within_its_rule() {
        let good = [
            ("pct:1", "pct:1"),
            ("pct", "pct:3"),
            ("PCT: 2", "pct:2"),
            ("noise:1", "noise:1"),
            ("noise", "noise:0.1"),
        ];
        for (text, shown) in good {
            let Ok(StrategyName::Sampler(sampler)) = read(text) else {
                panic!("{text}");
            };
            assert_eq!(sampler.to_string(), shown);
        }
        assert_eq!(read("delay:0"), Ok(StrategyName::Delay(0)));
        assert_eq!(read("delay"), Ok(StrategyName::Delay(DEFAULT_DELAYS)));
        let names = [
            "auto",
            "exhaustive",
            "enumerate",
            "random",
            "pos",
            "history",
        ];
        let endings = [":", ":0", ":1", ":x"];
        let with_endings = names
            .iter()
            .flat_map(|name| endings.map(|end| format!("{name}{end}")));
        let bad = [
            "",
            "foo",
            "pct9",
            "exhaustiv",
            "replay",
            "scheduler",
            "coveragex",
            "coverage(",
            "directed",
            "pct:0",
            "pct:-1",
            "pct:4294967296",
            "pct:",
            "pct:0.5",
            "noise:0",
            "noise:1.5",
            "noise:nan",
            "noise:x",
            "delay:-1",
            "delay:",
            "delay:x",
        ];
        for text in with_endings.chain(bad.map(str::to_owned)) {
            let error = StrategyNameError::Strategy(text.clone());
            assert_eq!(read(&text), Err(error), "{text}");
        }
    }

    #[test]
    fn metrics_and_alternatives_have_errors_of_their_own() {
        let both = StrategyName::Coverage(Metrics::SYNC_PAIR_DEF_USE);
        for text in [
            "coverage",
            "coverage( sync-pair+def-use )",
            "Coverage:sync-pair+def-use",
        ] {
            assert_eq!(read(text), Ok(both.clone()), "{text}");
        }
        let error = read("coverage(foo)").unwrap_err().to_string();
        assert!(error.starts_with("unknown metric `foo`; "), "{error}");
        for text in [
            "directed: main a 0 sees main b 0",
            "DIRECTED: main a 0 sees main b 0",
        ] {
            assert!(
                matches!(read(text), Ok(StrategyName::Directed(_))),
                "{text}"
            );
        }
        assert!(matches!(
            read("directed: x"),
            Err(StrategyNameError::Alternative(_))
        ));
    }
}
