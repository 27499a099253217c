//! Predictions: failures that another order of critical sections or accesses may have, and the executions that
//! confirm them.
//!
//! An execution that passes predicts races of four kinds. For each of them the check runs the
//! predicted order: one that keeps all values if there is one, else one that does not, and for a race at last random
//! ones that hold each thread back after its access. An execution that fails is run again as a part of the check, so
//! that its failure has a schedule like any other. A race that no execution confirms is reported at the level of the
//! setting, with the reason; one of a block that the program has not declared is not.

use std::collections::{HashMap, HashSet};
use std::panic::Location;

use raddle_engine::check::Finding;
use raddle_engine::manners::Decided;
use raddle_engine::manners::witness::{Values, Witnesses};
use raddle_engine::memory::races::Access;
use raddle_engine::race_kinds::{SyncOrder, consecutive};
use raddle_engine::strategy::{Dispatcher, Guided, HoldPoint, Holdback, Planned};
use raddle_engine::{CellId, DataSet, Execution, Exploration, SiteId};
use raddle_report::Failure;

use crate::driver::phases::{Budget, Patience, max_runs};
use crate::driver::race_kinds::{RaceKinds, SuspectedKind};
use crate::driver::suspicions::is_examined;
use crate::driver::worker::{MAX_FAILURES, Worker};
use crate::runtime::{run_execution, watchdog};
use crate::settings::options::Level;

/// Name of the search in reports of confirmed predictions.
pub(super) const NAME: &str = "predicted";
/// Maximum number of races predicted for one pair of places: one may be impossible where another is not.
const MAX_ALIKE: u32 = 3;
/// Maximum predicted races of one check, and maximum predicted blocks.
pub(super) const MAX_PREDICTED: usize = 128;
/// Maximum random executions that try to confirm one prediction.
pub(super) const MAX_RANDOM: u64 = 16;
/// Maximum accesses of an execution in which races are predicted, and maximum events: all pairs of some are compared.
const MAX_ACCESSES: usize = 100_000;
const MAX_EVENTS: usize = 20_000;

/// Two places of a predicted race, in ascending order.
type Places = [SiteId; 2];

/// Judges an execution, by whether it fails and by the sets of variables that it has declared.
pub(super) type IsWanted<'w> = dyn FnMut(&mut Exploration, bool, &[DataSet]) -> bool + 'w;

/// The result of an exploration apart from the check's own.
#[derive(Default)]
pub(super) struct RanApart {
    /// Number of runs that were not wanted.
    runs: u64,
    /// The plan of the execution that was wanted.
    plan: Option<Vec<Planned>>,
    /// True when the strategy has run every class.
    pub(super) is_exhausted: bool,
}

/// The predictions of a worker.
#[derive(Default)]
pub(crate) struct Predictions {
    decided: Decided,
    by_places: HashMap<Places, u32>,
    races: usize,
    blocks: HashSet<[SiteId; 3]>,
    open: Vec<Prediction>,
    /// Races in declared blocks and of declared sets.
    pub(super) kinds: RaceKinds,
    /// True while a plan is run, from which nothing is predicted.
    pub(super) is_confirming: bool,
    confirmed: HashSet<Places>,
    unconfirmed: Vec<(Places, Failure)>,
}

/// A failure that another execution may have.
struct Prediction {
    plans: Vec<Vec<Planned>>,
    of: Predicted,
}

enum Predicted {
    /// A failure of a block that the program has not declared.
    Consecutive,
    DataRace(Box<PredictedRace>),
    Kind(Box<SuspectedKind>),
}

struct PredictedRace {
    places: Places,
    points: Vec<HoldPoint>,
    /// True when the first plan keeps all values.
    has_witness: bool,
    failure: Failure,
}

/// A predicted race before it has the text of a report.
struct NewRace {
    places: Places,
    cell: CellId,
    accesses: [Access; 2],
    points: Vec<HoldPoint>,
    plans: Vec<Vec<Planned>>,
    has_witness: bool,
}

