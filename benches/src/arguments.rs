//! The command line.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::instructions::{self, Workload};
use crate::programs::Program;
use crate::{
    bugs, coverage, estimate, exhaust, memory, polling, regression, samplers, speed, study,
};

/// The output of `--help`.
pub(crate) const HELP: &str = "\
How fast raddle is, next to loom and shuttle measured in the same run.

Usage: raddle-bench COMMAND

Commands:
  speed [PROGRAM...]                       executions per second of processor time
  speed point                              nanoseconds for one scheduling point
  speed races                              executions per second with data races looked for
                                           and without
  speed coverage                           executions per second with coverage measured
                                           and without
  speed scale                              nanoseconds for one event as programs grow
  speed scale stores                       the same for plain stores and compare-exchanges
  speed scale seq-cst                      the same for SeqCst accesses beside weaker ones
  speed scale exhaustive                   the same for the exhaustive search
  exhaust [PROGRAM...] [--cut TIME]        executions and seconds until a search ends;
                                           loom and shuttle are stopped after TIME (60s)
  exhaust dpN                              the same for N philosophers in a monitor, with one
                                           worker and with two
  coverage [--executions N]                what guided search and a random walk cover of three
                                           collections in N executions (2000)
  estimate [--executions N] [--seed N]     estimates of known numbers of classes, from N runs each
                                           (4000)
  samplers [--each N]                      how evenly samplers draw, next to shuttle's, from N
                                           executions for each outcome (200), and how many
                                           classes 1000 executions come to
  memory [PROGRAM...] [--executions N]     resident memory during N executions (10000000)
  bugs [--seeds N] [--quick]               executions until a bug is found, from N seeds (100) or
                                           from 5, for raddle's strategies and for shuttle's
       [--programs NAME,...]               only these stories of tests/stories
       [--strategies NAME,...]             only these strategies of raddle's
  regression [--seeds N] [--quick] [--programs NAME,...]
                                           executions until the bug of a changed program is found, with
                                           knowledge of the version before and without; by hand, as it
                                           is no part of `all`
       [--pairs tuning|held-out|both]      the pairs that were chosen before the search was tuned, in
                                           large programs
       [--large] [--from SEED]             only large programs; the first seed (0)
       [--ways NAME,...]                   only auto, since, random, guided, targets, near
  study [--seed N] [--quick] [--programs NAME,...] [--markdown]
                                           which coverage metrics predict that suites of executions
                                           find failures, on the stories and on mutants of their
                                           twins; with --markdown as a page of the book,
                                           docs/src/study.md; no part of `all`
       [--executions N] [--suites N]       executions of each program (500), random suites (500)
       [--size N] [--greedy N]             of at most N executions (30), suites with all coverage (50)
       [--permutations N]                  of each permutation test (499)
       [--mutants N] [--seeds N]           mutants of each twin (4), seeds of each guided search (10)
  minimise [STORY...]                      how short failures become: preemptions and events
                                           before and after, and the fewest there can be
  limits [WORD...]                         by how much budget, watchdog and Ctrl-C are overrun, for
                                           all programs or those with a WORD in their names
  native [--prototype DIR]                 how fast C and C++ programs are checked, in every mode,
                                           next to the prototype of the runtime in DIR; and tests
                                           of a plain Rust crate, next to shuttle and loom

  all [--markdown]                         all of these, one after the other; with --markdown as a
                                           page of the book, docs/src/numbers.md

  instructions                             instructions per execution, scheduling point and class,
                                           counted by valgrind: the same on a busy machine. Compares
                                           two versions of raddle, so it is no part of `all`
  polling                                  instructions per run and event of programs with loops that
                                           wait, as they grow, counted in the same way

Programs: mutex_TxI, racy_TxI (T threads, I increments each), two_locks, and locks_TxL
(T threads that take L locks one after the other).

