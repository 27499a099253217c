//! Coverage: interactions of source locations that occurred, could occur, or could not.
//!
//! A *requirement* is an interaction of one or two source locations, such as "the lock was taken
//! here directly after it was taken there". An execution covers some of them. They are read from a
//! finished execution in one pass over its events; the run itself does not pay for them.
//!
//! - `locks`: blocked, blocking, blocked-pair, follows, sync-pair, lock-order
//! - `data`: def-use, local-def, remote-def, PSet, adjacent
//! - `wakes`: wait-notify
//! - `combinations`: two requirements in one execution
//! - `estimate` with `model`: requirements that can be covered
//! - `baseline`: requirements of an earlier version of the program
//!
//! Requirements are about source locations, never about threads or addresses, so they mean the same
//! in all executions of all workers.

mod baseline;
pub(crate) mod bits;
mod board;
pub(crate) mod catalogue;
mod combinations;
mod counts;
mod data;
mod estimate;
mod guide;
mod locks;
mod metric;
mod model;
mod pass;
mod settled;
mod wakes;

pub use baseline::{Baseline, TargetClass};
pub use catalogue::Requirement;
pub(crate) use counts::Gain;
pub use counts::{Counts, Growth, Standing};
pub use metric::{Metric, Metrics, UnknownMetric};

use crate::model::execution::Execution;
use bits::numbers;
use board::Board;
use catalogue::{Catalogue, Id};
use combinations::{Combinations, Ordered};
use estimate::{Verdict, Verdicts};
use model::Model;
use pass::Pass;

/// Number of first executions whose feasible requirements are estimated. After these, only
/// executions with new coverage are, up to a maximum in total, because an estimate compares all
/// pairs of actions.
const FIRST_ESTIMATES: u32 = 10;
const MOST_ESTIMATES: u32 = 16;

/// Coverage of a set of executions.
#[derive(Clone, Debug)]
pub struct Coverage {
    metrics: Metrics,
    /// Metrics whose requirements are combined.
    combined: Metrics,
    board: Board,
    pass: Pass,
    /// Number of requirements covered.
    count: u64,
    verdicts: Vec<Option<Verdict>>,
    estimates: u32,
    combinations: Combinations,
    ordered: Ordered,
    executions: u64,
    growth: Vec<Growth>,
}

impl Coverage {
    /// Creates an empty coverage that combines sync-pairs and def-uses.
    pub fn new(metrics: Metrics) -> Self {
        Coverage::combining(metrics, Metrics::SYNC_PAIR_DEF_USE)
    }

    /// Creates a coverage for guided search, which queries pairs never covered together.
    pub(crate) fn guiding(metrics: Metrics) -> Self {
        Coverage {
            combinations: Combinations::both_ways(),
            ..Coverage::combining(metrics, metrics)
        }
    }

    /// Creates an empty coverage with other combinations.
    pub fn combining(metrics: Metrics, combined: Metrics) -> Self {
        Coverage {
            metrics,
            combined,
            board: Board::new(metrics, combined),
            pass: Pass::default(),
            count: 0,
            verdicts: Vec::new(),
            estimates: 0,
            combinations: Combinations::default(),
            ordered: Ordered::default(),
            executions: 0,
            growth: Vec::new(),
        }
    }

    /// Returns the measured metrics.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Returns the metrics whose requirements are combined.
    pub fn combined(&self) -> Metrics {
        self.combined
    }

    /// Adds a finished execution.
    pub fn note(&mut self, execution: &Execution) {
        self.begin();
        self.finish(execution);
    }

    /// Starts an execution.
    pub(crate) fn begin(&mut self) {
        self.board.reset();
        self.pass.reset();
    }

    /// Adds the new events of the current execution, for queries about them.
    pub(crate) fn see(&mut self, execution: &Execution) {
        self.pass.see(execution, &mut self.board);
        self.pass.see_sites(execution);
    }

