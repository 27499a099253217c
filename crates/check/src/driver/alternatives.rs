//! Alternatives: the sources that receives of a program may have, and directed executions that give
//! them one.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use raddle_engine::alternatives::{self, Alternative, AlternativeChoice, Point};
use raddle_report::{Failure, Report};

use crate::driver::run::Stopped;
use crate::driver::worker::Worker;
use crate::explain;
use crate::persist::events;
use crate::settings::checker::Checker;
use crate::settings::options::{Level, Strategy};

/// Number of executions whose possible sources are computed; later executions add only the sources
/// they had.
const ASKED: u64 = 64;

/// The sources that the receives of a program may have.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AlternativeList {
    /// Every receive that happened in some execution, in the order they were found.
    pub receives: Vec<AlternativeTerms>,
    /// The report of the executions. If it is [`exhausted`](Report::exhausted), the list is
    /// complete.
    pub report: Report,
}

/// A receive and all its possible sources.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlternativeTerms {
    /// The receive.
    pub receive: Point,
    /// The possible sources, each of which some execution has.
    pub terms: Vec<AlternativeChoice>,
    /// Undecided sources: no execution so far has one, and the analysis gave up. Empty if the
    /// report is [`exhausted`](Report::exhausted).
    pub undecided: Vec<AlternativeChoice>,
}

impl AlternativeList {
    /// Returns the possible sources of this receive; empty if it never happens.
    pub fn of(&self, thread: &str, thing: &str, occurrence: u32) -> &[AlternativeChoice] {
        let point = Point::new(thread, thing, occurrence);
        let found = self.receives.iter().find(|one| one.receive == point);
        found.map_or(&[], |one| &one.terms)
    }

    /// Iterates over the receives with more than one possible source.
    pub fn open(&self) -> impl Iterator<Item = &AlternativeTerms> {
        self.receives.iter().filter(|one| one.terms.len() > 1)
    }
}

impl AlternativeTerms {
    /// Iterates over one alternative for each of the terms.
    pub fn alternatives(&self) -> impl Iterator<Item = Alternative> + '_ {
        let terms = self.terms.iter().cloned();
        terms.map(|choice| Alternative::new().with(choice))
    }

    /// Renamed to [`alternatives`](Self::alternatives).
    #[deprecated(since = "0.2.0", note = "renamed to `alternatives`")]
    pub fn futures(&self) -> impl Iterator<Item = Alternative> + '_ {
        self.alternatives()
    }
}

/// Variable by which `cargo raddle alternatives` asks for the list of one execution: empty, or the point of a write.
const VARIABLE: &str = "RADDLE_ALTERNATIVES";

impl Checker {
    /// Makes the check run one execution, if the environment asks for its alternatives.
    pub(crate) fn prepare_listing(&mut self) {
        let Some(target) = std::env::var_os(VARIABLE).filter(|_| events::are_wanted()) else {
            return;
        };
        self.lists_alternatives = Some(target.to_string_lossy().into_owned());
        self.strategy = Strategy::Delay { bound: 0 };
        self.max_executions = Some(1);
        self.workers = NonZeroUsize::MIN;
        self.names_variables = true;
        self.known_schedules = false;
        self.predictions = Level::Allow;
        self.require = None;
        self.verify_completeness = false;
        self.branches = false;
    }