impl Worker<'_, '_> {
    /// True when failures are predicted from the executions of this worker.
    #[inline]
    fn predicts(&self) -> bool {
        let checker = self.checker;
        let is_first = || self.slot.as_ref().is_none_or(|slot| slot.number == 0);
        checker.predictions != Level::Allow
            && is_first()
            && !self.predictions.is_confirming
            && !checker.replays()
            && !checker.is_directed()
    }

    /// Prepares the next execution after this number of them.
    #[inline]
    pub(super) fn keep_accesses(&self, executions: u64) {
        if self.recording.is_some() {
            self.context.keep_accesses(true);
        } else if self.predicts() {
            self.context
                .keep_accesses(is_examined(self.explored_before + executions + 1));
        }
    }

    /// Predicts failures from the execution that has just passed. Returns true if the check is over.
    #[inline]
    pub(super) fn predict(&mut self) -> bool {
        if self.predicts() {
            self.look_for_predictions();
        }
        self.checker.predictions != Level::Allow && self.judge_declared_blocks()
    }

    #[cold]
    fn look_for_predictions(&mut self) {
        let mut known = std::mem::take(&mut self.predictions);
        let sets = self.context.declared_sets();
        let model = self.checker.race_model;
        let mut kinds = Vec::new();
        let new = self.context.with_execution(|execution, executions| {
            let is_small = execution.accesses.len() <= MAX_ACCESSES
                && execution.events.len() <= MAX_EVENTS
                && execution.threads.len() > 1;
            match is_small && is_examined(self.explored_before + executions) {
                true => {
                    let witnesses = Witnesses::of(execution);
                    kinds = known.kinds.look(execution, &witnesses, model, &sets);
                    known.look(execution, &witnesses, model.order)
                }
                false => Vec::new(),
            }
        });
        for race in new {
            let [first, second] = race.accesses;
            let finding = Finding::PredictedRace {
                cell: race.cell,
                first,
                second,
            };
            known.open.push(Prediction {
                plans: race.plans,
                of: Predicted::DataRace(Box::new(PredictedRace {
                    places: race.places,
                    points: race.points,
                    has_witness: race.has_witness,
                    failure: self.named_failure(&finding, NAME),
                })),
            });
        }
        for kind in kinds {
            let (plans, kind) = self.suspect_kind(kind);
            known.open.push(Prediction {
                plans,
                of: Predicted::Kind(Box::new(kind)),
            });
        }
        self.predictions = known;
    }

    /// Tries to confirm all predictions that have not been tried yet, and lock orders if the check predicts. Returns true if the check is over.
    #[inline]
    pub(crate) fn confirm_predictions(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        let has_suspects = !self.suspects.is_empty() && self.predicts();
        has_suspects && self.confirm_suspects(body, place)
            || !self.predictions.open.is_empty() && self.confirm_all(body, place)
    }

    /// Adds a race that the replayed execution has, with the plan of that execution.
    pub(super) fn add_kind(&mut self, plan: Vec<Planned>, kind: SuspectedKind) {
        self.predictions.open.push(Prediction {
            plans: vec![plan],
            of: Predicted::Kind(Box::new(kind)),
        });
    }

    /// Tries to confirm the races in declared blocks after a search that has run every class, which has seen all other
    /// failures.
    pub(crate) fn confirm_kinds(
        &mut self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) {
        let is_kind = |prediction: &Prediction| matches!(prediction.of, Predicted::Kind(_));
        self.predictions.open.retain(is_kind);
        self.predictions.unconfirmed.clear();
        if !self.predictions.open.is_empty() {
            self.confirm_all(body, place);
        }
        self.report_unconfirmed();
    }

