//! The strategy `Auto`: the exhaustive search if it fits into the budget, and sampling with a
//! bounded search otherwise.
//!
//! Samplers and the exhaustive search take turns, and no class counts twice; a small program soon
//! leaves only the search. A search that does not end soon estimates its own size ([`Fit`]). If it
//! is too large, one half of the remaining budget continues the same mix. The other half runs the
//! exhaustive search with the largest preemption bound that fits ([`Remainder`]); if that ends early, the
//! mix continues until the budget is spent.

use std::time::{Duration, Instant};

use raddle_engine::{Estimate, strategy};

use crate::driver::phases::{Budget, Helpers, Patience, Phase, exhaustive, whole_budget};
use crate::runtime::deadline::Deadline;
use crate::settings::checker::Checker;
use crate::settings::options::Strategy;
use crate::settings::samplers;

/// Running time after which a search is estimated, however few executions it has run; a fiftieth of
/// its time budget if that is longer.
const SOON: Duration = Duration::from_millis(200);
/// Minimum number of runs of an estimate.
const FEW: u64 = 50;
/// Factor on the runs of an estimate before it gives up.
const DEAREST: u64 = 4;
/// Share of the executions, and of the time, that may go into an estimate of a bounded search: one in ten.
const LOOK: u64 = 10;
/// Time that such an estimate may take in any case.
const SHORT_LOOK: Duration = Duration::from_millis(500);
/// Maximum preemption bound that is estimated.
const MOST_PREEMPTIONS: u32 = 16;

/// Decides, while a search runs, if it fits into its budget.
pub(crate) struct Fit {
    pub(crate) start: Instant,
    /// The estimate at the last decision.
    known: Option<Estimate>,
    is_late: bool,
    asked: bool,
}

/// The progress of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    /// Runs without those for estimates and those of known classes.
    pub(crate) runs: u64,
    /// All runs; these count against the budget.
    pub(crate) all: u64,
    pub(crate) estimate: Option<Estimate>,
    /// True when executions are too long for a search.
    pub(crate) gave_up: bool,
    pub(crate) now: Instant,
}

impl Fit {
    pub(crate) fn new(start: Instant) -> Self {
        Fit {
            start,
            known: None,
            is_late: false,
            asked: false,
        }
    }

    /// Returns the number of runs for an estimate if one is due now.
    pub(crate) fn wants_estimate(&mut self, budget: &Budget, done: Done) -> Option<u64> {
        let whole =
            (budget.until).map_or(SOON, |until| until.saturating_duration_since(self.start));
        let soon = self.start + SOON.max(whole / 50);
        let is_time = !self.asked
            && done.estimate.is_none()
            && done.now >= soon
            && affordable(done.runs, self.start, done.now, budget.until) / LOOK >= DEAREST * FEW;
        self.asked |= is_time;
        is_time.then_some(done.runs.clamp(FEW, crate::driver::phases::SOON))
    }

    /// True when only the time has changed since the last decision, after `all` runs.
    #[inline]
    pub(crate) fn is_settled(&self, budget: &Budget, all: u64, estimate: Option<Estimate>) -> bool {
        estimate == self.known && (self.is_late || all < most(budget.of_all))
    }

    /// True when the search should give up. Decided at every new estimate and once when most of the
    /// budget is used up.
    pub(crate) fn gives_up(&mut self, budget: &Budget, done: Done) -> bool {
        let is_new = done.estimate != self.known;
        let is_late = !self.is_late && self.is_late(budget, done);
        self.known = done.estimate;
        self.is_late |= is_late;
        match done.estimate {
            Some(estimate) => (is_new || is_late) && !self.fits(budget, done, estimate),
            None => is_late,
        }
    }

    fn is_late(&self, budget: &Budget, done: Done) -> bool {
        let late = |until: Instant| {
            let whole = until.saturating_duration_since(self.start);
            done.now.saturating_duration_since(self.start) >= whole - whole / 8
        };
        done.all >= most(budget.of_all) || budget.until.is_some_and(late)
    }

    fn fits(&self, budget: &Budget, done: Done, estimate: Estimate) -> bool {
        let left = estimate.runs.saturating_sub(done.runs);
        let spent = done.now.saturating_duration_since(self.start);
        let each = spent.div_f64((done.runs + estimate.samples).max(1) as f64);
        fits(left as f64, each, budget, done)
    }
}

/// Returns the executions that the whole budget allows at the average time so far.
fn affordable(runs: u64, start: Instant, now: Instant, until: Option<Instant>) -> u64 {
    let Some(until) = until else { return u64::MAX };
    let whole = until.saturating_duration_since(start).as_secs_f64();
    let spent = now.saturating_duration_since(start).as_secs_f64();
    (runs as f64 * whole / spent.max(f64::EPSILON)) as u64
}

/// Returns seven eighths of a budget of executions.
fn most(whole: u64) -> u64 {
    whole - whole / 8
}

/// True when this number of runs, at this time for each, fits into the rest of the budget.
fn fits(runs: f64, each: Duration, budget: &Budget, done: Done) -> bool {
    let time = runs * each.as_secs_f64();
    let has_time = |until: Instant| {
        let left = until.saturating_duration_since(done.now);
        time <= left.as_secs_f64()
    };
    runs <= budget.of_all.saturating_sub(done.all) as f64 && budget.until.is_none_or(has_time)
}

/// The phases that follow a search which did not fit into its budget.
pub(crate) struct Remainder {
    budget: Budget,
    next: Next,
    start: Instant,
    began: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Sample,
    /// Estimates the search with this preemption bound.
    Look(u32),
    /// Spends what a bounded search has left of the budget.
    Fill,
    Over,
}

