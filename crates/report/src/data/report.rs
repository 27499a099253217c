//! What a whole check has found.

use std::fmt;
use std::time::Duration;

use raddle_engine::Growth;
use serde::Serialize;

use crate::data::advice::{Advice, ClassGrowth};
use crate::data::coverage::Coverage;
use crate::data::earlier::Earlier;
use crate::data::estimate::{Estimate, Unseen};
use crate::data::failure::{Failure, FailureKind};
use crate::render::text::colour::{self, Paint};
use crate::render::text::story::counted;

/// What a finished check can promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Guarantee {
    /// Every class of executions was run.
    Exhaustive,
    /// Every class was run that the reductions asked for leave; others may behave differently.
    Reduced,
    /// Every class was run that can be run with at most so many preemptions; others may behave
    /// differently.
    Bounded {
        /// How many.
        preemptions: u32,
    },
    /// Every schedule with at most so many delays was run; others may behave differently.
    Delayed {
        /// How many.
        delays: u32,
    },
    /// Some classes were run; others may behave differently.
    Sampled,
    /// One given schedule was run.
    Replayed,
    /// One execution was run that does what a given future says, or there is none.
    Directed,
}

/// Whether the search itself was checked, by running every schedule.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Completeness {
    /// All schedules were run, and have the classes that the search has run.
    Verified {
        /// How many schedules there are.
        schedules: u64,
    },
    /// Not all schedules were run. Those that were have no other class than the search has run.
    Unfinished {
        /// How many schedules were run.
        schedules: u64,
        /// How many classes they have.
        classes: u64,
    },
    /// No schedules were run.
    NotVerified {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Completeness::Verified { schedules } => {
                let schedules = counted(*schedules, "schedule", "schedules");
                write!(f, "completeness verified: {schedules}, no other class")
            }
            Completeness::Unfinished { schedules, classes } => {
                let schedules = counted(*schedules, "schedule", "schedules");
                let classes = counted(*classes, "class", "classes");
                write!(
                    f,
                    "completeness not verified: there are more schedules than were run; {schedules} \
                     have {classes}, and no other than the search has run"
                )
            }
            Completeness::NotVerified { reason } => {
                write!(f, "completeness not verified: {reason}")
            }
        }
    }
}

/// Why a test has only one behaviour: often because it uses what raddle does not see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub enum Alone {
    /// It starts no thread, and uses nothing that raddle controls.
    Nothing,
    /// It starts no thread that raddle controls.
    Thread,
    /// Its threads do nothing that could happen in another order.
    Order,
}

/// How a check was run; the part of a report that is known beforehand.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Search {
    /// The strategy's name.
    pub strategy: String,
    /// The seed of random choices.
    pub seed: u64,
}

impl Search {
    /// A search with this strategy and seed.
    pub fn new(strategy: impl Into<String>, seed: u64) -> Self {
        Search {
            strategy: strategy.into(),
            seed,
        }
    }
}

/// What a check has found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// How it was run.
    pub search: Search,
    /// How many executions were run, without those that `assume` discarded.
    pub executions: u64,
    /// How many executions `assume` discarded.
    pub discarded: u64,
    /// How many runs were only attempts to do what a future says.
    pub attempts: u64,
    /// Whether every class was run.
    pub exhausted: bool,
    /// What goes wrong, in the order it was found.
    pub failures: Vec<Failure>,
    /// What went well, and may not do so for ever; each with an execution that shows it.
    pub warnings: Vec<Failure>,
    /// What to type to go on with a search that was interrupted before its end.
    pub resume: Option<String>,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether every schedule was run to check the search; `None` if nobody asked for it.
    pub completeness: Option<Completeness>,
    classes: u64,
    guarantee: Guarantee,
    estimate: Option<Estimate>,
    unseen: Option<Unseen>,
    earlier: Option<Earlier>,
    growth: Vec<ClassGrowth>,
    advice: Option<Advice>,
    coverage: Coverage,
    alone: Option<Alone>,
    gave_up: bool,
}