Examples:
  cargo run --release -p raddle-bench -- speed
  cargo run --release -p raddle-bench -- speed racy_2x1 mutex_3x2
  cargo run --release -p raddle-bench -- speed scale exhaustive
  cargo run --release -p raddle-bench -- exhaust --cut 5s
  cargo run --release -p raddle-bench -- estimate --seed 7
  cargo run --release -p raddle-bench -- samplers --each 20
  cargo run --release -p raddle-bench -- memory racy_2x1 --executions 1000000
  cargo run --release -p raddle-bench -- bugs --quick --programs piper,bank
  cargo run --release -p raddle-bench -- study --quick --programs lost_update,bank
  cargo run --release -p raddle-bench -- minimise bank
  cargo run --release -p raddle-bench -- limits polling
  cargo run --release -p raddle-bench -- instructions
  cargo run --release -p raddle-bench -- polling
  cargo run --release -p raddle-bench -- all --markdown > docs/src/numbers.md

Exit code: 0 if all was measured and no limit was overrun or cost too high, 1 if not, 2 for bad usage.
";

/// The number in the name of that program.
fn philosophers(word: &str) -> Option<usize> {
    let number = word.strip_prefix("dp")?.parse().ok();
    number.filter(|&number| number > 1)
}

/// The workload of this name.
fn workload(name: &str) -> Option<&'static Workload> {
    let mut all = instructions::WORKLOADS.iter().chain(&polling::WORKLOADS);
    all.find(|it| it.name == name)
}

/// The measurement to run.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Speed {
        programs: Vec<Program>,
    },
    Dining {
        philosophers: usize,
    },
    Point,
    Races,
    SpeedOfCoverage,
    Coverage {
        executions: u64,
    },
    Scale,
    ScaleStores,
    ScaleSeqCst,
    ScaleExhaustive,
    Exhaust {
        programs: Vec<Program>,
        cut: Duration,
    },
    Estimate {
        executions: u64,
        seed: u64,
    },
    Samplers {
        each: u64,
    },
    Memory {
        programs: Vec<Program>,
        executions: u64,
    },
    Bugs(bugs::Options),
    Regression(regression::Options),
    Study(study::Options),
    Instructions,
    Polling,
    /// One workload, run in the process whose instructions valgrind counts.
    InstructionsOf {
        workload: &'static Workload,
        amount: u64,
    },
    Minimise {
        stories: Vec<&'static str>,
    },
    Limits {
        words: Vec<String>,
    },
    /// One program, checked in the process whose end is measured.
    LimitsOf {
        program: String,
    },
    Native {
        prototype: Option<PathBuf>,
    },
    All {
        markdown: bool,
    },
}

/// The reason why the words are not a command.
#[derive(Debug, PartialEq)]
pub(crate) enum Problem {
    NoCommand,
    UnknownCommand(String),
    UnknownProgram(String),
    UnknownOption(String),
    Unexpected { word: String, after: &'static str },
    BadCut(Option<String>),
    BadExecutions(Option<String>),
    BadBugs(bugs::BadOption),
    BadStudy(study::BadStudy),
    BadEach(Option<String>),
    NoPrototype,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = |value: &Option<String>| match value {
            Some(value) => format!("not `{value}`"),
            None => "but there is none".to_owned(),
        };
        match self {
            Problem::NoCommand => {
                write!(
                    f,
                    "say what to measure: speed, exhaust, coverage, estimate, samplers, memory, bugs, regression, study, minimise, limits, native, instructions, polling or all"
                )
            }
            Problem::UnknownCommand(word) => {
                write!(
                    f,
                    "unknown command `{word}`; the commands are speed, exhaust, coverage, estimate, \
                     samplers, memory, bugs, regression, study, minimise, limits, native, instructions, polling and all"
                )
            }
            Problem::UnknownProgram(word) => {
                write!(
                    f,
                    "unknown program `{word}`; programs are named like mutex_3x2, racy_2x1, "
                )?;
                write!(f, "two_locks or locks_10x10")
            }
            Problem::UnknownOption(word) => write!(f, "unknown option `{word}`"),
            Problem::Unexpected { word, after } => write!(f, "unexpected `{word}` after `{after}`"),
            Problem::BadCut(value) => {
                write!(
                    f,
                    "--cut takes a time like 500ms, 5s or 2m, {}",
                    given(value)
                )
            }
            Problem::BadExecutions(value) => {
                write!(
                    f,
                    "--executions takes a number of at least 100, {}",
                    given(value)
                )
            }
            Problem::BadBugs(problem) => problem.fmt(f),
            Problem::BadStudy(problem) => problem.fmt(f),
            Problem::BadEach(value) => {
                write!(f, "--each takes a number of at least 1, {}", given(value))
            }
            Problem::NoPrototype => write!(f, "--prototype takes the folder that it is in"),
        }
    }
}

