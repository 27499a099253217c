//! Alternative futures: what receives of a program may see, and running it so that they do.

use std::collections::BTreeSet;

use raddle_engine::futures::{self, Future, FutureChoice, Point};
use raddle_report::{Failure, Report};

use crate::driver::worker::Worker;
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;

/// So many executions are asked what they could have seen; the others, what they have.
const ASKED: u64 = 64;

/// What the receives of a program may see.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Futures {
    /// Every receive that happened in some execution, in the order they were found.
    pub receives: Vec<FutureTerms>,
    /// How the executions went. If it is [`exhausted`](Report::exhausted), nothing is missing.
    pub report: Report,
}

/// A receive, and everything that it may see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FutureTerms {
    /// The receive.
    pub receive: Point,
    /// What it may see, each in some execution.
    pub terms: Vec<FutureChoice>,
}

impl Futures {
    /// What this receive may see; nothing if it never happens.
    pub fn of(&self, thread: &str, thing: &str, occurrence: u32) -> &[FutureChoice] {
        let point = Point::new(thread, thing, occurrence);
        let found = self.receives.iter().find(|one| one.receive == point);
        found.map_or(&[], |one| &one.terms)
    }

    /// The receives that may see more than one thing.
    pub fn open(&self) -> impl Iterator<Item = &FutureTerms> {
        self.receives.iter().filter(|one| one.terms.len() > 1)
    }
}

impl FutureTerms {
    /// A future for each of the terms.
    pub fn futures(&self) -> impl Iterator<Item = Future> + '_ {
        let terms = self.terms.iter().cloned();
        terms.map(|choice| Future::new().with(choice))
    }
}

impl Checker {
    /// Runs every class of executions of `body`, within the budget, and lists what its receives may
    /// see: which write each read, which release each lock, which message each receive. To run one of
    /// these futures, use [`Strategy::Directed`].
    ///
    /// ```
    /// use raddle::sync::Arc;
    /// use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// let futures = raddle::Checker::new().futures(|| {
    ///     let number = Arc::new(AtomicU32::new(0));
    ///     let other = number.clone();
    ///     let writer = raddle::thread::spawn(move || other.store(7, SeqCst));
    ///     number.load(SeqCst);
    ///     writer.join().unwrap();
    /// });
    /// let terms: Vec<_> = futures.of("main", "number", 0).iter().map(|term| term.to_string()).collect();
    /// assert_eq!(terms, ["main number 0 sees initial", "main number 0 sees main.1 number 0"]);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`run`](Self::run) does.
    #[track_caller]
    pub fn futures(mut self, body: impl Fn() + Send + Sync) -> Futures {
        self.strategy = Strategy::Exhaustive;
        self.names_variables = true;
        self.keep_going = true;
        self.workers = 1;
        let model = self.memory.model();
        let mut found: Vec<(Point, BTreeSet<FutureChoice>)> = Vec::new();
        let mut executions = 0;
        let report = self.run_observed(
            &body,
            Some(&mut |execution| {
                executions += 1;
                let all = match executions <= ASKED {
                    true => futures::of(execution, model),
                    false => futures::as_seen(execution),
                };
                for receive in all {
                    for alternative in receive.alternatives {
                        let term = futures::choice(execution, receive.position, alternative);
                        let Some(term) = term else { continue };
                        let known = found.iter_mut().find(|(point, _)| *point == term.receive);
                        match known {
                            Some((_, terms)) => _ = terms.insert(term),
                            None => found.push((term.receive.clone(), BTreeSet::from([term]))),
                        }
                    }
                }
            }),
        );
        let receives = found.into_iter().map(|(receive, terms)| FutureTerms {
            receive,
            terms: terms.into_iter().collect(),
        });
        Futures {
            receives: receives.collect(),
            report,
        }
    }
}

/// After a directed check: if nothing was found that does what the future says, that is a failure.
pub(crate) fn conclude(worker: &mut Worker<'_, '_>) {
    let failure = worker.context.with_exploration(|exploration| {
        let runs = exploration.attempts();
        let directed = exploration.world().directed()?;
        let (future, why) = (directed.future().to_string(), directed.why());
        (!directed.found()).then_some((runs, future, why))
    });
    let Some((runs, future, why)) = failure else {
        return;
    };
    let mut failure = match why {
        Some(why) => Failure::impossible(&why, runs, &worker.context),
        None => Failure::not_found(&future, runs),
    };
    failure.search = worker.checker.strategy.to_string();
    worker.report.failures.push(failure);
}
