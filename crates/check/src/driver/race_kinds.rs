//! Races in blocks that the program declares, and of variables that it declares to belong together: from the
//! executions that may show them to the report.
//!
//! A race is confirmed by an execution that fails, or that gives the blocks values that no serial execution has.
//! All serial values are known once every class was run, in an exploration of its own: then a race that no
//! execution confirms has no effect on these values, and is reported with that reason.

use std::collections::HashSet;
use std::panic::Location;

use raddle_engine::check::{BlockValues, Finding};
use raddle_engine::manners::witness::{Point, Witnesses};
use raddle_engine::race_kinds::{
    self, BlockValue, KindOfRace, KnownRaces, RaceKey, RaceKind, RaceModel, Suspected,
};
use raddle_engine::strategy::{Dispatcher, Exhaustive, HoldPoint, Planned};
use raddle_engine::{DataSet, Ending, Execution, Exploration};
use raddle_report::Failure;

use crate::driver::block_values::{Shown, Tried, Values};
use crate::driver::predictions::{MAX_PREDICTED, NAME};
use crate::driver::worker::Worker;
use crate::settings::options::Level;

/// Maximum number of runs of the exploration for the values of serial executions.
const MAX_SERIAL_RUNS: u64 = 4_096;
/// Number of serial values in a message.
const SHOWN: usize = 3;

/// The races of these kinds that a worker knows.
#[derive(Default)]
pub(super) struct RaceKinds {
    known: KnownRaces,
    /// Values of executions, once they were needed.
    values: Option<Values>,
    /// The race that the next execution shows, with the values that it has.
    expected: Option<(KindOfRace, Vec<BlockValue>)>,
    confirmed: HashSet<RaceKey>,
    unconfirmed: Vec<(RaceKey, Failure)>,
}

/// A race that another execution may show.
pub(super) struct SuspectedKind {
    race: KindOfRace,
    points: Vec<HoldPoint>,
    failure: Failure,
    /// True when the execution that the plan is of has the race; it is replayed.
    is_replayed: bool,
}

impl RaceKinds {
    /// Returns the races that an execution predicts and that no earlier one has predicted.
    pub(super) fn look(
        &mut self,
        execution: &Execution,
        witnesses: &Witnesses<'_>,
        model: RaceModel,
        sets: &[DataSet],
    ) -> Vec<(Suspected, Vec<HoldPoint>)> {
        let has_blocks = execution
            .declared
            .as_ref()
            .is_some_and(|it| !it.blocks.is_empty());
        let examines_all = model.blocks == race_kinds::Blocks::CriticalSections;
        if !has_blocks && sets.is_empty() && !examines_all {
            return Vec::new();
        }
        let left = MAX_PREDICTED.saturating_sub(self.known.count());
        let found = race_kinds::find(execution, witnesses, model, sets, &mut self.known, left);
        let with_points = |one: Suspected| {
            let points = one
                .points
                .iter()
                .filter_map(|point| hold_point(execution, *point));
            let points = points.collect();
            (one, points)
        };
        found.into_iter().map(with_points).collect()
    }

    /// Returns the races that no execution has confirmed.
    pub(super) fn unconfirmed(self) -> impl Iterator<Item = Failure> {
        let RaceKinds {
            confirmed,
            unconfirmed,
            ..
        } = self;
        let unconfirmed = unconfirmed.into_iter();
        unconfirmed
            .filter(move |(key, _)| !confirmed.contains(key))
            .map(|(_, failure)| failure)
    }
}

/// Returns the point at which random executions hold a thread back.
fn hold_point(execution: &Execution, point: Point) -> Option<HoldPoint> {
    let mut events = execution.events.iter();
    let event =
        events.find(|event| event.id.thread == point.thread && event.id.index == point.index)?;
    let thread = execution.path(point.thread);
    Some(HoldPoint::of_thread(thread, event.site))
}