/// Parses the words after the name of the binary.
pub(crate) fn parse(words: &[String]) -> Result<Command, Problem> {
    if words
        .iter()
        .any(|word| matches!(word.as_str(), "--help" | "-h"))
    {
        return Ok(Command::Help);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => Err(Problem::NoCommand),
        ["speed", "point", rest @ ..] => nothing_more(rest, "speed point", Command::Point),
        ["speed", "races", rest @ ..] => nothing_more(rest, "speed races", Command::Races),
        ["speed", "coverage", rest @ ..] => {
            nothing_more(rest, "speed coverage", Command::SpeedOfCoverage)
        }
        ["coverage", rest @ ..] => {
            let executions = match option(rest, "--executions")? {
                None => coverage::EXECUTIONS,
                Some(text) => text
                    .and_then(|text| text.parse().ok())
                    .filter(|&executions| executions >= 100)
                    .ok_or(Problem::BadExecutions(text.map(Into::into)))?,
            };
            Ok(Command::Coverage { executions })
        }
        ["speed", "scale", "stores", rest @ ..] => {
            nothing_more(rest, "speed scale stores", Command::ScaleStores)
        }
        ["speed", "scale", "seq-cst", rest @ ..] => {
            nothing_more(rest, "speed scale seq-cst", Command::ScaleSeqCst)
        }
        ["speed", "scale", "exhaustive", rest @ ..] => {
            nothing_more(rest, "speed scale exhaustive", Command::ScaleExhaustive)
        }
        ["speed", "scale", rest @ ..] => nothing_more(rest, "speed scale", Command::Scale),
        ["speed", rest @ ..] => {
            let (programs, rest) = programs(rest, &speed::PROGRAMS)?;
            let command = Command::Speed { programs };
            rest.first().map_or(Ok(command), |word| {
                Err(Problem::UnknownOption((*word).into()))
            })
        }
        ["exhaust", word, rest @ ..] if philosophers(word).is_some() => {
            let philosophers = philosophers(word).unwrap_or_default();
            nothing_more(rest, "exhaust dpN", Command::Dining { philosophers })
        }
        ["exhaust", rest @ ..] => {
            let (programs, rest) = programs(rest, &exhaust::PROGRAMS)?;
            let cut = match option(rest, "--cut")? {
                None => exhaust::CUT,
                Some(text) => text
                    .and_then(time)
                    .ok_or(Problem::BadCut(text.map(Into::into)))?,
            };
            Ok(Command::Exhaust { programs, cut })
        }
        ["estimate", rest @ ..] => {
            let number = |text: &str| {
                let unexpected = || Problem::BadExecutions(Some(text.into()));
                text.parse().map_err(|_| unexpected())
            };
            let mut command = (estimate::EXECUTIONS, 0);
            for pair in rest.chunks(2) {
                match *pair {
                    ["--executions", text] => command.0 = number(text)?,
                    ["--seed", text] => command.1 = number(text)?,
                    ["--executions" | "--seed"] => return Err(Problem::BadExecutions(None)),
                    [word, ..] => return Err(Problem::UnknownOption(word.into())),
                    [] => {}
                }
            }
            let (executions, seed) = command;
            Ok(Command::Estimate { executions, seed })
        }
        ["samplers", rest @ ..] => {
            let each = match option(rest, "--each")? {
                None => samplers::EACH,
                Some(text) => text
                    .and_then(|text| text.parse().ok())
                    .filter(|&each| each >= 1)
                    .ok_or(Problem::BadEach(text.map(Into::into)))?,
            };
            Ok(Command::Samplers { each })
        }
        ["memory", rest @ ..] => {
            let (programs, rest) = programs(rest, &memory::PROGRAMS)?;
            let executions = match option(rest, "--executions")? {
                None => memory::EXECUTIONS,
                Some(text) => text
                    .and_then(|text| text.parse().ok())
                    .filter(|&executions| executions >= 100)
                    .ok_or(Problem::BadExecutions(text.map(Into::into)))?,
            };
            Ok(Command::Memory {
                programs,
                executions,
            })
        }
        ["bugs", rest @ ..] => match bugs::options(rest) {
            Ok(options) => Ok(Command::Bugs(options)),
            Err(problem) => Err(Problem::BadBugs(problem)),
        },
        ["regression", rest @ ..] => match regression::options(rest) {
            Ok(options) => Ok(Command::Regression(options)),
            Err(problem) => Err(Problem::BadBugs(problem)),
        },
        ["study", rest @ ..] => match study::options(rest) {
            Ok(options) => Ok(Command::Study(options)),
            Err(problem) => Err(Problem::BadStudy(problem)),
        },
        ["minimise", rest @ ..] => {
            let stories = rest.iter().map(|name| bugs::story(name));
            match stories.collect() {
                Ok(stories) => Ok(Command::Minimise { stories }),
                Err(problem) => Err(Problem::BadBugs(problem)),
            }
        }
        ["limits", rest @ ..] => match rest.iter().find(|word| word.starts_with('-')) {
            Some(word) => Err(Problem::UnknownOption((*word).into())),
            None => Ok(Command::Limits {
                words: rest.iter().map(|&word| word.to_owned()).collect(),
            }),
        },
        ["limits-of", program] => Ok(Command::LimitsOf {
            program: (*program).to_owned(),
        }),
        ["native", rest @ ..] => {
            let prototype = match option(rest, "--prototype")? {
                None => None,
                Some(folder) => Some(folder.ok_or(Problem::NoPrototype)?.into()),
            };
            Ok(Command::Native { prototype })
        }
        ["polling", rest @ ..] => nothing_more(rest, "polling", Command::Polling),
        ["instructions", rest @ ..] => {
            if let [name, amount] = rest
                && let Some(workload) = workload(name)
                && let Ok(amount) = amount.parse()
            {
                return Ok(Command::InstructionsOf { workload, amount });
            }
            nothing_more(rest, "instructions", Command::Instructions)
        }
        ["all", "--markdown", rest @ ..] => {
            nothing_more(rest, "all --markdown", Command::All { markdown: true })
        }
        ["all"] => Ok(Command::All { markdown: false }),
        ["all", word, ..] => Err(Problem::UnknownOption((*word).into())),
        [word, ..] => Err(Problem::UnknownCommand((*word).into())),
    }
}