    /// Runs every class of executions of `body`, within the budget, and lists the possible sources
    /// of its receives. They are the writes of each read, the releases of each lock, and the
    /// messages of each receive. To run one of these alternatives, use [`Strategy::Directed`].
    ///
    /// ```
    /// use raddle::sync::Arc;
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let alternatives = raddle::Checker::new().alternatives(|| {
    ///     let number = Arc::new(AtomicU32::new(0));
    ///     let other = number.clone();
    ///     let writer = raddle::thread::spawn(move || other.store(7, SeqCst));
    ///     number.load(SeqCst);
    ///     writer.join().unwrap();
    /// });
    /// let terms: Vec<_> = alternatives.of("main", "number", 0).iter().map(|term| term.to_string()).collect();
    /// assert_eq!(terms, ["main number 0 sees initial", "main number 0 sees main.1 number 0"]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    #[track_caller]
    pub fn alternatives(mut self, body: impl Fn() + Send + Sync) -> AlternativeList {
        self.strategy = Strategy::Exhaustive;
        self.names_variables = true;
        self.keep_going = true;
        self.workers = NonZeroUsize::MIN;
        let model = self.memory.model();
        let mut found: Vec<AlternativeSets> = Vec::new();
        let mut executions = 0;
        let report = self.run_observed(
            &body,
            Some(&mut |stopped: Stopped<'_>| {
                let execution = stopped.execution;
                executions += 1;
                let all = match executions <= ASKED {
                    true => alternatives::of(execution, model),
                    false => alternatives::as_seen(execution),
                };
                for receive in all {
                    let term = |one| alternatives::choice(execution, receive.position, one);
                    let terms = receive.alternatives.into_iter().filter_map(term);
                    terms.for_each(|term| _ = of_point(&mut found, &term).terms.insert(term));
                    let terms = receive.undecided.into_iter().filter_map(term);
                    terms.for_each(|term| _ = of_point(&mut found, &term).undecided.insert(term));
                }
            }),
        );
        // If every class was run, a source that no execution has is impossible.
        let is_open = !report.exhausted;
        let receives = found.into_iter().map(|sets| AlternativeTerms {
            undecided: (sets.undecided.difference(&sets.terms))
                .filter(|_| is_open)
                .cloned()
                .collect(),
            receive: sets.receive,
            terms: sets.terms.into_iter().collect(),
        });
        AlternativeList {
            receives: receives.collect(),
            report,
        }
    }

    /// Renamed to [`alternatives`](Self::alternatives).
    #[deprecated(since = "0.2.0", note = "renamed to `alternatives`")]
    #[track_caller]
    pub fn futures(self, body: impl Fn() + Send + Sync) -> AlternativeList {
        self.alternatives(body)
    }
}

impl Worker<'_, '_> {
    /// Writes the alternatives of the execution that has just stopped.
    #[cold]
    pub(super) fn list_alternatives(&self) {
        let (Some(target), Some(check)) = (&self.checker.lists_alternatives, &self.fatal.check)
        else {
            return;
        };
        let target = Some(target.as_str()).filter(|target| !target.is_empty());
        let list = self.context.with_execution(|execution, _| {
            explain::alternatives::list(execution, &self.context, self.checker, target)
        });
        events::alternatives(check, &list);
    }
}

/// Terms of one receive.
struct AlternativeSets {
    receive: Point,
    terms: BTreeSet<AlternativeChoice>,
    undecided: BTreeSet<AlternativeChoice>,
}

/// Returns the sets of a term's receive.
fn of_point<'a>(
    found: &'a mut Vec<AlternativeSets>,
    term: &AlternativeChoice,
) -> &'a mut AlternativeSets {
    let known = found.iter().position(|sets| sets.receive == term.receive);
    let at = known.unwrap_or_else(|| {
        found.push(AlternativeSets {
            receive: term.receive.clone(),
            terms: BTreeSet::new(),
            undecided: BTreeSet::new(),
        });
        found.len() - 1
    });
    &mut found[at]
}

/// Adds a failure to a directed check that found no execution which follows the alternative.
pub(crate) fn conclude(worker: &mut Worker<'_, '_>) {
    let failure = worker.context.with_exploration(|exploration| {
        let runs = exploration.attempts();
        let directed = exploration.world().directed()?;
        let (alternative, why) = (directed.alternative().to_string(), directed.why());
        (!directed.found()).then_some((runs, alternative, why))
    });
    let Some((runs, alternative, why)) = failure else {
        return;
    };
    let mut failure = match why {
        Some(why) => Failure::impossible(&why, runs, &worker.context),
        None => Failure::not_found(&alternative, runs),
    };
    failure.search = worker.checker.strategy.to_string();
    worker.report.failures.push(failure);
}
