//! Names of strategies, for programs that pass a strategy on without running checks.

use std::ops::RangeInclusive;

/// A strategy, as far as this crate knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StrategyText<'a> {
    /// A name, perhaps with a number.
    Named,
    /// `coverage` with the names of metrics, which `raddle-engine` can read.
    Coverage(&'a str),
    /// `directed:` with an alternative, which `raddle-engine` can read.
    Directed(&'a str),
}

/// A text that is no strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStrategy {
    name: String,
}

impl std::fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.name;
        write!(f, "unknown strategy `{name}`; there are: {STRATEGIES}")
    }
}

impl std::error::Error for UnknownStrategy {}

/// Names of all strategies, for messages.
pub const STRATEGIES: &str = "auto, exhaustive, random, pct, pos, urw, surw, history, noise, enumerate, coverage, \
                              coverage(METRIC), delay, and pct:3 for bugs of depth 3, noise:0.1 for interruptions \
                              with probability 0.1, delay:3 for at most 3 delays, directed: and an alternative for \
                              one execution that does what it says";

/// The numbers that a strategy takes behind its name.
enum Parameter {
    None,
    Whole(RangeInclusive<u32>),
    /// Above 0 and at most 1.
    Probability,
}

const NAMES: [(&str, Parameter); 11] = [
    ("auto", Parameter::None),
    ("exhaustive", Parameter::None),
    ("enumerate", Parameter::None),
    ("random", Parameter::None),
    ("pos", Parameter::None),
    ("urw", Parameter::None),
    ("surw", Parameter::None),
    ("history", Parameter::None),
    ("pct", Parameter::Whole(1..=u32::MAX)),
    ("delay", Parameter::Whole(0..=u32::MAX)),
    ("noise", Parameter::Probability),
];

/// Splits the text of a strategy.
///
/// # Errors
///
/// If there is no such strategy, or it does not take such a number.
pub fn strategy(text: &str) -> Result<StrategyText<'_>, UnknownStrategy> {
    let unknown = || UnknownStrategy {
        name: text.to_owned(),
    };
    let start = |prefix: &str| {
        let start = text.get(..prefix.len())?;
        let is_same = start.eq_ignore_ascii_case(prefix);
        is_same.then(|| &text[prefix.len()..])
    };
    if let Some(alternative) = start("directed:") {
        return Ok(StrategyText::Directed(alternative));
    }
    if let Some(metrics) = start("coverage") {
        let in_parentheses = metrics.strip_prefix('(');
        let in_parentheses = in_parentheses.and_then(|it| it.strip_suffix(')'));
        return match in_parentheses.or(metrics.strip_prefix(':')) {
            Some(metrics) => Ok(StrategyText::Coverage(metrics.trim())),
            None if metrics.is_empty() => Ok(StrategyText::Named),
            None => Err(unknown()),
        };
    }
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name, Some(number.trim())),
        None => (text, None),
    };
    let mut names = NAMES.iter();
    let known = names.find(|(known, _)| known.eq_ignore_ascii_case(name));
    let (_, parameter) = known.ok_or_else(unknown)?;
    let is_valid = match (parameter, number) {
        (_, None) => true,
        (Parameter::None, Some(_)) => false,
        (Parameter::Whole(range), Some(number)) => {
            number.parse().is_ok_and(|number| range.contains(&number))
        }
        (Parameter::Probability, Some(number)) => number
            .parse()
            .is_ok_and(|number: f64| number > 0.0 && number <= 1.0),
    };
    is_valid.then_some(StrategyText::Named).ok_or_else(unknown)
}