impl Worker<'_, '_> {
    /// Names a race that the execution which has just passed predicts.
    pub(super) fn suspect_kind(
        &self,
        (suspected, points): (Suspected, Vec<HoldPoint>),
    ) -> (Vec<Vec<Planned>>, SuspectedKind) {
        let Suspected { race, plans, .. } = suspected;
        let kind = self.suspected(race, points, false);
        (plans, kind)
    }

    fn suspected(
        &self,
        race: KindOfRace,
        points: Vec<HoldPoint>,
        is_replayed: bool,
    ) -> SuspectedKind {
        let finding = Finding::KindOfRace {
            race: race.clone(),
            values: None,
        };
        SuspectedKind {
            race,
            points,
            failure: self.named_failure(&finding, NAME),
            is_replayed,
        }
    }

    /// Adds the failure that the execution which has just passed was expected to be, or notes the races of one that is
    /// replayed. Returns true if the check is over.
    pub(super) fn judge_declared_blocks(&mut self) -> bool {
        if let Some((race, found)) = self.predictions.kinds.expected.take() {
            return self.add_kind_of_race(&race, found);
        }
        if self.checker.replays() && !self.predictions.is_confirming {
            self.note_replayed_races();
        }
        false
    }

    /// Adds the races that the failing execution has to its failure, unless a race has predicted it.
    pub(super) fn name_races(&self, failure: &mut Failure) {
        let is_off = self.checker.predictions == Level::Allow || self.predictions.is_confirming;
        if is_off || failure.race.is_some() {
            return;
        }
        let (sets, model) = (self.context.declared_sets(), self.checker.race_model);
        let races = self.context.with_execution(|execution, _| {
            let blocks = execution.declared.is_some()
                || model.blocks == race_kinds::Blocks::CriticalSections;
            let occurring = blocks.then(|| race_kinds::occurring(execution, model, &sets));
            let unordered = race_kinds::unordered(execution, model, &sets);
            let mut races = occurring.unwrap_or_default();
            races.extend(unordered);
            races
        });
        let Some(race) = races.into_iter().next() else {
            return;
        };
        let race = self.suspected(race, Vec::new(), false);
        let about = "the execution in which the failure was found has a";
        explain(failure, &race.failure, about);
    }

    #[cold]
    fn add_kind_of_race(&mut self, race: &KindOfRace, expected: Vec<BlockValue>) -> bool {
        let (sets, model) = (self.context.declared_sets(), self.checker.race_model);
        let key = race.key();
        let found = self.context.with_execution(|execution, _| {
            let mut occurring = race_kinds::occurring(execution, model, &sets).into_iter();
            let race = occurring.find(|race| race.key() == key);
            race.filter(|_| race_kinds::values(execution) == expected)
        });
        // Otherwise the same order has had another result than before.
        let (Some(race), Some(values)) = (found, &self.predictions.kinds.values) else {
            return false;
        };
        let serial = values.serial.iter();
        let values = BlockValues {
            found: expected,
            serial: serial.take(SHOWN).cloned().collect(),
            all: values.serial.len(),
        };
        let finding = Finding::KindOfRace {
            race,
            values: Some(values),
        };
        self.predictions.kinds.confirmed.insert(key);
        self.add_failure(&finding, NAME)
    }

    #[cold]
    fn note_replayed_races(&mut self) {
        let (sets, model) = (self.context.declared_sets(), self.checker.race_model);
        let (races, plan) = self.context.with_execution(|execution, _| {
            let races = race_kinds::occurring(execution, model, &sets);
            let plan = Planned::of(execution, 0..execution.events.len());
            (races, plan)
        });
        for race in races {
            if self.predictions.kinds.known.add(&race) {
                let kind = self.suspected(race, Vec::new(), true);
                self.add_kind(plan.clone(), kind);
            }
        }
    }

