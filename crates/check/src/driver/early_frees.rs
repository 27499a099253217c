//! Tries to free memory before another thread's use of it, where no controlled operation orders the two.

use std::collections::HashMap;
use std::panic::Location;
use std::time::Instant;

use raddle_engine::check::Finding;
use raddle_engine::minimise::EarlyFree;
use raddle_engine::strategy::{Dispatcher, Guided, Planned};
use raddle_engine::{Exploration, SiteId};

use crate::driver::phases::{Budget, Patience, max_runs};
use crate::driver::suspicions::is_examined;
use crate::driver::worker::Worker;
use crate::runtime::{run_execution, watchdog};

/// Number of plans tried for one pair of places. The order is impossible in most programs, because of counts
/// that are not controlled.
const TRIES: u32 = 3;

/// The plans of a worker.
#[derive(Default)]
pub(crate) struct Suspected {
    by_places: HashMap<(SiteId, SiteId), u32>,
    plans: Vec<EarlyFree>,
}

impl Suspected {
    /// Adds plans, unless there are enough for their places.
    pub(crate) fn add(&mut self, found: Vec<EarlyFree>) {
        for early in found {
            let places = (early.used, early.freed_after);
            let count = self.by_places.entry(places).or_default();
            if *count < TRIES {
                *count += 1;
                self.plans.push(early);
            }
        }
    }

    /// Adds those of another worker.
    pub(crate) fn absorb(&mut self, other: Suspected) {
        self.add(other.plans);
    }
}

impl Worker<'_, '_> {
    /// Notes what the execution that has just stopped could have freed earlier. Not all executions are
    /// examined, as for lock orders.
    pub(super) fn suspect_early_frees(&mut self) {
        let executions = self.explored_before + self.context.with_exploration(|e| e.executions());
        // A check that does not shorten runs only the executions of the search.
        if is_examined(executions) && self.checker.shorten {
            self.early_frees.add(self.context.early_frees());
        }
    }

    /// Runs the plans in which memory is freed first. Those that use it afterwards are failures.
    pub(crate) fn confirm_early_frees(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) {
        // The counts stay, so that no place is tried more often by a later part of the search.
        let plans = std::mem::take(&mut self.early_frees.plans);
        if plans.is_empty() {
            return;
        }
        self.deadline = self.deadline.of_explanation(Instant::now());
        self.context.progress().begin_again();
        let _watch = watchdog::watch(&self.context, self.checker.watchdog, self.deadline);
        for EarlyFree { plan, .. } in plans {
            let runs = self
                .context
                .with_exploration(|exploration| exploration.runs());
            // A plan that fails is run twice.
            if runs + 2 > max_runs(self.checker) || self.context.progress().is_late() {
                break;
            }
            (self.context).with_exploration(|exploration| exploration.add_runs(1));
            if !self.uses_freed_memory(plan.clone(), body, place) {
                continue;
            }
            let strategy = Dispatcher::other(Guided::new(plan));
            let (before, executions) = self.context.with_exploration(|exploration| {
                let before = exploration.world().set_strategy(strategy);
                exploration.expect_repetitions();
                (before, exploration.runs() + 1)
            });
            let budget = Budget {
                executions,
                of_all: executions,
                until: self.deadline.until(),
                patience: Patience::Whole,
            };
            let is_over = self.explore(body, place, &budget, "directed");
            (self.context).with_exploration(|exploration| exploration.world().set_strategy(before));
            if is_over {
                break;
            }
        }
    }

    /// True when an execution along the plan, which does not count, uses memory that was freed.
    fn uses_freed_memory(
        &self,
        plan: Vec<Planned>,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        let strategy = Dispatcher::other(Guided::new(plan));
        let exploration = Exploration::new(strategy, self.checker.limits());
        let context = self.checker.context(exploration, self.fatal.clone());
        let _watch = watchdog::watch(&context, self.checker.watchdog, self.deadline);
        run_execution(&context, body, place);
        let finding = context.with_exploration(|exploration| exploration.finish());
        context.clean_up();
        matches!(finding.as_deref(), Some(Finding::MemoryError(_)))
    }
}