impl Report {
    /// A report of a check that has run nothing.
    pub fn new(search: Search) -> Self {
        Report {
            search,
            executions: 0,
            discarded: 0,
            attempts: 0,
            exhausted: false,
            failures: Vec::new(),
            warnings: Vec::new(),
            resume: None,
            elapsed: Duration::ZERO,
            completeness: None,
            classes: 0,
            guarantee: Guarantee::Sampled,
            estimate: None,
            unseen: None,
            earlier: None,
            growth: Vec::new(),
            advice: None,
            coverage: Coverage::default(),
            alone: None,
            gave_up: false,
        }
    }

    /// Notes why there is only one behaviour, as those ask who expected more.
    pub fn set_alone(&mut self, alone: Alone) {
        self.alone = Some(alone);
    }

    /// Notes whether executions are too long for a search.
    pub fn set_gave_up(&mut self, gave_up: bool) {
        self.gave_up = gave_up;
    }

    /// Fills in how far the check went.
    pub fn set_classes(&mut self, classes: u64, guarantee: Guarantee) {
        self.classes = classes;
        self.guarantee = guarantee;
    }

    /// Fills in how many classes there are.
    pub fn set_estimate(&mut self, estimate: Estimate) {
        self.estimate = Some(estimate);
    }

    /// How many classes there are, if that was estimated.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Fills in how likely a random execution is one that was not run.
    pub fn set_unseen(&mut self, unseen: Option<Unseen>) {
        self.unseen = unseen;
    }

    /// How likely a random execution is of a class that the check has not run, if some of its
    /// executions were random. Behaviours that are rare at random are hardly seen in it.
    pub fn unseen(&self) -> Option<Unseen> {
        self.unseen
    }

    /// Fills in what was covered.
    pub fn set_coverage(&mut self, coverage: Coverage) {
        self.coverage = coverage;
    }

    /// What was covered; nothing if that was not measured.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Fills in what earlier runs have done.
    pub fn set_earlier(&mut self, earlier: Earlier) {
        self.earlier = Some(earlier);
    }

    /// What earlier runs of the check have done, if it remembers any.
    pub fn earlier(&self) -> Option<&Earlier> {
        self.earlier.as_ref()
    }

    /// Fills in how the number of classes has grown, and what follows from that for those who want
    /// more; the last thing to be filled in.
    pub fn set_growth(&mut self, growth: &[Growth]) {
        self.growth = growth.iter().copied().map(Into::into).collect();
        if self.guarantee != Guarantee::Sampled || !self.failures.is_empty() {
            return;
        }
        let covered = self.coverage().growth.iter().map(|point| Growth {
            runs: point.executions,
            found: point.requirements,
        });
        let covered: Vec<Growth> = covered.collect();
        let covered = self.coverage().is_measured().then_some(&covered[..]);
        self.advice = Advice::of(growth, covered, &self.search.strategy);
    }

    /// How many classes there were after 1, 2, 4, 8 and so on executions, and after the last; nothing if
    /// they were not compared. With several workers only the last.
    pub fn growth(&self) -> &[ClassGrowth] {
        &self.growth
    }

    /// Whether a longer check would find more, if it has run some behaviours and nothing is wrong.
    pub fn advice(&self) -> Option<&Advice> {
        self.advice.as_ref()
    }

    /// How many different executions, as partial orders, were run; with those that earlier runs have
    /// run, if the check remembers them and has not run everything.
    pub fn classes(&self) -> u64 {
        self.classes
    }

    /// What the check can promise.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Whether no execution does what the future says that was asked for; see
    /// [`Strategy::Directed`](https://docs.rs/raddle/latest/raddle/enum.Strategy.html).
    pub fn impossible(&self) -> bool {
        let mut kinds = self.failures.iter().map(|failure| failure.kind);
        kinds.any(|kind| kind == FailureKind::Impossible)
    }

    /// Panics unless no execution does what the future says that was asked for: to keep a bug from
    /// coming back, ask for the future that it needs.
    #[track_caller]
    pub fn assert_impossible(&self) {
        assert!(self.impossible(), "this was to be impossible, but: {self}");
    }

