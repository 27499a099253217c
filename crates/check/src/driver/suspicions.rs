//! Suspicions: executions that go well, and show that another may not. Lock orders that are tried out at
//! the end of a check, and messages that no thread has received.

use std::panic::Location;
use std::time::Instant;

use raddle_engine::check::Finding;
use raddle_engine::check::leak;
use raddle_engine::check::lock_order::{self, LockOrder, Nested};
use raddle_engine::manners::witness::{Point, Witnesses};
use raddle_engine::object::Object;
use raddle_engine::strategy::{HoldPoint, Planned};
use raddle_engine::{Ending, Execution, SiteId};

use crate::driver::phases::{max_runs, whole_budget};
use crate::driver::predictions::MAX_RANDOM;
use crate::driver::worker::{MAX_FAILURES, Worker};
use crate::runtime::watchdog;
use crate::settings::options::Level;

/// Number of first executions that are all checked for lock order, and the interval of checks after
/// them.
const LOOKED_AT: u64 = 256;
const LOOK_EVERY: u64 = 64;

/// True when the execution of this number is examined for suspicions that executions have in common.
pub(super) fn is_examined(executions: u64) -> bool {
    executions <= LOOKED_AT || executions.is_multiple_of(LOOK_EVERY)
}

/// Locks that threads take in different orders.
#[derive(Clone, PartialEq)]
pub(crate) struct Suspect {
    /// Sites where each thread takes its second lock.
    places: Vec<SiteId>,
    /// A plan in which all of them are there at the same time, if there is one.
    plan: Option<Vec<Planned>>,
}

/// Returns a plan in which every thread is about to take its second lock.
fn meeting(execution: &Execution, circle: &[Nested]) -> Option<Vec<Planned>> {
    let point = |nested: &Nested| Point {
        thread: nested.thread,
        index: nested.index,
    };
    let points: Vec<_> = circle.iter().map(point).collect();
    Witnesses::of(execution).meeting(&points)
}

impl Worker<'_, '_> {
    /// Returns the runs that the first worker leaves to [`confirm`](Self::confirm) what was suspected: half of
    /// its own at most, but enough for one run that fails and its repetition.
    #[inline]
    pub(super) fn reserve(&self) -> u64 {
        let is_first = self.slot.as_ref().is_none_or(|slot| slot.number == 0);
        match self.suspects.len() as u64 {
            count if count > 0 && is_first => {
                let own = max_runs(self.checker) / self.checker.workers.get() as u64;
                (MAX_RANDOM * count).min((own / 2).max(2))
            }
            _ => 0,
        }
    }

    /// True when the execution that has just stopped may be suspicious in any way. Most are not, so one question
    /// is asked first.
    #[inline]
    pub(super) fn may_be_suspicious(&self) -> bool {
        let is_port = |object: &Object| matches!(object, Object::Port(_));
        let may_be = |execution: &Execution, executions| {
            is_examined(self.explored_before + executions) || execution.objects.iter().any(is_port)
        };
        self.context.has_undropped() || self.context.with_execution(may_be)
    }

    /// Returns a suspicious lock order in the execution that has just stopped. Executions take
    /// locks in much the same order, so not all are checked.
    pub(super) fn lock_order(&self) -> Option<LockOrder> {
        if self.checker.lock_order == Level::Allow {
            return None;
        }
        self.context.with_execution(|execution, executions| {
            let number = self.explored_before + executions;
            let worth = is_examined(number) && lock_order::is_possible(execution);
            worth.then(|| lock_order::find(execution)).flatten()
        })
    }

    /// Returns the messages and values left over in the execution that has just stopped.
    pub(super) fn leak(&self) -> Option<Finding> {
        if self.checker.leaks == Level::Allow {
            return None;
        }
        self.context.with_exploration(|exploration| {
            let execution = exploration.execution();
            let is_port = |object: &Object| matches!(object, Object::Port(_));
            let has_ports = execution.objects.iter().any(is_port);
            let undropped = self.context.undropped();
            let worth = has_ports || !undropped.is_empty();
            if !worth || *exploration.ending() != Ending::Complete {
                return None;
            }
            let mut leaks = leak::unreceived(execution);
            leaks.extend(undropped);
            (!leaks.is_empty()).then_some(Finding::Leak(leaks))
        })
    }

    /// Adds a suspicion to the report; returns true if the check is over.
    #[cold]
    pub(super) fn add_suspicion(
        &mut self,
        finding: &Finding,
        level: Level,
        name: &'static str,
    ) -> bool {
        if level == Level::Deny {
            return self.add_failure(finding, name);
        }
        let warning = self.named_failure(finding, name);
        let warnings = &mut self.report.warnings;
        let known = warnings
            .iter()
            .any(|other| other.message == warning.message);
        if !known && warnings.len() < MAX_FAILURES {
            warnings.push(warning);
            if let Finding::LockOrder(LockOrder::Circle(circle)) = finding {
                let places = circle.iter().map(|nested| nested.at).collect();
                let plan = self
                    .context
                    .with_execution(|execution, _| meeting(execution, circle));
                self.suspects.push(Suspect { places, plan });
            }
        }
        false
    }

    /// Tries to turn lock order warnings into deadlocks, and goes on with the strategy of before if
    /// that takes fewer runs than it may.
    ///
    /// If the time of the check is over, it has a moment, as an explanation has.
    pub(crate) fn confirm(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        name: &'static str,
    ) {
        if self.suspects.is_empty() {
            return;
        }
        let deadline = self.deadline;
        self.deadline = deadline.of_explanation(Instant::now());
        self.context.progress().begin_again();
        let _watch = watchdog::watch(&self.context, self.checker.watchdog, self.deadline);
        while !self.suspects.is_empty() {
            self.confirm_suspects(body, place);
            let compares = self.context.with_exploration(|e| e.compares_classes());
            if !compares || self.is_over || self.is_spent() || deadline.is_past() {
                return;
            }
            let budget = whole_budget(self.checker, deadline);
            self.explore(body, place, &budget, name);
        }
    }

    /// Tries to turn lock order warnings into deadlocks. Returns true if the check is over.
    pub(super) fn confirm_suspects(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        for Suspect { places, plan } in std::mem::take(&mut self.suspects) {
            if self.is_over || self.context.progress().is_late() {
                break;
            }
            let points: Vec<_> = places.into_iter().map(HoldPoint::of_calls).collect();
            if let (_, Some(plan)) = self.failing_plan(plan.as_slice(), &points, body, place) {
                self.run_plan(plan, body, place);
            }
        }
        self.is_over
    }
}
