//! The options of `study`.

use std::fmt;

use crate::bugs::{self, BadOption};

/// How much is run and drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Limits {
    /// Recorded executions of each program.
    pub(super) executions: usize,
    /// Random suites of each program.
    pub(super) suites: usize,
    /// Maximum executions of a random suite.
    pub(super) most_size: usize,
    /// Suites of each program and criterion that cover everything.
    pub(super) greedy: usize,
    /// Permutations of each test that draws them.
    pub(super) permutations: u32,
}

/// The study to make.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    pub(super) limits: Limits,
    pub(super) seed: u64,
    /// The stories, by name.
    pub(super) programs: Vec<&'static str>,
    /// Maximum mutants of each correct program.
    pub(super) mutants: usize,
    /// Seeds of each guided search; 0 for none.
    pub(super) seeds: u64,
    pub(super) markdown: bool,
}

impl fmt::Display for Options {
    /// The words that make this study, the stories left out if they are all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits {
            executions,
            suites,
            most_size,
            greedy,
            permutations,
        } = self.limits;
        write!(
            f,
            "--seed {} --executions {executions} --suites {suites} --size {most_size} ",
            self.seed
        )?;
        write!(f, "--greedy {greedy} --permutations {permutations} ")?;
        write!(f, "--mutants {} --seeds {}", self.mutants, self.seeds)?;
        match self.programs.len() == raddle_stories::all().len() {
            true => Ok(()),
            false => write!(f, " --programs {}", self.programs.join(",")),
        }
    }
}

/// The limits of each option, which keep a study within an hour and the memory of a small machine.
const EXECUTIONS: (u64, u64) = (20, 20_000);
const SUITES: (u64, u64) = (20, 100_000);
const SIZES: (u64, u64) = (2, 1_000);
const GREEDY: (u64, u64) = (1, 10_000);
const PERMUTATIONS: (u64, u64) = (19, 1_000_000);
const MUTANTS: (u64, u64) = (0, 1_000);
const SEEDS: (u64, u64) = (0, 100);

const DEFAULT: Limits = Limits {
    executions: 500,
    suites: 500,
    most_size: 30,
    greedy: 50,
    permutations: 499,
};
const QUICK: Limits = Limits {
    executions: 200,
    suites: 200,
    most_size: 20,
    greedy: 20,
    permutations: 99,
};

/// The reason why the words cannot be parsed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum BadStudy {
    /// An option that `bugs` has too.
    Shared(BadOption),
    Unknown(String),
    NoValue(String),
    BadNumber {
        option: String,
        low: u64,
        high: u64,
        text: String,
    },
    /// Suites that are as large as the record of a program are all alike.
    LargeSuites {
        most: usize,
        executions: usize,
    },
}

impl fmt::Display for BadStudy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadStudy::Shared(problem) => problem.fmt(f),
            BadStudy::Unknown(word) => write!(f, "unknown option `{word}`"),
            BadStudy::NoValue(option) => write!(f, "{option} takes a value"),
            BadStudy::BadNumber {
                option,
                low,
                high,
                text,
            } => write!(
                f,
                "{option} takes a number from {low} to {high}, not `{text}`"
            ),
            BadStudy::LargeSuites { most, executions } => write!(
                f,
                "--size {most} takes more than half of the {executions} executions of a program"
            ),
        }
    }
}

/// Parses the words after `study`.
pub(crate) fn options(words: &[&str]) -> Result<Options, BadStudy> {
    let shared = bugs::options(&[]).map_err(BadStudy::Shared)?;
    let mut options = Options {
        limits: DEFAULT,
        seed: 0,
        programs: shared.programs,
        mutants: 4,
        seeds: 10,
        markdown: false,
    };
    if words.contains(&"--quick") {
        (options.limits, options.mutants, options.seeds) = (QUICK, 2, 3);
    }
    let mut rest = words.iter();
    while let Some(&word) = rest.next() {
        let mut value = || {
            let value = rest.next().copied();
            value.ok_or_else(|| BadStudy::NoValue(word.into()))
        };
        let mut number = |(low, high): (u64, u64)| {
            let text = value()?;
            let number = text
                .parse()
                .ok()
                .filter(|number| (low..=high).contains(number));
            number.ok_or_else(|| BadStudy::BadNumber {
                option: word.into(),
                low,
                high,
                text: text.into(),
            })
        };
        let limits = &mut options.limits;
        match word {
            "--quick" => {}
            "--markdown" => options.markdown = true,
            "--seed" => options.seed = number((0, u64::MAX))?,
            "--executions" => limits.executions = number(EXECUTIONS)? as usize,
            "--suites" => limits.suites = number(SUITES)? as usize,
            "--size" => limits.most_size = number(SIZES)? as usize,
            "--greedy" => limits.greedy = number(GREEDY)? as usize,
            "--permutations" => limits.permutations = number(PERMUTATIONS)? as u32,
            "--mutants" => options.mutants = number(MUTANTS)? as usize,
            "--seeds" => options.seeds = number(SEEDS)?,
            "--programs" => {
                let names = ["--programs", value()?];
                options.programs = bugs::options(&names).map_err(BadStudy::Shared)?.programs;
            }
            word => return Err(BadStudy::Unknown(word.into())),
        }
    }
    let Limits {
        executions,
        most_size: most,
        ..
    } = options.limits;
    match 2 * most <= executions {
        true => Ok(options),
        false => Err(BadStudy::LargeSuites { most, executions }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, BadStudy> {
        options(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn options_are_understood() {
        let all = parse("").unwrap();
        assert_eq!((all.limits, all.seed, all.markdown), (DEFAULT, 0, false));
        assert_eq!(all.programs.len(), raddle_stories::all().len());
        let some =
            parse("--executions 300 --quick --seed 7 --programs bank,clean --markdown").unwrap();
        assert_eq!(
            (some.limits.executions, some.limits.suites),
            (300, QUICK.suites)
        );
        assert_eq!((some.seed, some.markdown), (7, true));
        assert_eq!(some.programs, ["bank", "clean"]);
        let none = parse("--mutants 0 --seeds 0 --size 9 --greedy 5 --permutations 19 --suites 20");
        let none = none.unwrap();
        assert_eq!((none.mutants, none.seeds, none.limits.most_size), (0, 0, 9));
        for options in [all, some, none] {
            let again = parse(&options.to_string()).unwrap();
            assert_eq!(
                again,
                Options {
                    markdown: false,
                    ..options
                }
            );
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let problem = |line| parse(line).unwrap_err().to_string();
        assert_eq!(problem("--fast"), "unknown option `--fast`");
        assert_eq!(problem("--seed"), "--seed takes a value");
        assert_eq!(
            problem("--executions 5"),
            "--executions takes a number from 20 to 20000, not `5`"
        );
        assert_eq!(
            problem("--permutations many"),
            "--permutations takes a number from 19 to 1000000, not `many`"
        );
        assert_eq!(
            problem("--executions 100 --size 60"),
            "--size 60 takes more than half of the 100 executions of a program"
        );
        assert!(problem("--programs pipe").starts_with("unknown story `pipe`; there are: "));
    }
}
