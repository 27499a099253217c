//! Minimises a failing execution and finds its critical pair.
//!
//! The program runs many times with small changes; runs that do not fail in the same way are
//! dropped. First come plans with fewer pieces, then, if the program is small enough, every
//! execution with fewer preemptions ([`fewer`]). The reported execution is one that a strict replay
//! of its schedule has run. Then pairs of its events are swapped until one does not fail
//! ([`critical`]).
//!
//! Effort is counted in runs and events, so that the same failure always has the same minimal
//! execution. The clock limits only very slow programs.

mod about;
mod critical;
mod fewer;
mod signature;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::check::Finding;
use raddle_engine::minimise::{self, Cost};
use raddle_engine::strategy::{Dispatcher, Guided, Planned, Replay};
use raddle_engine::{Ending, Execution, Exploration, Schedule, Strategy};
use raddle_report::{CriticalPair, Failure, Minimised, RecordedExecution};

use crate::explain::fatal_report::FatalReport;
use crate::persist::learnt::MAYBE_SHORTER;
use crate::runtime::deadline::Deadline;
use crate::runtime::watchdog::{self, Watch};
use crate::runtime::{Context, run_execution};
use crate::settings::checker::Checker;
pub(crate) use signature::Signature;

/// Maximum events of an execution that is minimised.
const MAX_EVENTS: usize = 5_000;
/// Maximum number of plans, and maximum events in all of them.
const PLANS: Effort = Effort {
    runs: 400,
    events: 400_000,
};
/// Maximum number of additional preemptions of an execution without stale reads: interleavings are easier
/// to understand than values that are out of date.
const PRICE_OF_FRESH_READS: u32 = 3;

/// Time limit where the check has none, for programs whose executions take many milliseconds. Others
/// reach the limits of effort first, also on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(60);

/// The remaining effort.
#[derive(Clone, Copy, Debug)]
struct Effort {
    runs: u64,
    events: usize,
}

impl Effort {
    fn is_spent(&self) -> bool {
        self.runs == 0 || self.events == 0
    }

    fn half(&self) -> Self {
        Effort {
            runs: self.runs / 2,
            events: self.events / 2,
        }
    }

    fn without(&self, part: &Effort) -> Self {
        Effort {
            runs: self.runs - part.runs,
            events: self.events - part.events,
        }
    }

    fn with(&self, part: &Effort) -> Self {
        Effort {
            runs: self.runs + part.runs,
            events: self.events + part.events,
        }
    }

    fn spend(&mut self, events: usize) {
        self.runs = self.runs.saturating_sub(1);
        self.inspect(events);
    }

    /// Spends effort on events that are inspected without a run.
    fn inspect(&mut self, events: usize) {
        self.events = self.events.saturating_sub(events);
    }
}

/// An execution that fails in the same way.
struct Attempt {
    cost: Cost,
    plan: Vec<Planned>,
    /// The same plan in fewer pieces.
    tidy: Vec<Planned>,
}

/// A minimised failure.
pub(crate) struct Minimal {
    /// The failure in the minimal execution.
    pub(crate) failure: Failure,
    /// The cost of the minimal execution.
    pub(crate) cost: Cost,
    pub(crate) minimised: Minimised,
    pub(crate) critical: Option<(CriticalPair, RecordedExecution)>,
    /// A note for the user.
    pub(crate) note: Option<String>,
}

/// The execution as it was found.
pub(crate) struct Original {
    pub(crate) signature: Signature,
    plan: Vec<Planned>,
    pub(crate) cost: Cost,
    /// Number of events, including those after the failure.
    events: usize,
    /// True when threads polled up to the end, so that every execution that fails in this way is long.
    polls: bool,
}

impl Original {
    /// Returns `None` if the execution is too long to be minimised.
    pub(crate) fn of(
        execution: &Execution,
        finding: &Finding,
        signature: Signature,
    ) -> Option<Self> {
        (execution.events.len() <= MAX_EVENTS).then(|| Original {
            plan: Planned::of(execution, 0..execution.events.len()),
            cost: signature.cost(execution, finding),
            events: execution.events.len(),
            polls: execution.polls.is_some(),
            signature: signature.of_any(execution),
        })
    }

