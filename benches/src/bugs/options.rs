//! The options of `bugs`.

use std::fmt;

use raddle::{Strategy, UnknownName};

use super::{QUICK_SEEDS, SEEDS, STRATEGIES};

/// The measurement to run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    pub(crate) seeds: u64,
    /// The stories, by name.
    pub(crate) programs: Vec<&'static str>,
    pub(crate) strategies: Vec<Strategy>,
}

/// The reason why the words cannot be parsed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum BadOption {
    Unknown(String),
    NoValue(String),
    BadSeeds(String),
    /// The option, and the text that is not a number.
    BadNumber(String, String),
    UnknownPairs(String),
    UnknownWay(String),
    UnknownStory(String),
    UnknownStrategy(UnknownName),
}

impl fmt::Display for BadOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadOption::Unknown(word) => write!(f, "unknown option `{word}`"),
            BadOption::NoValue(option) => write!(f, "{option} takes a value"),
            BadOption::BadSeeds(text) => {
                write!(f, "--seeds takes a number of at least 1, not `{text}`")
            }
            BadOption::BadNumber(option, text) => {
                write!(f, "{option} takes a number, not `{text}`")
            }
            BadOption::UnknownPairs(text) => {
                write!(f, "--pairs takes tuning, held-out or both, not `{text}`")
            }
            BadOption::UnknownWay(text) => {
                let names: Vec<_> = crate::regression::WAYS
                    .iter()
                    .map(|way| way.name())
                    .collect();
                write!(f, "unknown way `{text}`; there are: {}", names.join(", "))
            }
            BadOption::UnknownStory(name) => {
                write!(
                    f,
                    "unknown story `{name}`; there are: {}",
                    names().join(", ")
                )
            }
            BadOption::UnknownStrategy(name) => name.fmt(f),
        }
    }
}

/// The names of all stories.
fn names() -> Vec<&'static str> {
    let stories = raddle_stories::all();
    stories.iter().map(|story| story.name).collect()
}

/// Parses the words after `bugs`.
pub(crate) fn options(words: &[&str]) -> Result<Options, BadOption> {
    let mut options = Options {
        seeds: SEEDS,
        programs: names(),
        strategies: STRATEGIES.to_vec(),
    };
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let mut value = || {
            let value = words.next().copied();
            value.ok_or_else(|| BadOption::NoValue(word.into()))
        };
        match word {
            "--quick" => options.seeds = QUICK_SEEDS,
            "--seeds" => {
                let text = value()?;
                let seeds = text.parse().ok().filter(|&seeds| seeds > 0);
                options.seeds = seeds.ok_or_else(|| BadOption::BadSeeds(text.into()))?;
            }
            "--programs" => options.programs = list(value()?, story)?,
            "--strategies" => {
                let strategy = |name: &str| name.parse().map_err(BadOption::UnknownStrategy);
                options.strategies = list(value()?, strategy)?;
            }
            word => return Err(BadOption::Unknown(word.into())),
        }
    }
    Ok(options)
}

/// The name as the story has it.
pub(crate) fn story(name: &str) -> Result<&'static str, BadOption> {
    let known = names().into_iter().find(|&known| known == name);
    known.ok_or_else(|| BadOption::UnknownStory(name.into()))
}

/// Words with commas between them.
fn list<T>(text: &str, one: impl Fn(&str) -> Result<T, BadOption>) -> Result<Vec<T>, BadOption> {
    text.split(',').map(|word| one(word.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, BadOption> {
        options(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn options_are_understood() {
        let all = parse("").unwrap();
        assert_eq!(all.seeds, SEEDS);
        assert_eq!(all.programs.len(), raddle_stories::all().len());
        let some = parse("--programs piper,bank --strategies auto --quick").unwrap();
        assert_eq!(some.seeds, QUICK_SEEDS);
        assert_eq!(some.programs, ["piper", "bank"]);
        assert_eq!(some.strategies, [Strategy::Auto]);
        assert_eq!(parse("--seeds 7").unwrap().seeds, 7);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let problem = |line| parse(line).unwrap_err().to_string();
        assert_eq!(problem("--fast"), "unknown option `--fast`");
        assert_eq!(problem("--seeds"), "--seeds takes a value");
        assert_eq!(
            problem("--seeds 0"),
            "--seeds takes a number of at least 1, not `0`"
        );
        assert!(problem("--programs pipe").starts_with("unknown story `pipe`; there are: "));
        assert!(problem("--strategies best").starts_with("unknown strategy `best`"));
    }
}