    /// Tries to confirm one race. Returns true if the check is over.
    pub(super) fn confirm_kind(
        &mut self,
        plans: Vec<Vec<Planned>>,
        kind: SuspectedKind,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> bool {
        let key = kind.race.key();
        if self.predictions.kinds.confirmed.contains(&key) {
            return false;
        }
        if self.is_spent() && !self.checker.replays() || self.context.progress().is_late() {
            let why = "the runs or the time of the check were over";
            self.leave_kind(key, kind, why.to_owned());
            return false;
        }
        let has_values = kind.race.kind != RaceKind::MultiData;
        if has_values && self.predictions.kinds.values.is_none() {
            self.predictions.kinds.values = Some(self.values_of_executions(body, place));
        }
        let values = self.predictions.kinds.values.take().unwrap_or_default();
        let model = self.checker.race_model;
        let mut tried = Tried::default();
        let mut shown = None;
        let (_, plan) = self.wanted_plan(
            &plans,
            &kind.points,
            body,
            place,
            &mut |exploration: &mut Exploration, fails, sets| {
                shown = tried.judge(exploration, fails, &key, &values, model, sets);
                shown.is_some()
            },
        );
        let (plan, shown) = match (plan, shown) {
            (Some(plan), Some(shown)) => (Some(plan), Some(shown)),
            _ if values.is_whole => {
                let plan = values.plan_of(&key);
                let differs = plan.as_ref().and_then(|plan| {
                    let mut others = values.others.iter();
                    let found = others.find(|(_, (other, _))| other == plan);
                    found.map(|(found, _)| Shown::Differs(found.clone()))
                });
                (plan, differs)
            }
            _ => (None, None),
        };
        let why = tried.why(&key, &values);
        self.predictions.kinds.values = Some(values).filter(|_| has_values);
        match (plan, shown) {
            (Some(plan), Some(Shown::Differs(values))) => {
                self.predictions.kinds.expected = Some((kind.race.clone(), values));
                self.context.keep_accesses(true);
                let is_over = self.run_plan(plan, body, place);
                self.predictions.kinds.expected = None;
                if !self.predictions.kinds.confirmed.contains(&key) {
                    let why = "the values of the blocks differ between two runs of one order";
                    self.leave_kind(key, kind, why.to_owned());
                }
                is_over
            }
            (Some(plan), _) => {
                let before = self.report.failures.len();
                let is_over = self.run_plan(plan, body, place);
                self.predictions.kinds.confirmed.insert(key);
                if let Some(failure) = self.report.failures.get_mut(before) {
                    explain(failure, &kind.failure, "predicted as a");
                }
                is_over
            }
            _ => {
                self.leave_kind(key, kind, why);
                false
            }
        }
    }

    fn leave_kind(&mut self, key: RaceKey, kind: SuspectedKind, why: String) {
        let mut failure = kind.failure;
        if !kind.is_replayed {
            failure.notes.push(format!("not confirmed: {why}"));
            self.predictions.kinds.unconfirmed.push((key, failure));
        }
    }

    /// Runs every class in an exploration of its own, if they are not too many, and collects the values of the blocks.
    fn values_of_executions(
        &self,
        body: &(dyn Fn() + Sync),
        place: &'static Location<'static>,
    ) -> Values {
        let model = self.checker.race_model;
        let mut values = Values {
            is_whole: true,
            ..Values::default()
        };
        let search = Exhaustive::default().under(self.checker.memory.model());
        let ran = self.run_apart(
            Dispatcher::from(search),
            MAX_SERIAL_RUNS,
            body,
            place,
            &mut |exploration: &mut Exploration, fails, sets| {
                let is_whole = matches!(exploration.ending(), Ending::Complete);
                if !exploration.retried() && !fails && is_whole {
                    values.add(exploration.execution(), model, sets);
                }
                // A part of the values confirms nothing.
                !values.is_whole
            },
        );
        values.is_whole &= ran.is_exhausted;
        values
    }
}

/// Adds a race to the failure of an execution.
fn explain(failure: &mut Failure, predicted: &Failure, about: &str) {
    let accesses = predicted.message.lines();
    let accesses: Vec<_> = accesses.filter(|line| line.starts_with("  ")).collect();
    let kind = predicted.race.as_ref().map(|race| race.kind.to_string());
    failure.notes.push(format!(
        "{about} {}:\n{}",
        kind.unwrap_or_default(),
        accesses.join("\n")
    ));
    failure.race = predicted.race.clone();
}
