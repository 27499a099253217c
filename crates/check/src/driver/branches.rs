//! Branches that interleaving decides: records every execution, and directs executions to sources of receives that
//! none has had.
//!
//! A strategy that runs every class needs no directed executions. For any other, its first execution shows
//! receives; a directed execution for each possible source that no execution had follows, until none is left. Then the
//! strategy goes on. Directed executions count as runs, and their failures are failures of the check.

use std::panic::Location;

use raddle_engine::branches::{Guideline, Recorder, Tried};
use raddle_engine::check::Finding;
use raddle_engine::strategy::{Directed, Planned};
use raddle_engine::{Ending, Exploration};
use raddle_report::{Branches, Names, Report};

use crate::driver::phases::{Budget, Patience, Phase, max_runs};
use crate::driver::worker::Worker;
use crate::driver::workers::Job;
use crate::runtime::{Context, run_execution, watchdog};
use crate::settings::options::Strategy;

/// Maximum guidelines of one check. Each costs at least one run.
const MAX_GUIDELINES: usize = 256;
/// Maximum runs for one guideline: some hold threads back, the others search.
const MAX_ATTEMPTS: u64 = 32;

/// The branches of a worker.
#[derive(Default)]
pub(crate) struct Recording {
    recorder: Recorder,
    /// Number of directed runs so far.
    runs: u64,
    /// True when the last attempt to find an open guideline found none.
    is_closed: bool,
}

impl Worker<'_, '_> {
    /// Records the branches of the execution that has just stopped.
    #[inline]
    pub(super) fn record_branches(&mut self) {
        if let Some(recording) = &mut self.recording {
            recording.note(&self.context, self.checker.memory.model());
        }
    }

    /// Runs the first execution of a strategy that does not run every class, and then directed ones. Returns true if the
    /// check is over.
    pub(super) fn begin_with_guidelines(&mut self, job: Job<'_>, first: &Phase) -> bool {
        let checker = self.checker;
        let runs_all = matches!(
            checker.strategy,
            Strategy::Exhaustive
                | Strategy::Enumerate
                | Strategy::EnumeratePrivateFirst
                | Strategy::Delay { .. }
                | Strategy::Replay(_)
                | Strategy::Directed(_)
        );
        if self.recording.is_none() || runs_all || checker.only_estimate {
            return false;
        }
        let one = Budget {
            executions: first.budget.executions.min(self.done().all + 1),
            patience: Patience::Whole,
            ..first.budget
        };
        self.explore(job.body, job.place, &one, first.name)
            || self.follow_guidelines(job.body, job.place)
    }

    /// Directs executions to guidelines that none follows, until there are none. Returns true if the check is over.
    pub(super) fn follow_guidelines(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        let directs = !self.checker.replays() && !self.checker.is_directed();
        while directs && !self.is_over {
            let Some(recording) = &mut self.recording else {
                return false;
            };
            let tried = [Tried::Followed, Tried::Impossible, Tried::NotFollowed];
            let tried: usize = tried.map(|it| recording.recorder.tried(it)).iter().sum();
            if tried >= MAX_GUIDELINES {
                return false;
            }
            let Some(guideline) = recording.recorder.next_guideline() else {
                recording.is_closed = true;
                return false;
            };
            recording.is_closed = false;
            if self.is_spent() || self.context.progress().is_late() {
                return false;
            }
            if let Some(plan) = self.follow(guideline, body, place)
                && self.run_plan(plan, body, place)
            {
                return true;
            }
        }
        self.is_over
    }

    /// Runs the program until an execution follows the guideline. Returns the plan of an execution that fails.
    fn follow(
        &mut self,
        guideline: Guideline,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> Option<Vec<Planned>> {
        let checker = self.checker;
        let recording = self.recording.as_mut()?;
        let model = checker.memory.model();
        let strategy = Directed::new(guideline.alternative.clone(), model);
        let mut exploration = Exploration::new(strategy, checker.limits());
        exploration.world().keep_accesses(true);
        let context = checker.context(exploration, self.fatal.clone());
        context.share_places(&self.context.places());
        context.name_variables(true);
        let _watch = watchdog::watch(&context, checker.watchdog, self.deadline);
        let mut failing = None;
        let mut tried = Tried::NotFollowed;
        for _ in 0..MAX_ATTEMPTS {
            // A run that fails is repeated by the check.
            let runs = self.context.with_exploration(|e| e.runs()) + 1;
            let is_late = self.deadline.is_past() || context.progress().is_late();
            if runs >= max_runs(checker) || is_late {
                break;
            }
            if !run_execution(&context, body, place) {
                let why = context.with_exploration(|e| e.world().directed()?.why());
                if why.is_some() {
                    tried = Tried::Impossible;
                }
                break;
            }
            let (found, plan) = context.with_exploration(|exploration| {
                let finding = exploration.finish();
                let execution = exploration.execution();
                let fails = finding.is_some_and(|it| !matches!(*it, Finding::Nondeterminism(_)));
                let plan = fails.then(|| Planned::of(execution, 0..execution.events.len()));
                (!exploration.retried(), plan)
            });
            recording.note(&context, model);
            context.clean_up();
            recording.runs += 1;
            (self.context).with_exploration(|exploration| exploration.add_runs(1));
            failing = plan;
            if found {
                tried = Tried::Followed;
                break;
            }
        }
        recording.recorder.set_tried(guideline, tried);
        failing
    }
}

impl Recording {
    /// Records the execution of a context that has just stopped, if it was not cut.
    fn note(&mut self, context: &Context, model: raddle_engine::memory::Model) {
        let is_whole = context.with_exploration(|exploration| {
            matches!(
                exploration.ending(),
                Ending::Complete | Ending::Deadlock | Ending::Livelock
            )
        });
        if is_whole {
            context.with_execution(|execution, _| self.recorder.note(execution, model));
        }
    }

    /// Adds the branches to the report of a check, whose numbers of classes and extent it has already.
    pub(super) fn add_to(&self, report: &mut Report, context: &Context) {
        let has_all = self.recorder.recorded() as u64 >= report.classes();
        let is_complete = report.exhausted && has_all;
        let place = |site| context.place(site);
        let mut branches = Branches::of(&self.recorder, is_complete, &place);
        if branches.is_recorded() {
            if self.runs > 0 {
                branches.guidelines.executions = 1 + self.runs;
            }
            branches.guidelines.is_open = !self.is_closed && !branches.is_complete;
        }
        report.set_branches(branches);
    }
}
