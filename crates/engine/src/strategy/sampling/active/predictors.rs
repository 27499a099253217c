//! Predictions of three kinds of failures, as targets.

use std::collections::HashSet;
use std::fmt;

use super::super::holdback::HoldPoint;
use super::target::{Meeting, Target};
use crate::analysis::manners::witness::{Point, Values, Witnesses};
use crate::analysis::manners::{Decided, atomics};
use crate::analysis::race_kinds::consecutive;
use crate::base::ids::SiteId;
use crate::check::lock_order;
use crate::model::execution::Execution;

/// Maximum number of circles of locks that are taken from one execution.
const MOST_CIRCLES: usize = 8;

/// Predicts failures of one kind.
pub trait Predictor: Default + Send + fmt::Debug {
    /// True when it reads the accesses of cells.
    const READS_CELL_ACCESSES: bool;

    /// Returns targets that no earlier execution has predicted; `limit` of each kind suffice.
    fn predict(&mut self, execution: &Execution, limit: usize) -> Vec<Target>;
}

/// Conflicting accesses of atomic variables, and data races of cells.
#[derive(Debug, Default)]
pub struct Races {
    atomics: HashSet<[SiteId; 2]>,
    cells: HashSet<[SiteId; 2]>,
    decided: Decided,
}

impl Predictor for Races {
    const READS_CELL_ACCESSES: bool = true;

    fn predict(&mut self, execution: &Execution, limit: usize) -> Vec<Target> {
        let witnesses = Witnesses::of(execution);
        let conflicting =
            atomics::conflicting(execution, &witnesses, &mut self.atomics, limit).into_iter();
        let mut targets: Vec<_> = conflicting
            .map(|pair| Target {
                meeting: Meeting::Accesses(pair.places),
                plan: pair.plan,
            })
            .collect();
        if execution.accesses.is_empty() {
            return targets;
        }
        for race in self.decided.look(execution).races {
            let accesses = race.accesses(execution);
            let mut places = accesses.map(|access| access.site);
            places.sort();
            if !self.cells.insert(places) {
                continue;
            }
            let plan = |values| witnesses.of_race(race.first, race.second, values);
            let points = accesses.iter();
            targets.push(Target {
                meeting: Meeting::Points(
                    points
                        .filter_map(|access| HoldPoint::after(execution, access))
                        .collect(),
                ),
                plan: plan(Values::Same).or_else(|| plan(Values::Any)),
            });
        }
        targets
    }
}

/// Blocks that are not atomic.
#[derive(Debug, Default)]
pub struct Atomicity {
    known: HashSet<[SiteId; 3]>,
}

impl Predictor for Atomicity {
    const READS_CELL_ACCESSES: bool = false;

    fn predict(&mut self, execution: &Execution, limit: usize) -> Vec<Target> {
        let witnesses = Witnesses::of(execution);
        let blocks = consecutive::broken(execution, &witnesses, &mut self.known, limit).into_iter();
        let target = |block: consecutive::Block| Target {
            meeting: Meeting::Block(block.places),
            plan: Some(block.plan),
        };
        blocks.map(target).collect()
    }
}

/// Locks that threads take in a circle.
#[derive(Debug, Default)]
pub struct Deadlocks {
    known: HashSet<Vec<SiteId>>,
}

impl Predictor for Deadlocks {
    const READS_CELL_ACCESSES: bool = false;

    fn predict(&mut self, execution: &Execution, limit: usize) -> Vec<Target> {
        let mut targets = Vec::new();
        if !lock_order::is_possible(execution) {
            return targets;
        }
        while targets.len() < limit.min(MOST_CIRCLES) {
            let known = &mut self.known;
            let sorted = |sites: &[SiteId]| {
                let mut sites = sites.to_vec();
                sites.sort();
                sites
            };
            let circle = lock_order::find_other(execution, |sites| known.contains(&sorted(sites)));
            let Some(circle) = circle else { break };
            let sites: Vec<_> = circle.iter().map(|nested| nested.at).collect();
            known.insert(sorted(&sites));
            let points: Vec<_> = (circle.iter())
                .map(|nested| Point {
                    thread: nested.thread,
                    index: nested.index,
                })
                .collect();
            targets.push(Target {
                meeting: Meeting::Points(sites.into_iter().map(HoldPoint::of_calls).collect()),
                plan: Witnesses::of(execution).meeting(&points),
            });
        }
        targets
    }
}
