//! What a check can be told, and the names of it all.

use std::fmt;
use std::str::FromStr;

use raddle_engine::Schedule;
use raddle_engine::alternatives::Alternative;
use raddle_engine::coverage::Metrics;
use raddle_engine::memory::Model;

use crate::scheduler::Schedulers;
use crate::settings::samplers;

/// How the next execution is chosen.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Strategy {
    /// Samplers and the exhaustive search take turns, and no class counts twice. To the end of the search
    /// if an estimate of the number of classes fits into the budget; if it does not, for half of what is
    /// left, then exhaustive up to the largest number of preemptions that fits.
    #[default]
    Auto,
    /// Every class of executions exactly once.
    Exhaustive,
    /// At every step a random thread.
    Random,
    /// Threads with random priorities, and `depth - 1` random points at which the one that runs loses its
    /// own. Every execution finds a bug that needs `depth` events in a certain order with a probability of
    /// at least 1 / (n k^(depth - 1)), for n threads and k steps.
    Pct {
        /// How many events must come in a certain order; at least 1.
        depth: u32,
    },
    /// Operations with random priorities, which are drawn again only for operations that race with the
    /// one performed: few choices are spent on the order of what has nothing to do with each other.
    Pos,
    /// Every order of events is equally likely, as far as threads do not wait for each other and have
    /// equally many events in every execution.
    Urw,
    /// As `Urw`, in every execution for the uses of one location or object only, which is drawn in
    /// proportion to how often it is used.
    Surw,
    /// At every step what was not done before when threads were at these lines of the program.
    History,
    /// Threads run on until they must wait, and are interrupted with some probability at every step.
    Noise {
        /// The probability; above 0 and at most 1.
        probability: f64,
    },
    /// Every schedule with at most so many delays, those with the fewest first. Threads take turns, each
    /// until it must wait or ends; to pass over one whose turn it is, is a delay. Finds simple failures
    /// soon, also in large programs.
    Delay {
        /// How many delays.
        bound: u32,
    },
    /// Goes for what these metrics say has not been covered: first for requirements, then for pairs of
    /// them in one execution. Measures coverage; see [`Checker::coverage`](crate::Checker::coverage).
    Coverage {
        /// What is to be covered; [`Metrics::SYNC_PAIR_DEF_USE`] is the usual choice.
        metric: Metrics,
    },
    /// Every schedule, without any reduction: slow, and an oracle for small tests.
    Enumerate,
    /// One given schedule.
    Replay(Schedule),
    /// One execution in which certain receives see what the alternative says; everything else is free. If
    /// there is none, the report has a failure of kind
    /// [`Impossible`](raddle_report::FailureKind::Impossible) that says why.
    Directed(Alternative),
    /// A scheduler of the user's own; made by [`Checker::scheduler`](crate::Checker::scheduler).
    Scheduler(Schedulers),
    /// As `Enumerate`, leaving out what makes no difference; for raddle's own tests.
    #[doc(hidden)]
    EnumeratePrivateFirst,
}

/// So many delays if nobody says how many.
const DEFAULT_DELAYS: u32 = 2;

/// Which values a read may see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Sequential consistency: always the latest, whatever the orderings.
    Sc,
    /// The memory model of Rust's atomics, C11's without values out of thin air: what the orderings
    /// in the program allow.
    #[default]
    Rc11,
}

impl Memory {
    pub(crate) fn model(self) -> Model {
        match self {
            Memory::Sc => Model::Sc,
            Memory::Rc11 => Model::Rc11,
        }
    }
}

/// A name that is none of the valid ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    valid: &'static str,
    /// What is wrong with it, if it is not the name.
    problem: Option<String>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnknownName {
            what,
            name,
            valid,
            problem,
        } = self;
        if let Some(problem) = problem {
            return f.write_str(problem);
        }
        write!(f, "unknown {what} `{name}`; there are: {valid}")
    }
}

impl std::error::Error for UnknownName {}

impl FromStr for Strategy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("directed:") {
            let alternative = name["directed:".len()..].parse();
            return alternative.map(Strategy::Directed).map_err(
                |error: raddle_engine::alternatives::AlternativeError| UnknownName {
                    what: "alternative",
                    name: name.to_owned(),
                    valid: "",
                    problem: Some(error.to_string()),
                },
            );
        }
        let delays = lower.strip_prefix("delay:").map_or("", str::trim);
        if let Ok(bound) = delays.parse() {
            return Ok(Strategy::Delay { bound });
        }
        if let Some(sampler) = samplers::parse(&lower) {
            return Ok(sampler);
        }
        if let Some(metric) = metric_of(&lower) {
            let unknown = |_| UnknownName {
                what: "metric",
                problem: None,
                name: metric.to_owned(),
                valid: METRICS,
            };
            let metric = metric.parse().map_err(unknown)?;
            return Ok(Strategy::Coverage { metric });
        }
        match lower.as_str() {
            "coverage" => Ok(Strategy::Coverage {
                metric: Metrics::SYNC_PAIR_DEF_USE,
            }),
            "delay" => Ok(Strategy::Delay {
                bound: DEFAULT_DELAYS,
            }),
            "auto" => Ok(Strategy::Auto),
            "exhaustive" => Ok(Strategy::Exhaustive),
            "enumerate" => Ok(Strategy::Enumerate),
            _ => Err(UnknownName {
                what: "strategy",
                problem: None,
                name: name.to_owned(),
                valid: samplers::STRATEGIES,
            }),
        }
    }
}

