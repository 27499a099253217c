//! Races that another order of an execution may show, with a plan of that order for each.

use std::collections::{HashMap, HashSet};

use super::detect::{Definitions, Pass};
use super::model::{RaceModel, SyncOrder};
use super::uses::Use;
use super::{KindOfRace, RaceKey, RaceKind, RacyAccess, RacyBlock};
use crate::base::ids::ThreadId;
use crate::manners::witness::{Point, Values, Witnesses};
use crate::model::choice::Planned;
use crate::model::declared::{DataSet, Datum};
use crate::model::execution::Execution;

/// Maximum number of uses of an execution that is examined: those of each block are compared with all.
const MAX_USES: usize = 2_000;

/// Maximum number of comparisons of a block's uses with others in one execution.
const MAX_COMPARED: usize = 1_000_000;
/// Maximum number of races with one key: one of them may have no effect where another has.
const MAX_ALIKE: usize = 3;

/// The races that earlier executions have shown: by key, the threads and variables of each.
#[derive(Debug, Default)]
pub struct KnownRaces(HashMap<RaceKey, HashSet<Vec<(ThreadId, Datum)>>>);

impl KnownRaces {
    /// Adds a race; true if it is new, and not too many are like it.
    pub fn add(&mut self, race: &KindOfRace) -> bool {
        let alike = self.0.entry(race.key()).or_default();
        let accesses = race.accesses.iter();
        let of = accesses
            .map(|access| (access.thread, access.datum))
            .collect();
        alike.len() < MAX_ALIKE && alike.insert(of)
    }

    /// Returns the number of races.
    pub fn count(&self) -> usize {
        self.0.values().map(HashSet::len).sum()
    }
}

/// A race that may show, although it need not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspected {
    /// The race.
    pub race: KindOfRace,
    /// Plans in which it shows, if the program follows them; those that keep all values come first.
    pub plans: Vec<Vec<Planned>>,
    /// Points at which a random execution holds threads back.
    pub points: Vec<Point>,
}

/// Passes on the races between and in blocks, each as its accesses in the order in which they show: the first and the last
/// one are those of the block.
fn in_blocks(definitions: &Definitions<'_>, mut visit: impl FnMut(RaceKind, &Pass, &[&Use])) {
    let uses = &definitions.uses;
    let mut left = MAX_COMPARED;
    for pass in &definitions.passes {
        for (first, second) in Definitions::pairs(pass) {
            let Some(rest) = left.checked_sub(uses.len()) else {
                return;
            };
            left = rest;
            let (one, two) = (&uses[first], &uses[second]);
            if one.datum == two.datum {
                let others = uses.iter().filter(|other| other.datum == one.datum);
                for other in others.filter(|other| definitions.interferes(one, other, two)) {
                    visit(RaceKind::Block, pass, &[one, other, two]);
                }
            } else if definitions.are_associated(one.datum, two.datum) {
                of_two_variables(definitions, pass, [one, two], &mut visit);
            }
        }
    }
}

/// Passes on the races of a block's uses of two variables. Each has a use of one of these variables by another thread,
/// and one of the other variable if that thread has such a use, too.
fn of_two_variables(
    definitions: &Definitions<'_>,
    pass: &Pass,
    [one, two]: [&Use; 2],
    visit: &mut impl FnMut(RaceKind, &Pass, &[&Use]),
) {
    let order = &definitions.order;
    let may_come = |other: &&Use| other.thread != one.thread && !order.keeps_out(one, other, two);
    let others: Vec<&Use> = definitions.uses.iter().filter(may_come).collect();
    let on_first = others
        .iter()
        .filter(|it| it.datum == one.datum && definitions.conflict(one, it));
    for &with_first in on_first {
        let mut has_second = false;
        let on_second = others.iter().filter(|it| {
            it.thread == with_first.thread && it.datum == two.datum && definitions.conflict(it, two)
        });
        for &with_second in on_second {
            has_second = true;
            let mut between = [with_first, with_second];
            between.sort_by_key(|it| it.span[0]);
            let accesses = [one, between[0], between[1], two];
            visit(RaceKind::MultiDataBlock, pass, &accesses);
        }
        if !has_second && definitions.interferes(one, with_first, two) {
            visit(RaceKind::MultiDataBlock, pass, &[one, with_first, two]);
        }
    }
    for &other in others.iter().filter(|it| it.datum == two.datum) {
        let has_first = others.iter().any(|it| {
            it.thread == other.thread && it.datum == one.datum && definitions.conflict(one, it)
        });
        if !has_first && definitions.interferes(one, other, two) {
            visit(RaceKind::MultiDataBlock, pass, &[one, other, two]);
        }
    }
}

/// Passes on the pairs of unordered uses of variables of one declared set.
fn outside_blocks(definitions: &Definitions<'_>, mut visit: impl FnMut(&DataSet, [&Use; 2])) {
    for set in definitions.sets {
        let own = definitions.uses.iter();
        let own: Vec<_> = own.filter(|it| set.data.contains(&it.datum)).collect();
        for (index, two) in own.iter().enumerate() {
            for one in &own[..index] {
                let is_race = one.thread != two.thread
                    && one.datum != two.datum
                    && definitions.conflict(one, two)
                    && !definitions.order.are_ordered(one, two);
                if is_race {
                    visit(set, [one, two]);
                }
            }
        }
    }
}