    /// Finishes the current execution.
    pub(crate) fn finish(&mut self, execution: &Execution) -> Gain {
        self.pass.see(execution, &mut self.board);
        self.pass.end(execution, &mut self.board);
        self.executions += 1;
        let requirements = u64::from(self.board.finish());
        self.count += requirements;
        let has_combination = self.combinations.add(self.board.together());
        if self.board.keeps_order {
            self.ordered.add(&self.board.order);
        }
        let gain = Gain {
            requirements,
            has_combination,
        };
        let due = self.estimates < FIRST_ESTIMATES
            || gain.requirements > 0 && self.estimates < MOST_ESTIMATES;
        if due {
            self.estimate(execution);
        }
        if self.executions.is_power_of_two() {
            self.growth.push(self.point());
        }
        gain
    }

    #[cold]
    fn estimate(&mut self, execution: &Execution) {
        self.estimates += 1;
        let with_adjacent = self.board.keeps_order;
        let mut verdicts = Marks {
            catalogue: &mut self.board.catalogue,
            verdicts: &mut self.verdicts,
        };
        estimate::estimate(&Model::of(execution), with_adjacent, &mut verdicts);
    }

    fn point(&self) -> Growth {
        Growth {
            executions: self.executions,
            requirements: self.count,
            combinations: self.combinations.count(),
        }
    }

    /// Returns the number of executions.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Returns the coverage after 1, 2, 4, 8 and so on executions, and after the last.
    pub fn growth(&self) -> Vec<Growth> {
        let mut growth = self.growth.clone();
        let last = self.point();
        if growth.last() != Some(&last) {
            growth.push(last);
        }
        growth
    }