fn nothing_more(rest: &[&str], after: &'static str, command: Command) -> Result<Command, Problem> {
    match rest {
        [] => Ok(command),
        [word, ..] => Err(Problem::Unexpected {
            word: (*word).into(),
            after,
        }),
    }
}

/// The programs named before the first option, or all if none is.
fn programs<'a, 'b>(
    words: &'b [&'a str],
    all: &[Program],
) -> Result<(Vec<Program>, &'b [&'a str]), Problem> {
    let named = words
        .iter()
        .take_while(|word| !word.starts_with('-'))
        .count();
    let (names, rest) = words.split_at(named);
    let programs = names
        .iter()
        .map(|name| {
            name.parse()
                .map_err(|()| Problem::UnknownProgram((*name).into()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok((
        if programs.is_empty() {
            all.to_vec()
        } else {
            programs
        },
        rest,
    ))
}

/// The value of the only option there may be: `Some(None)` if the option has no value.
fn option<'a>(words: &[&'a str], name: &'static str) -> Result<Option<Option<&'a str>>, Problem> {
    match words {
        [] => Ok(None),
        [option] if *option == name => Ok(Some(None)),
        [option, value] if *option == name => Ok(Some(Some(value))),
        [option, _, word, ..] if *option == name => Err(Problem::Unexpected {
            word: (*word).into(),
            after: name,
        }),
        [word, ..] => Err(Problem::UnknownOption((*word).into())),
    }
}

/// A time like `500ms`, `5s` or `2m`; not zero.
fn time(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    let number: u64 = number.parse().ok().filter(|&number| number > 0)?;
    Some(Duration::from_millis(number.checked_mul(milliseconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Command, Problem> {
        parse(&line.split_whitespace().map(Into::into).collect::<Vec<_>>())
    }

    #[test]
    fn commands_have_defaults() {
        let all = Command::Speed {
            programs: speed::PROGRAMS.to_vec(),
        };
        assert_eq!(parse_line("speed"), Ok(all));
        assert_eq!(parse_line("speed scale"), Ok(Command::Scale));
        assert_eq!(parse_line("speed scale stores"), Ok(Command::ScaleStores));
        assert_eq!(parse_line("speed races"), Ok(Command::Races));
        assert_eq!(parse_line("instructions"), Ok(Command::Instructions));
        let one = Command::InstructionsOf {
            workload: &instructions::WORKLOADS[0],
            amount: 7,
        };
        assert_eq!(parse_line("instructions racy_2x1 7"), Ok(one));
        assert_eq!(parse_line("polling"), Ok(Command::Polling));
        assert!(parse_line("polling x").is_err());
        let all = Command::Exhaust {
            programs: exhaust::PROGRAMS.to_vec(),
            cut: exhaust::CUT,
        };
        assert_eq!(parse_line("exhaust"), Ok(all));
        let executions = estimate::EXECUTIONS;
        let estimates = |seed| Command::Estimate { executions, seed };
        assert_eq!(parse_line("estimate"), Ok(estimates(0)));
        assert_eq!(parse_line("estimate --seed 7"), Ok(estimates(7)));
        let each = |each| Ok(Command::Samplers { each });
        assert_eq!(parse_line("samplers"), each(samplers::EACH));
        assert_eq!(parse_line("samplers --each 20"), each(20));
        let executions = coverage::EXECUTIONS;
        assert_eq!(parse_line("coverage"), Ok(Command::Coverage { executions }));
        assert_eq!(
            parse_line("coverage --executions 300"),
            Ok(Command::Coverage { executions: 300 })
        );
        assert_eq!(parse_line("speed coverage"), Ok(Command::SpeedOfCoverage));
        let stories = |stories| Ok(Command::Minimise { stories });
        let native = |prototype| Ok(Command::Native { prototype });
        assert_eq!(parse_line("native"), native(None));
        let folder = Some(PathBuf::from("sketch"));
        assert_eq!(parse_line("native --prototype sketch"), native(folder));
        assert_eq!(parse_line("native --prototype"), Err(Problem::NoPrototype));
        assert_eq!(parse_line("minimise"), stories(Vec::new()));
        assert_eq!(parse_line("minimise bank"), stories(vec!["bank"]));
        let all = |markdown| Ok(Command::All { markdown });
        assert_eq!(parse_line("all"), all(false));
        assert_eq!(parse_line("all --markdown"), all(true));
        let six = Command::Dining { philosophers: 6 };
        assert_eq!(parse_line("exhaust dp6"), Ok(six));
    }

    #[test]
    fn programs_and_options_are_understood() {
        let programs = vec![Program::racy(2, 1), Program::TwoLocks];
        let cut = Duration::from_millis(1500);
        assert_eq!(
            parse_line("exhaust racy_2x1 two_locks --cut 1500ms"),
            Ok(Command::Exhaust { programs, cut })
        );
        let programs = vec![Program::mutex(3, 2)];
        assert_eq!(
            parse_line("memory mutex_3x2 --executions 1000"),
            Ok(Command::Memory {
                programs,
                executions: 1000
            })
        );
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let problem = |line| parse_line(line).unwrap_err().to_string();
        assert_eq!(
            problem(""),
            "say what to measure: speed, exhaust, coverage, estimate, samplers, memory, bugs, regression, study, minimise, limits, native, instructions, polling or all"
        );
        assert_eq!(
            problem("sped"),
            "unknown command `sped`; the commands are speed, exhaust, coverage, estimate, samplers, \
             memory, bugs, regression, study, minimise, limits, native, instructions, polling and all"
        );
        assert_eq!(
            problem("speed racy_2"),
            "unknown program `racy_2`; programs are named like mutex_3x2, racy_2x1, two_locks or \
             locks_10x10"
        );
        assert_eq!(
            problem("speed point now"),
            "unexpected `now` after `speed point`"
        );
        assert_eq!(problem("speed --fast"), "unknown option `--fast`");
        assert_eq!(
            problem("exhaust --cut 5"),
            "--cut takes a time like 500ms, 5s or 2m, not `5`"
        );
        assert_eq!(
            problem("samplers --each 0"),
            "--each takes a number of at least 1, not `0`"
        );
        assert_eq!(
            problem("memory --executions"),
            "--executions takes a number of at least 100, but there is none"
        );
    }
}