fn accesses(of: &[&Use], in_block: impl Fn(&Use) -> bool) -> Vec<RacyAccess> {
    let access = |one: &&Use| RacyAccess {
        thread: one.thread,
        datum: one.datum,
        writes: one.writes,
        in_block: in_block(one),
        site: one.site,
    };
    of.iter().map(access).collect()
}

fn of_block(
    definitions: &Definitions<'_>,
    kind: RaceKind,
    pass: &Pass,
    uses: &[&Use],
) -> KindOfRace {
    let ends = [uses[0].datum, uses[uses.len() - 1].datum];
    let set = definitions
        .declared_set(ends[0], ends[1])
        .filter(|_| kind != RaceKind::Block);
    KindOfRace {
        kind,
        accesses: accesses(uses, |one| one.thread == pass.thread),
        block: Some(RacyBlock {
            name: pass.name.clone(),
            site: pass.site,
        }),
        set: set.map(|set| set.name.clone()),
    }
}

fn of_set(set: &DataSet, uses: &mut [&Use; 2]) -> KindOfRace {
    uses.sort_by_key(|one| one.thread);
    KindOfRace {
        kind: RaceKind::MultiData,
        accesses: accesses(uses, |_| false),
        block: None,
        set: Some(set.name.clone()),
    }
}

/// Returns at most `limit` races in and between blocks, and of declared sets, whose keys are not known, and adds these.
/// Data races are predicted by [`manners`](crate::manners).
pub fn find(
    execution: &Execution,
    witnesses: &Witnesses<'_>,
    model: RaceModel,
    sets: &[DataSet],
    known: &mut KnownRaces,
    limit: usize,
) -> Vec<Suspected> {
    let definitions = Definitions::of(execution, model, sets);
    let mut found = Vec::new();
    if definitions.uses.len() > MAX_USES {
        return found;
    }
    in_blocks(&definitions, |kind, pass, uses| {
        let race = of_block(&definitions, kind, pass, uses);
        if found.len() < limit && known.add(&race) {
            let (plans, points) = between(witnesses, uses);
            found.push(Suspected {
                race,
                plans,
                points,
            });
        }
    });
    outside_blocks(&definitions, |set, mut uses| {
        let race = of_set(set, &mut uses);
        if found.len() < limit && known.add(&race) {
            let points = uses.map(before);
            let plan = |values| witnesses.together(&points, values);
            let plans = plan(Values::Same).or_else(|| plan(Values::Any));
            found.push(Suspected {
                race,
                plans: plans.into_iter().collect(),
                points: points.to_vec(),
            });
        }
    });
    found
}

/// Returns the races of blocks that this execution has in the order of its run.
pub fn occurring(execution: &Execution, model: RaceModel, sets: &[DataSet]) -> Vec<KindOfRace> {
    let model = RaceModel {
        order: SyncOrder::Timestamp,
        ..model
    };
    let definitions = Definitions::of(execution, model, sets);
    let (mut races, mut known) = (Vec::new(), HashSet::new());
    if definitions.uses.len() > MAX_USES {
        return races;
    }
    in_blocks(&definitions, |kind, pass, uses| {
        let race = of_block(&definitions, kind, pass, uses);
        if known.insert(race.key()) {
            races.push(race);
        }
    });
    races
}

/// Returns the races of declared sets that this execution has: uses that nothing orders.
pub fn unordered(execution: &Execution, model: RaceModel, sets: &[DataSet]) -> Vec<KindOfRace> {
    let definitions = Definitions::of(execution, model, sets);
    let (mut races, mut known) = (Vec::new(), HashSet::new());
    if !sets.is_empty() && definitions.uses.len() <= MAX_USES {
        outside_blocks(&definitions, |set, mut uses| {
            let race = of_set(set, &mut uses);
            if known.insert(race.key()) {
                races.push(race);
            }
        });
    }
    races
}

/// The point of a thread at which a use has not begun.
fn before(one: &Use) -> Point {
    Point {
        thread: one.thread,
        index: one.from,
    }
}

/// Returns plans in which the uses of another thread come between the first and the last one, and the points at which
/// random executions hold both threads back.
fn between(witnesses: &Witnesses<'_>, uses: &[&Use]) -> (Vec<Vec<Planned>>, Vec<Point>) {
    let (first, second) = (uses[0], uses[uses.len() - 1]);
    let others = &uses[1..uses.len() - 1];
    let other = |index| Point {
        thread: others[0].thread,
        index,
    };
    let begin = other(others.iter().map(|it| it.from).min().unwrap_or(0));
    let end = other(others.iter().map(|it| it.to).max().unwrap_or(0));
    let own = |index| Point {
        thread: first.thread,
        index,
    };
    let mut plans = Vec::new();
    for values in [Values::Same, Values::Any] {
        // Right after the first use, or as late as possible, when locks may have been given back.
        for start in [first.to, second.from] {
            if let Some(plan) = plan(witnesses, own(start), begin, [before(second), end], values)
                && !plans.contains(&plan)
            {
                plans.push(plan);
            }
        }
    }
    (plans, vec![before(second)])
}

/// Returns a plan in which a thread is brought to a point, then another one through its uses, and the first one no
/// further than before its last use.
fn plan(
    witnesses: &Witnesses<'_>,
    start: Point,
    begin: Point,
    both: [Point; 2],
    values: Values,
) -> Option<Vec<Planned>> {
    let first = witnesses.closure(&[start], &[start, begin], &[], values)?;
    let all = witnesses.closure(&both, &both, &[], values)?;
    Some(witnesses.plan_in_parts(&first, &all))
}