    /// True when no part of the cost exceeds the original's, but for the price of an execution without
    /// stale reads.
    fn allows(&self, cost: &Cost) -> bool {
        let more = match self.cost.is_weak && !cost.is_weak {
            true => PRICE_OF_FRESH_READS,
            false => 0,
        };
        cost.preemptions <= self.cost.preemptions + more && cost.events <= self.events
    }
}

/// Searches for the shortest execution that fails in the same way.
pub(crate) struct Minimiser<'a> {
    checker: &'a Checker,
    body: &'a (dyn Fn() + Sync),
    place: &'static Location<'static>,
    fatal: Arc<FatalReport>,
    original: Original,
    context: Context,
    /// Hashes of the plans that were tried.
    tried: HashSet<u64>,
    plans: Effort,
    runs: u64,
    /// Deadline of the minimisation, and that of the whole explanation.
    until: Deadline,
    deadline: Deadline,
    is_late: bool,
}

impl<'a> Minimiser<'a> {
    pub(crate) fn new(
        checker: &'a Checker,
        body: &'a (dyn Fn() + Sync),
        place: &'static Location<'static>,
        fatal: &Arc<FatalReport>,
        original: Original,
        deadline: Deadline,
    ) -> Self {
        let exploration =
            Exploration::new(Dispatcher::other(Guided::new(Vec::new())), checker.limits());
        Minimiser {
            checker,
            body,
            place,
            fatal: Arc::clone(fatal),
            original,
            context: checker.context(exploration, fatal.clone()),
            tried: HashSet::new(),
            plans: PLANS,
            runs: 0,
            until: deadline.before(Instant::now() + MAX_TIME),
            deadline,
            is_late: false,
        }
    }

    /// Returns the shortest execution found; `None` if the failure does not recur.
    pub(crate) fn run(mut self) -> Option<Minimal> {
        let watch = self.watch(&self.context);
        let plan = self.original.plan.clone();
        let first = self.attempt_with(Box::new(Guided::new(plan)))?;
        let best = self.improve(first);
        let (best, mut is_minimal) = self.fewer(best);
        let found = self.original.cost;
        if best.cost > found || !self.original.allows(&best.cost) {
            return None;
        }
        let (failure, cost, execution, finding) = self.replay(best)?;
        is_minimal |= cost.preemptions == 0;
        let critical = self.critical(&execution, &finding);
        drop(watch);
        Some(Minimal {
            failure,
            cost,
            minimised: Minimised {
                preemptions_before: found.preemptions,
                preemptions_after: cost.preemptions,
                events_before: self.original.events,
                events_after: cost.events,
                runs: self.runs,
                is_minimal,
            },
            critical,
            note: self.is_late.then(|| {
                let ended = match self.deadline.is_past() {
                    true => "ended with the time of the check".to_owned(),
                    false => format!("ended after {} s", MAX_TIME.as_secs()),
                };
                format!("{MAYBE_SHORTER}: the search for it {ended}")
            }),
        })
    }

    /// Registers a context with the watchdog.
    fn watch(&self, context: &Context) -> Watch {
        watchdog::watch(context, self.checker.watchdog, self.deadline)
    }

    /// Tries plans with fewer pieces until none is better.
    fn improve(&mut self, mut best: Attempt) -> Attempt {
        while let Some(better) = self.better(&mut best) {
            best = better;
        }
        best
    }

    fn better(&mut self, best: &mut Attempt) -> Option<Attempt> {
        let (plan, cost) = (&best.plan, best.cost);
        let again = std::iter::once(plan.clone());
        let tidy = std::iter::once(std::mem::take(&mut best.tidy));
        let fewer = |steps: bool, plans| steps.then_some(plans).into_iter().flatten();
        let twice = fewer(cost.preemptions > 0, minimise::twice_closer(plan));
        let plans = again
            .chain(tidy)
            .chain(minimise::closer(plan))
            .chain(minimise::calmer(plan))
            .chain(minimise::later(plan))
            .chain(twice);
        for plan in plans {
            if self.plans.is_spent() || self.is_late() {
                return None;
            }
            if plan.is_empty() || !self.tried.insert(hash(&plan)) {
                self.plans.inspect(plan.len());
                continue;
            }
            let attempt = self.attempt_with(Box::new(Guided::new(plan)));
            if let Some(better) = attempt.filter(|it| self.is_better(it, cost)) {
                return Some(better);
            }
        }
        None
    }