    /// Returns every known requirement with its status.
    pub fn requirements(&self) -> impl Iterator<Item = (Requirement, Standing)> + '_ {
        let all = self.board.catalogue.iter();
        let wanted = all.filter(|(_, requirement)| self.metrics.contains(requirement.metric));
        wanted.map(|(id, requirement)| (requirement, self.standing(id)))
    }

    pub(crate) fn standing(&self, id: Id) -> Standing {
        let verdict = self.verdicts.get(id).copied().flatten();
        match (self.board.covered.contains(id), verdict) {
            (true, _) => Standing::Covered,
            (_, Some(Verdict::Ordered)) => Standing::NeverConcurrent,
            (_, Some(Verdict::Locked)) => Standing::OrderedByLock,
            (_, Some(Verdict::Possible) | None) => Standing::NotTried,
        }
    }

    /// Returns the numbers of requirements of a metric.
    pub fn counts(&self, metric: Metric) -> Counts {
        let mut counts = Counts::default();
        let all = self.board.catalogue.iter();
        for (id, _) in all.filter(|(_, requirement)| requirement.metric == metric) {
            counts.known += 1;
            match self.standing(id) {
                Standing::Covered => counts.covered += 1,
                Standing::NotTried => {}
                Standing::NeverConcurrent | Standing::OrderedByLock => counts.infeasible += 1,
            }
        }
        counts
    }

    /// Returns the numbers of pairs of requirements covered in one execution, of those not
    /// estimated to be infeasible.
    pub fn combinations(&self) -> Counts {
        let is_possible =
            |standing: &Standing| matches!(standing, Standing::Covered | Standing::NotTried);
        let standings = self.members().map(|(_, _, standing)| standing);
        let possible = standings
            .filter(is_possible)
            .count()
            .min(combinations::MOST) as u64;
        Counts {
            covered: self.combinations.count(),
            known: possible * possible.saturating_sub(1) / 2,
            infeasible: 0,
        }
    }

    /// Returns the pairs of requirements covered in one execution.
    pub fn combined_pairs(&self) -> impl Iterator<Item = (Requirement, Requirement)> + '_ {
        let board = &self.board;
        let get = |row: usize| board.catalogue.get(board.member(row));
        (0..self.combinations.height()).flat_map(move |one| {
            let row = numbers(self.combinations.row(one));
            let later = row.filter(move |&other| other > one);
            later.map(move |other| (get(one), get(other)))
        })
    }

    /// Returns the pairs of requirements covered in this order in one execution, if adjacent
    /// accesses are measured.
    pub fn ordered_pairs(&self) -> impl Iterator<Item = (Requirement, Requirement)> + '_ {
        let catalogue = &self.board.catalogue;
        (0..catalogue.len()).flat_map(move |id| {
            let before = self.ordered.before(id);
            before.map(move |first| (catalogue.get(first), catalogue.get(id)))
        })
    }

    /// Returns the number of such pairs.
    pub fn ordered_count(&self) -> u64 {
        self.ordered.count()
    }

    /// Marks a requirement as covered by an earlier process or elsewhere.
    pub fn cover(&mut self, requirement: Requirement) {
        let id = self.board.catalogue.id(requirement);
        self.mark_covered(id, requirement.metric);
    }

    /// Adds a requirement with its status in executions of other processes.
    pub fn learn(&mut self, requirement: Requirement, standing: Standing) {
        let id = self.board.catalogue.id(requirement);
        let verdict = match standing {
            Standing::Covered => return self.mark_covered(id, requirement.metric),
            Standing::NotTried => Verdict::Possible,
            Standing::NeverConcurrent => Verdict::Ordered,
            Standing::OrderedByLock => Verdict::Locked,
        };
        mark(&mut self.verdicts, id, verdict);
    }

    /// Counts executions of other processes.
    pub fn count_elsewhere(&mut self, executions: u64) {
        self.executions += executions;
    }

    fn mark_covered(&mut self, id: Id, metric: Metric) {
        if (self.metrics | self.combined).contains(metric) {
            self.count += u64::from(self.board.covered.insert(id));
        }
    }

    /// Adds the coverage of other executions of the same program; source locations must have the
    /// same identifiers.
    pub fn merge(&mut self, other: &Coverage) {
        let theirs = &other.board.catalogue;
        let ids: Vec<Id> = theirs
            .iter()
            .map(|(_, requirement)| self.board.catalogue.id(requirement))
            .collect();
        for (id, &mine) in ids.iter().enumerate() {
            if other.board.covered.contains(id) {
                self.mark_covered(mine, theirs.get(id).metric);
            }
            if let Some(Some(verdict)) = other.verdicts.get(id) {
                mark(&mut self.verdicts, mine, *verdict);
            }
        }
        let (board, combined) = (&mut self.board, self.combined);
        self.combinations.merge(&other.combinations, |row| {
            if row == 0 {
                return None;
            }
            let id = other.board.member(row);
            let is_combined = combined.contains(theirs.get(id).metric);
            let row = is_combined.then(|| board.assign_row(ids[id]) as usize);
            row.filter(|&row| row != 0)
        });
        self.ordered.merge(&other.ordered, |id| ids[id]);
        self.executions += other.executions;
    }
}

/// Verdicts on requirements so far.
struct Marks<'a> {
    catalogue: &'a mut Catalogue,
    verdicts: &'a mut Vec<Option<Verdict>>,
}

impl Verdicts for Marks<'_> {
    fn is_possible(&self, requirement: Requirement) -> bool {
        let id = self.catalogue.find(requirement);
        let verdict = id.and_then(|id| self.verdicts.get(id).copied().flatten());
        verdict == Some(Verdict::Possible)
    }

    fn say(&mut self, requirement: Requirement, verdict: Verdict) {
        let id = self.catalogue.id(requirement);
        mark(self.verdicts, id, verdict);
    }
}

/// Merges a verdict: feasible once is feasible; of two reasons for infeasibility, the lock is kept.
fn mark(verdicts: &mut Vec<Option<Verdict>>, id: Id, verdict: Verdict) {
    if id >= verdicts.len() {
        verdicts.resize(id + 1, None);
    }
    let known = &mut verdicts[id];
    *known = Some(match (*known, verdict) {
        (Some(Verdict::Possible), _) | (_, Verdict::Possible) => Verdict::Possible,
        (Some(Verdict::Locked), _) | (_, Verdict::Locked) => Verdict::Locked,
        _ => Verdict::Ordered,
    });
}
