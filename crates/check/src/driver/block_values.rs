//! The values that declared blocks have in executions, serial and other ones, and what they say about a race.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use raddle_engine::race_kinds::{self, BlockValue, KindOfRace, RaceKey, RaceKind, RaceModel};
use raddle_engine::strategy::Planned;
use raddle_engine::{DataSet, Ending, Execution, Exploration};

/// Maximum number of values that are kept: those of serial executions, and others.
const MAX_VALUES: usize = 1_024;
/// The values of the blocks in executions of the program.
#[derive(Default)]
pub(super) struct Values {
    /// True when every class was run.
    pub(super) is_whole: bool,
    pub(super) serial: BTreeSet<Vec<BlockValue>>,
    /// Values of executions that are not serial: a plan and the races of one execution with them.
    pub(super) others: BTreeMap<Vec<BlockValue>, (Vec<Planned>, Vec<RaceKey>)>,
    /// The races that some execution has.
    pub(super) occurring: HashSet<RaceKey>,
}

impl Values {
    pub(super) fn add(&mut self, execution: &Execution, model: RaceModel, sets: &[DataSet]) {
        let values = race_kinds::values(execution);
        let is_full = self.serial.len() + self.others.len() >= MAX_VALUES;
        match race_kinds::is_serializable(execution) {
            Some(true) if !is_full => _ = self.serial.insert(values),
            Some(false) if !is_full || self.others.contains_key(&values) => {
                let races = race_kinds::occurring(execution, model, sets);
                let keys: Vec<_> = races.iter().map(KindOfRace::key).collect();
                self.occurring.extend(keys.iter().cloned());
                let plan = || Planned::of(execution, 0..execution.events.len());
                let other = self.others.entry(values);
                let (_, known) = other.or_insert_with(|| (plan(), Vec::new()));
                if known.is_empty() {
                    *known = keys;
                }
            }
            // Too many uses to compare, or too many values to keep.
            _ => self.is_whole = false,
        }
    }

    /// Returns the plan of an execution that has a race and values of no serial execution.
    pub(super) fn plan_of(&self, key: &RaceKey) -> Option<Vec<Planned>> {
        let mut others = self.others.iter();
        let found = others
            .find(|(values, (_, keys))| !self.serial.contains(*values) && keys.contains(key))?;
        Some(found.1.0.clone())
    }
}

/// The way in which an execution confirms a race.
pub(super) enum Shown {
    /// It fails.
    Fails,
    /// Its blocks have values that no serial execution has.
    Differs(Vec<BlockValue>),
}

/// The executions that have tried to show a race.
#[derive(Default)]
pub(super) struct Tried {
    /// True when one of them had its order.
    has_occurred: bool,
    /// True when one of them had it and values that no known serial execution has.
    differs: bool,
}

impl Tried {
    pub(super) fn judge(
        &mut self,
        exploration: &Exploration,
        fails: bool,
        key: &RaceKey,
        values: &Values,
        model: RaceModel,
        sets: &[DataSet],
    ) -> Option<Shown> {
        if fails {
            return Some(Shown::Fails);
        }
        let execution = exploration.execution();
        let is_complete = matches!(exploration.ending(), Ending::Complete);
        let occurs = || {
            let occurring = race_kinds::occurring(execution, model, sets);
            occurring.iter().any(|race| race.key() == *key)
        };
        if !is_complete || key.0 == RaceKind::MultiData || !occurs() {
            return None;
        }
        self.has_occurred = true;
        let found = race_kinds::values(execution);
        let is_serial =
            values.serial.contains(&found) || race_kinds::is_serializable(execution) != Some(false);
        self.differs |= !is_serial;
        (!is_serial && values.is_whole).then_some(Shown::Differs(found))
    }

    /// Returns the reason why a race is not confirmed.
    pub(super) fn why(&self, key: &RaceKey, values: &Values) -> String {
        let occurs = self.has_occurred || values.occurring.contains(key);
        let no_values = values
            .serial
            .iter()
            .flatten()
            .all(|one| one.value.as_ref().is_none_or(|value| value == "()"));
        match occurs {
            _ if key.0 == RaceKind::MultiData => {
                "no execution with both accesses at once fails".to_owned()
            }
            false if values.is_whole => {
                "every class was run, and none has these accesses in this order".to_owned()
            }
            false => "no execution that was tried has these accesses in this order; the threads would have to read \
                      other values, or something orders them that is no operation"
                .to_owned(),
            true if no_values => "no execution with this order fails, and the blocks have no values that could differ \
                                  from those of a serial order"
                .to_owned(),
            true if values.is_whole => "in every execution with this order, the blocks have the values of a serial order"
                .to_owned(),
            true if self.differs => format!(
                "the values of the blocks are those of none of the {} serial orders that were found, but not every \
                 class was run",
                values.serial.len()
            ),
            true => "in the executions that were tried, the blocks have the values of a serial order".to_owned(),
        }
    }
}