    #[cold]
    fn confirm_all(&mut self, body: &(dyn Fn() + Sync), place: &'static Location<'static>) -> bool {
        for Prediction { plans, of } in std::mem::take(&mut self.predictions.open) {
            let race = match of {
                Predicted::Consecutive => None,
                Predicted::DataRace(race) => Some(race),
                Predicted::Kind(kind) => {
                    if self.confirm_kind(plans, *kind, body, place) {
                        return true;
                    }
                    continue;
                }
            };
            let confirmed = &mut self.predictions.confirmed;
            if race
                .as_ref()
                .is_some_and(|race| confirmed.contains(&race.places))
            {
                continue;
            }
            let is_over = self.is_spent() || self.context.progress().is_late();
            let points = race.as_ref().map_or(&[][..], |race| &race.points);
            let (runs, found) = match is_over {
                true => (0, None),
                false => self.failing_plan(&plans, points, body, place),
            };
            match (found, race) {
                (Some(plan), race) => {
                    (self.predictions.confirmed).extend(race.map(|race| race.places));
                    if self.run_plan(plan, body, place) {
                        return true;
                    }
                }
                (None, Some(race)) => self.predictions.leave(*race, runs),
                (None, None) => {}
            }
        }
        false
    }

    /// Runs some plans, and then random executions that hold threads back at some points. Returns the plan of the first
    /// execution that fails, and the number of random ones. All of them count as runs.
    pub(super) fn failing_plan(
        &self,
        plans: &[Vec<Planned>],
        points: &[HoldPoint],
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> (u64, Option<Vec<Planned>>) {
        self.wanted_plan(plans, points, body, place, &mut |_, fails, _| fails)
    }

    /// Runs some plans, and then random executions that hold threads back at some points. Returns the plan of the first
    /// execution that is wanted, and the number of random ones. All of them count as runs.
    pub(super) fn wanted_plan(
        &self,
        plans: &[Vec<Planned>],
        points: &[HoldPoint],
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        is_wanted: &mut IsWanted<'_>,
    ) -> (u64, Option<Vec<Planned>>) {
        for plan in plans {
            let strategy = Dispatcher::other(Guided::new(plan.clone()));
            let ran = self.run_apart(strategy, 1, body, place, is_wanted);
            if ran.plan.is_some() {
                return (0, ran.plan);
            }
        }
        if points.is_empty() {
            return (0, None);
        }
        let strategy = Dispatcher::other(Holdback::new(points.to_vec(), self.checker.seed));
        let ran = self.run_apart(strategy, MAX_RANDOM, body, place, is_wanted);
        (ran.runs, ran.plan)
    }

    /// Runs the program in an exploration of its own up to the first execution that is wanted, or up to the end of the
    /// strategy or the check.
    pub(super) fn run_apart(
        &self,
        strategy: Dispatcher,
        runs: u64,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
        is_wanted: &mut IsWanted<'_>,
    ) -> RanApart {
        let exploration = Exploration::new(strategy, self.checker.limits());
        let context = self.checker.context(exploration, self.fatal.clone());
        context.share_places(&self.context.places());
        context.keep_accesses(true);
        let _watch = watchdog::watch(&context, self.checker.watchdog, self.deadline);
        let mut ran = RanApart::default();
        while ran.runs < runs {
            // A run that fails is repeated by the check.
            let runs_after = self.context.with_exploration(|e| e.runs()) + 1;
            let is_spent = runs_after >= max_runs(self.checker) && !self.checker.replays();
            if is_spent || self.deadline.is_past() || context.progress().is_late() {
                break;
            }
            if !run_execution(&context, body, place) {
                ran.is_exhausted = context.with_exploration(|exploration| exploration.exhausted());
                break;
            }
            let fails = context.with_exploration(|exploration| {
                let finding = exploration.finish();
                finding.is_some_and(|it| !matches!(*it, Finding::Nondeterminism(_)))
            });
            let sets = context.declared_sets();
            ran.plan = context.with_exploration(|exploration| {
                let is_wanted = is_wanted(exploration, fails, &sets);
                let execution = exploration.execution();
                is_wanted.then(|| Planned::of(execution, 0..execution.events.len()))
            });
            context.clean_up();
            self.context
                .with_exploration(|exploration| exploration.add_runs(1));
            if ran.plan.is_some() {
                break;
            }
            ran.runs += 1;
        }
        ran
    }

    /// Runs a plan as an execution of the check. Returns true if the check is over.
    pub(super) fn run_plan(
        &mut self,
        plan: Vec<Planned>,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        let strategy = Dispatcher::other(Guided::new(plan));
        let executions = self.context.with_exploration(|e| e.runs()) + self.reserve() + 1;
        let before = self.context.with_exploration(|exploration| {
            let before = exploration.world().set_strategy(strategy);
            exploration.expect_repetitions();
            before
        });
        let budget = Budget {
            executions,
            of_all: executions,
            until: self.deadline.until(),
            patience: Patience::Whole,
        };
        self.predictions.is_confirming = true;
        self.explore(body, place, &budget, NAME);
        self.predictions.is_confirming = false;
        (self.context).with_exploration(|exploration| exploration.world().set_strategy(before));
        self.is_over
    }

    /// Reports the predicted races that no execution has confirmed.
    pub(crate) fn report_unconfirmed(&mut self) {
        let Predictions {
            confirmed,
            unconfirmed,
            kinds,
            ..
        } = std::mem::take(&mut self.predictions);
        let unconfirmed = unconfirmed.into_iter();
        let unconfirmed = unconfirmed.filter(|(places, _)| !confirmed.contains(places));
        let unconfirmed = unconfirmed.map(|(_, failure)| failure);
        for failure in unconfirmed.chain(kinds.unconfirmed()) {
            let list = match self.checker.predictions {
                Level::Deny => &mut self.report.failures,
                _ => &mut self.report.warnings,
            };
            let is_known = list.iter().any(|other| other.message == failure.message);
            if !is_known && list.len() < MAX_FAILURES {
                list.push(failure);
            }
        }
    }
}

impl Predictions {
    /// Adds the blocks that an execution predicts, and returns the races. Earlier executions have predicted none of
    /// them.
    fn look(
        &mut self,
        execution: &Execution,
        witnesses: &Witnesses<'_>,
        order: SyncOrder,
    ) -> Vec<NewRace> {
        let left = MAX_PREDICTED.saturating_sub(self.blocks.len());
        let blocks = consecutive::broken(execution, witnesses, &mut self.blocks, left);
        self.open.extend(blocks.into_iter().map(|block| Prediction {
            plans: vec![block.plan],
            of: Predicted::Consecutive,
        }));
        // Every other order has the data races of the execution only.
        if execution.accesses.is_empty() || order != SyncOrder::Lockset {
            return Vec::new();
        }
        let mut new = Vec::new();
        for race in self.decided.look(execution).races {
            let accesses = race.accesses(execution);
            let mut places = accesses.map(|access| access.site);
            places.sort();
            let count = self.by_places.entry(places).or_default();
            let is_known = self.confirmed.contains(&places) || *count >= MAX_ALIKE;
            if is_known || self.races >= MAX_PREDICTED {
                continue;
            }
            *count += 1;
            self.races += 1;
            let plan = |values| witnesses.of_race(race.first, race.second, values);
            let witness = plan(Values::Same);
            let has_witness = witness.is_some();
            new.push(NewRace {
                places,
                cell: race.cell,
                points: (accesses.iter())
                    .filter_map(|access| HoldPoint::after(execution, access))
                    .collect(),
                accesses,
                plans: witness.or_else(|| plan(Values::Any)).into_iter().collect(),
                has_witness,
            });
        }
        new
    }

    /// Keeps a race that is not confirmed for the report.
    fn leave(&mut self, race: PredictedRace, runs: u64) {
        let PredictedRace {
            places,
            has_witness,
            mut failure,
            ..
        } = race;
        let random = match runs {
            1 => "the one random execution".to_owned(),
            runs => format!("{runs} random executions"),
        };
        failure.notes.push(match (runs, has_witness) {
            (0, _) => "not confirmed: the runs or the time of the check were over".to_owned(),
            (_, true) => format!(
                "not confirmed: no race in {random}, nor in the order in which both accesses should be made at once, \
                 so something orders them that is no operation"
            ),
            (_, false) => format!(
                "not confirmed: no race in {random}; the threads would have to read other values, or to pass their \
                 critical sections in another order"
            ),
        });
        self.unconfirmed.push((places, failure));
    }
}