    /// Panics with the story of the first failure, if there is one; prints warnings otherwise.
    #[track_caller]
    pub fn assert_ok(&self) {
        if let Some(failure) = self.failures.first() {
            let more = match self.failures.len() - 1 {
                0 => String::new(),
                more => {
                    let more = counted(more as u64, "more failure", "more failures");
                    format!("\nand {more}")
                }
            };
            match colour::wanted() {
                Paint::Plain => panic!("{failure}{more}"),
                Paint::Colours => panic!("{}{more}", failure.coloured()),
            }
        }
        for warning in &self.warnings {
            match colour::wanted() {
                Paint::Plain => eprintln!("warning: {warning}"),
                Paint::Colours => eprintln!("warning: {}", warning.coloured()),
            }
        }
        if let Some(command) = &self.resume {
            let classes = counted(self.classes, "class", "classes");
            eprintln!("raddle: interrupted after {classes}; continue with {command}");
        }
    }
}

impl Report {
    /// One line: how far the check went.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(|f| self.summarise(f))
    }

    fn summarise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = counted(self.classes, "class", "classes");
        match self.guarantee {
            Guarantee::Exhaustive if self.alone == Some(Alone::Nothing) => write!(
                f,
                "nothing to explore: the test starts no thread and uses nothing that raddle \
                 controls"
            )?,
            Guarantee::Exhaustive => {
                write!(f, "every behaviour was run: {classes}")?;
                match self.alone {
                    Some(Alone::Thread) => {
                        write!(
                            f,
                            ", in which raddle sees one thread; threads of std's are not seen"
                        )?;
                    }
                    Some(Alone::Order) => write!(
                        f,
                        ", because raddle sees nothing that threads could do in another order; types \
                         of std's are not seen"
                    )?,
                    Some(Alone::Nothing) | None => {}
                }
            }
            Guarantee::Reduced => write!(
                f,
                "every behaviour was run that the reductions leave: {classes}"
            )?,
            Guarantee::Bounded { preemptions } => {
                let most = counted(preemptions.into(), "preemption", "preemptions");
                write!(f, "every behaviour up to {most} was run: {classes}")?;
            }
            Guarantee::Delayed { delays } => {
                let most = counted(delays.into(), "delay", "delays");
                let runs = counted(self.executions, "run", "runs");
                write!(
                    f,
                    "every schedule up to {most} was run: {classes} in {runs}"
                )?;
            }
            Guarantee::Sampled => {
                let runs = counted(self.executions, "run", "runs");
                let all = self.estimate.map_or_else(String::new, Estimate::of_all);
                write!(f, "not every behaviour was run: {classes}{all} in {runs}")?;
                if let Some(earlier) = &self.earlier {
                    write!(f, ", {earlier}")?;
                }
                if self.gave_up {
                    write!(f, ", too long to search")?;
                }
                if let Some(unseen) = self.unseen {
                    write!(f, "; {unseen}")?;
                }
            }
            Guarantee::Replayed => write!(f, "one schedule was replayed")?,
            Guarantee::Directed => {
                let attempts = counted(self.attempts, "attempt", "attempts");
                match self.executions {
                    0 => write!(f, "no run does what the future says: {attempts}")?,
                    _ if self.attempts == 0 => write!(f, "the future was run")?,
                    _ => write!(f, "the future was run after {attempts}")?,
                }
            }
        }
        write!(f, " ({}, {:.1?})", self.search.strategy, self.elapsed)?;
        if let Some(completeness) = &self.completeness {
            write!(f, "; {completeness}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summarise(f)?;
        if let Some(advice) = &self.advice {
            write!(f, "\n{advice}")?;
        }
        if let Some(command) = &self.resume {
            let classes = counted(self.classes, "class", "classes");
            write!(f, "\ninterrupted after {classes}; continue with {command}")?;
        }
        for failure in &self.failures {
            write!(f, "\n\n{failure}")?;
        }
        for warning in &self.warnings {
            write!(f, "\n\nwarning: {warning}")?;
        }
        Ok(())
    }
}