impl Remainder {
    /// Returns `None` unless the strategy is `Auto`.
    pub(crate) fn new(checker: &Checker, start: Instant, deadline: Deadline) -> Option<Self> {
        (checker.strategy == Strategy::Auto).then(|| Remainder {
            budget: whole_budget(checker, deadline),
            next: Next::Sample,
            start,
            began: start,
        })
    }

    /// Returns the next phase, if any. `done` is the progress at the end of the last phase.
    pub(crate) fn next(&mut self, checker: &Checker, done: Done) -> Option<Phase> {
        let began = std::mem::replace(&mut self.began, done.now);
        match self.next {
            Next::Over => None,
            _ if done.gave_up => {
                self.next = Next::Over;
                Some(self.go_on(self.budget))
            }
            Next::Sample if checker.is_reduced() || checker.preemptions.is_some() => {
                self.next = Next::Over;
                Some(self.samplers(checker.seed, self.budget))
            }
            // The portfolio of the first phase continues.
            Next::Sample => {
                self.next = Next::Look(0);
                Some(self.go_on(self.half(done)))
            }
            // Too few executions for an estimate.
            Next::Look(0) if self.affordable(done) / LOOK < DEAREST * FEW => {
                self.next = Next::Over;
                Some(self.go_on(self.budget))
            }
            Next::Look(preemptions) => {
                let spent = done.now.saturating_duration_since(began);
                // The last estimate is for one preemption less.
                let fits = match (preemptions, done.estimate) {
                    (0, _) => true,
                    (_, None) => false,
                    (_, Some(estimate)) => self.has_room(estimate, spent, done),
                };
                if fits && preemptions <= MOST_PREEMPTIONS {
                    self.next = Next::Look(preemptions + 1);
                    return Some(self.look(checker, preemptions, done));
                }
                let largest = preemptions.checked_sub(2);
                self.next = match largest {
                    Some(_) => Next::Fill,
                    None => Next::Over,
                };
                Some(match largest {
                    Some(largest) => self.bounded(checker, largest),
                    None => self.go_on(self.budget),
                })
            }
            Next::Fill => {
                self.next = Next::Over;
                Some(self.go_on(self.budget))
            }
        }
    }

    /// True when a search fits whose estimate took the time `spent`. Branches that are cut off take
    /// time too. A doubtful search does not fit: a search that does not end proves nothing.
    fn has_room(&self, estimate: Estimate, spent: Duration, done: Done) -> bool {
        let doubt = (estimate.high as f64 / estimate.classes.max(1) as f64).sqrt();
        let ratio = |all: u64, some: u64| all as f64 / some.max(1) as f64;
        let (runs, branches) = (
            ratio(estimate.runs, estimate.samples),
            ratio(estimate.branches, estimate.tried),
        );
        let runs_needed = doubt * estimate.runs as f64;
        let each = spent
            .mul_f64(runs.max(branches))
            .div_f64(estimate.runs.max(1) as f64);
        fits(runs_needed, each, &self.budget, done)
    }

    /// Returns the executions left in the budget.
    fn left(&self, done: Done) -> u64 {
        self.budget.of_all.saturating_sub(done.all)
    }

    /// Returns the executions left in the budget and affordable in the time left.
    fn affordable(&self, done: Done) -> u64 {
        let all = affordable(done.all, self.start, done.now, self.budget.until);
        self.left(done).min(all.saturating_sub(done.all))
    }

    /// Returns a budget that ends halfway through the remaining one.
    fn half(&self, done: Done) -> Budget {
        let left = self.left(done);
        let until = self.budget.until.map(|until| {
            let left = until.saturating_duration_since(done.now);
            done.now + left / 2
        });
        let executions = done.all + left / 2;
        Budget {
            executions,
            of_all: executions,
            until,
            ..self.budget
        }
    }

    /// Returns a phase that continues the first strategy.
    fn go_on(&self, budget: Budget) -> Phase {
        Phase {
            name: "auto",
            strategy: None,
            budget,
            helpers: Helpers::Sample,
            preemptions: None,
        }
    }

    fn samplers(&self, seed: u64, budget: Budget) -> Phase {
        Phase {
            name: "auto",
            strategy: Some(strategy::Portfolio::new(samplers::all(seed, None), None, seed).into()),
            budget,
            helpers: Helpers::Sample,
            preemptions: None,
        }
    }

    fn look(&self, checker: &Checker, preemptions: u32, done: Done) -> Phase {
        let runs = self.left(done) / LOOK;
        let sampling = strategy::Sampling {
            seed: checker.seed,
            after: 0,
            runs: runs.clamp(DEAREST * FEW, crate::driver::phases::SOON),
        };
        // With many threads a bounded execution takes many times as long as any other.
        let spent = done.now.saturating_duration_since(self.start);
        let until = done.now + SHORT_LOOK.max(spent / LOOK as u32);
        let search = exhaustive(checker).bounded(preemptions).sampling(sampling);
        Phase {
            name: "exhaustive",
            strategy: Some(search.into()),
            budget: Budget {
                patience: Patience::UntilEstimate,
                until: Some(self.budget.until.map_or(until, |end| end.min(until))),
                ..self.budget
            },
            helpers: Helpers::None,
            preemptions: None,
        }
    }

    fn bounded(&self, checker: &Checker, preemptions: u32) -> Phase {
        Phase {
            name: "exhaustive",
            strategy: Some(exhaustive(checker).bounded(preemptions).into()),
            budget: self.budget,
            helpers: Helpers::Share,
            preemptions: Some(preemptions),
        }
    }
}
