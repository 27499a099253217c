//! Types of the settings, and the names of their values.

use std::fmt;
use std::str::FromStr;

use raddle_engine::Schedule;
use raddle_engine::alternatives::Alternative;
use raddle_engine::coverage::Metrics;
use raddle_engine::memory::Model;
use raddle_engine::strategy::{Sampler, StrategyName, StrategyNameError};

use crate::scheduler::Schedulers;

/// Defines [`Strategy`]: the samplers of the engine's table, and the other strategies.
macro_rules! define_strategy {
    ($($(#[$doc:meta])* $name:literal => $variant:ident $({
        $(#[$parameter_doc:meta])*
        $parameter:ident: $type:ty = $default:expr, $valid:expr, $rule:literal, $example:literal
    })?;)*) => {
        /// Choice of the next execution.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub enum Strategy {
            /// Random strategies and the exhaustive search take turns, and no class counts twice. They
            /// continue to the end of the search if the estimated number of classes fits into the budget.
            /// Otherwise they continue for half of the remaining budget, followed by a search up to the
            /// largest number of preemptions that fits.
            #[default]
            Auto,
            /// Every class of executions exactly once.
            Exhaustive,
            $($(#[$doc])* $variant $({ $(#[$parameter_doc])* $parameter: $type })?,)*
            /// Every schedule with at most `bound` delays, those with the fewest first. Threads take turns,
            /// each until it blocks or ends; a delay passes over the thread whose turn it is. Finds simple
            /// failures soon, also in large programs.
            Delay {
                /// Maximum number of delays.
                bound: u32,
            },
            /// Targets requirements of these metrics that are not covered yet, then pairs of them in one
            /// execution. Measures coverage; see [`Checker::coverage`](crate::Checker::coverage).
            Coverage {
                /// Metrics to cover; [`Metrics::SYNC_PAIR_DEF_USE`] is the usual choice.
                metric: Metrics,
            },
            /// Every schedule, without any reduction: slow, and an oracle for small tests.
            Enumerate,
            /// One given schedule.
            Replay(Schedule),
            /// One execution in which certain receives have the sources of the alternative; everything else
            /// is free. If there is none, the report has a failure of kind
            /// [`Impossible`](raddle_report::FailureKind::Impossible) with the reason.
            Directed(Alternative),
            /// A scheduler of the user's own; made by [`Checker::scheduler`](crate::Checker::scheduler).
            Scheduler(Schedulers),
            /// As `Enumerate`, but performs operations that no other thread can observe as soon as they are
            /// pending; for raddle's own tests.
            #[doc(hidden)]
            EnumeratePrivateFirst,
        }

        impl Strategy {
            /// Returns the sampler; `None` for other strategies.
            pub(crate) fn sampler(&self) -> Option<Sampler> {
                match *self {
                    $(Strategy::$variant $({ $parameter })? => Some(Sampler::$variant $({ $parameter })?),)*
                    _ => None,
                }
            }
        }

        impl From<Sampler> for Strategy {
            fn from(sampler: Sampler) -> Self {
                match sampler {
                    $(Sampler::$variant $({ $parameter })? => Strategy::$variant $({ $parameter })?,)*
                }
            }
        }
    };
}

raddle_engine::samplers!(define_strategy);

/// Memory model: the writes that a read may take its value from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Memory {
    /// Sequential consistency: always the coherence-latest write, for every ordering.
    Sc,
    /// RC11, the memory model of Rust's atomics: C++20 without out-of-thin-air values. The orderings in the
    /// program decide.
    #[default]
    Rc11,
    /// RC11 as it was published in 2017. It differs from C++20, and so from [`Rc11`](Memory::Rc11), in the
    /// order of `SeqCst` accesses where one location has weaker accesses, too.
    Rc11Paper,
}

impl Memory {
    pub(crate) fn model(self) -> Model {
        match self {
            Memory::Sc => Model::Sc,
            Memory::Rc11 => Model::Rc11,
            Memory::Rc11Paper => Model::Rc11Paper,
        }
    }
}