/// The metric in the name of a strategy: `coverage(sync-pair)` or `coverage:sync-pair`.
fn metric_of(name: &str) -> Option<&str> {
    let metric = name.strip_prefix("coverage")?;
    let in_parentheses = metric.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    in_parentheses.or(metric.strip_prefix(':')).map(str::trim)
}

const METRICS: &str = "blocked, blocking, blocked-pair, follows, sync-pair, lr-def, local-def, \
                       remote-def, def-use, pset, wait-notify, lock-order, adjacent, and several with \
                       + between them";

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Delay { bound } => return write!(f, "delay:{bound}"),
            Strategy::Coverage { metric } if *metric != Metrics::SYNC_PAIR_DEF_USE => {
                return write!(f, "coverage({metric})");
            }
            Strategy::Coverage { .. } => "coverage",
            Strategy::Auto => "auto",
            Strategy::Exhaustive => "exhaustive",
            Strategy::Enumerate | Strategy::EnumeratePrivateFirst => "enumerate",
            Strategy::Replay(_) => "replay",
            Strategy::Scheduler(schedulers) => schedulers.name(),
            Strategy::Directed(alternative) => return write!(f, "directed: {alternative}"),
            sampler => match samplers::text(sampler) {
                Some((name, Some(parameter))) => return write!(f, "{name}:{parameter}"),
                Some((name, None)) => name,
                None => unreachable!("every other strategy is a sampler"),
            },
        })
    }
}

impl FromStr for Memory {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name.to_ascii_lowercase().as_str() {
            "sc" => Ok(Memory::Sc),
            "rc11" => Ok(Memory::Rc11),
            _ => Err(UnknownName {
                what: "memory model",
                problem: None,
                name: name.to_owned(),
                valid: "sc, rc11",
            }),
        }
    }
}

/// Which executions are of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Classes {
    /// Those in which every read takes its value from the same write, every grant goes to the same
    /// caller and so on, and the writes of every variable follow each other in the same order.
    #[default]
    ReadsFromAndCoherence,
    /// The same, whatever the order of writes that nobody observes.
    ReadsFrom,
}

impl FromStr for Classes {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name.to_ascii_lowercase().as_str() {
            "reads-from" => Ok(Classes::ReadsFrom),
            "reads-from-and-coherence" => Ok(Classes::ReadsFromAndCoherence),
            _ => Err(UnknownName {
                what: "kind of classes",
                problem: None,
                name: name.to_owned(),
                valid: "reads-from, reads-from-and-coherence",
            }),
        }
    }
}

/// What becomes of something suspicious in an execution that went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Nobody looks.
    Allow,
    /// It is a warning in the report, and printed with it.
    #[default]
    Warn,
    /// It is a failure.
    Deny,
}

impl FromStr for Level {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name.to_ascii_lowercase().as_str() {
            "allow" => Ok(Level::Allow),
            "warn" => Ok(Level::Warn),
            "deny" => Ok(Level::Deny),
            _ => Err(UnknownName {
                what: "level",
                problem: None,
                name: name.to_owned(),
                valid: "allow, warn, deny",
            }),
        }
    }
}

/// What an exhaustive search may leave out; see [`Checker::reduce`](crate::Checker::reduce).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reduction {
    /// Threads that were created on the same line are interchangeable: of several that want the same
    /// of an object, only the first is tried. Safe if such threads do the same to the same objects
    /// whatever their number; loses classes, and failures with them, if they do not.
    Symmetry,
    /// Giving a permit back to a counting semaphore comes before whatever else is wanted of the
    /// semaphore at the same time. May lose end states of programs in which permits given back by
    /// different threads meet, because the order of the two also orders what comes after.
    Releases,
}

impl FromStr for Reduction {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name.to_ascii_lowercase().as_str() {
            "symmetry" => Ok(Reduction::Symmetry),
            "releases" => Ok(Reduction::Releases),
            _ => Err(UnknownName {
                what: "reduction",
                problem: None,
                name: name.to_owned(),
                valid: "symmetry, releases",
            }),
        }
    }
}