    /// True when the attempt costs less and is no longer than the original.
    fn is_better(&self, attempt: &Attempt, than: Cost) -> bool {
        attempt.cost < than && self.original.allows(&attempt.cost)
    }

    fn attempt_with(&mut self, strategy: Box<dyn Strategy>) -> Option<Attempt> {
        self.set_strategy(strategy);
        self.attempt()
    }

    /// Runs the program once; `None` if it does not fail in the same way.
    fn attempt(&mut self) -> Option<Attempt> {
        if self.is_late() {
            return None;
        }
        let finding = self.run_once();
        let same = finding.filter(|finding| self.is_same(finding));
        let (attempt, events) = self.context.with_execution(|execution, _| {
            let attempt = same.map(|finding| Attempt {
                cost: self.original.signature.cost(execution, &finding),
                // Events after the failure are not part of the plan.
                plan: Planned::of(execution, 0..end(&finding, execution)),
                tidy: minimise::tidy(execution),
            });
            (attempt, execution.events.len())
        });
        self.context.clean_up();
        self.plans.spend(events);
        attempt
    }

    /// Replays an attempt strictly and returns its failure; `None` if the replay does not fail in
    /// the same way.
    fn replay(&mut self, best: Attempt) -> Option<(Failure, Cost, Execution, Box<Finding>)> {
        self.set_strategy(Box::new(Guided::new(best.plan)));
        let finding = self.run_once();
        let schedule = self.context.with_execution(|execution, _| {
            let mut schedule = Schedule::of(execution);
            schedule.steps.truncate(end(finding.as_deref()?, execution));
            Some(schedule)
        });
        self.context.clean_up();
        let schedule = schedule?;
        self.set_strategy(Box::new(Replay::new(schedule.clone())));
        let finding = self.run_once();
        let result = finding
            .filter(|finding| self.is_same(finding))
            .and_then(|finding| {
                self.context.with_execution(|execution, _| {
                    let mut failure = Failure::new(&finding, execution, &self.context);
                    failure.schedule = schedule;
                    let cost = self.original.signature.cost(execution, &finding);
                    (cost <= best.cost).then(|| (failure, cost, execution.clone(), finding))
                })
            });
        self.context.clean_up();
        result
    }

    fn set_strategy(&self, strategy: Box<dyn Strategy>) {
        (self.context).with_exploration(|exploration| exploration.world().set_strategy(strategy));
    }

    /// Runs the program and returns its finding, if any. The execution is readable until the
    /// context is cleaned up.
    fn run_once(&mut self) -> Option<Box<Finding>> {
        self.runs += 1;
        let context = &self.context;
        run_execution(context, self.body, self.place);
        let finding = context.with_exploration(|exploration| exploration.finish());
        finding.or_else(|| context.end_program())
    }

    fn is_same(&self, finding: &Finding) -> bool {
        let signature = Signature::of(finding, &self.context);
        signature.is_some_and(|other| self.original.signature.fits(&other))
    }

    /// True when the execution that has just stopped is complete.
    fn is_complete(&self) -> bool {
        (self.context).with_exploration(|exploration| *exploration.ending() == Ending::Complete)
    }

    /// True when the time limit has passed.
    fn is_late(&mut self) -> bool {
        self.is_late |= self.until.is_past();
        self.is_late
    }
}

/// Returns the number of events up to the failure.
fn end(finding: &Finding, execution: &Execution) -> usize {
    finding.after().unwrap_or(execution.events.len())
}

fn hash(plan: &[Planned]) -> u64 {
    let mut hasher = DefaultHasher::new();
    plan.hash(&mut hasher);
    hasher.finish()
}