/// A name that is none of the valid ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    valid: &'static str,
    /// The problem, if it is not the name.
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
        let read = name
            .parse()
            .map_err(|error: StrategyNameError| UnknownName {
                what: "strategy",
                name: name.to_owned(),
                valid: "",
                problem: Some(error.to_string()),
            });
        Ok(match read? {
            StrategyName::Auto => Strategy::Auto,
            StrategyName::Exhaustive => Strategy::Exhaustive,
            StrategyName::Enumerate => Strategy::Enumerate,
            StrategyName::Delay(bound) => Strategy::Delay { bound },
            StrategyName::Coverage(metric) => Strategy::Coverage { metric },
            StrategyName::Directed(alternative) => Strategy::Directed(alternative),
            StrategyName::Sampler(sampler) => sampler.into(),
        })
    }
}

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
            other => match other.sampler() {
                Some(sampler) => return sampler.fmt(f),
                None => unreachable!("every other strategy is a sampler"),
            },
        })
    }
}

/// Equivalence of executions that defines a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Classes {
    /// Executions with the same reads-from and coherence. Every read takes its value from the same
    /// write, every lock is granted to the same caller, and the writes of every variable have the
    /// same order.
    #[default]
    ReadsFromAndCoherence,
    /// Executions with the same reads-from; coherence orders count only where a read observes them.
    ReadsFrom,
}

/// Treatment of a suspicious pattern in an execution without a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The pattern is ignored.
    Allow,
    /// The pattern is a warning of the report.
    #[default]
    Warn,
    /// The pattern is a failure.
    Deny,
}

/// Classes that an exhaustive search may leave out; see [`Checker::reduce`](crate::Checker::reduce).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reduction {
    /// Threads that were created on the same line are interchangeable: if several have the same operation on an
    /// object pending, only the first is tried. Safe if such threads perform the same operations on the same
    /// objects; loses classes, and failures with them, if they do not.
    Symmetry,
    /// A release of a counting semaphore precedes all other pending operations on the semaphore, and so
    /// everything that its thread did before precedes the events after them. Keeps every value that threads
    /// observe, and every end, if one thread creates the others in a row, the releases of each are its first
    /// operations, and none tries to acquire. Loses behaviours, and failures with them, in other programs: refused attempts, data
    /// races, older or newer values and deadlocks around a release that could have come later.
    Releases,
    /// Accesses of values that are declared with `raddle::Ignored` choose nothing: such values are
    /// statistics, on which no branch, address, operation or result depends. So every class is run, without those accesses:
    /// every combination of the paths of threads, every failure and every data race. The declaration is checked by serving
    /// other values in some executions; where it is wrong, behaviours are lost. Such accesses must be `Relaxed`, and the
    /// program must have no fence beside them. Alone, it leads to [`Guarantee::Paths`](raddle_report::Guarantee::Paths).
    Paths,
    /// A thread leaves a loop without end when it is about to begin a round, holds no lock, and its last two rounds had
    /// the same operations and accesses, done to the same things. It does nothing from then on. So checks of
    /// servers that never stop come to an end. Later rounds may have other values and do something else: a failure in
    /// the hundredth round is not found. Alone, it leads to [`Guarantee::Manners`](raddle_report::Guarantee::Manners), which
    /// is about data races only. A loop has no end if some random execution is still in it after 32,768 events.
    Manners,
}

macro_rules! names {
    ($($type:ident, $what:literal, [$first:literal => $first_value:ident $(, $name:literal => $value:ident)*];)*) => {$(
        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                match name.to_ascii_lowercase().as_str() {
                    $first => Ok($type::$first_value),
                    $($name => Ok($type::$value),)*
                    _ => Err(UnknownName {
                        what: $what,
                        problem: None,
                        name: name.to_owned(),
                        valid: concat!($first $(, ", ", $name)*),
                    }),
                }
            }
        }
    )*};
}

names! {
    Memory, "memory model", ["sc" => Sc, "rc11" => Rc11, "rc11-paper" => Rc11Paper];
    Classes, "kind of classes", [
        "reads-from" => ReadsFrom,
        "reads-from-and-coherence" => ReadsFromAndCoherence
    ];
    Level, "level", ["allow" => Allow, "warn" => Warn, "deny" => Deny];
    Reduction, "reduction", [
        "symmetry" => Symmetry,
        "releases" => Releases,
        "paths" => Paths,
        "manners" => Manners
    ];
}
