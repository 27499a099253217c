//! Coverage: which ways of meeting have happened, which could, and which could not.
//!
//! A *requirement* is a way in which one or two places of the source meet, such as "the lock was taken
//! here right after it was taken there". An execution covers some of them. They are read from a
//! finished execution in one pass over its events; nothing is done while it runs.
//!
//! - `locks`: blocked, blocking, blocked-pair, follows, sync-pair, lock-order
//! - `data`: def-use, local-def, remote-def, PSet, adjacent
//! - `wakes`: wait-notify
//! - `combinations`: two requirements in one execution
//! - `estimate` with `model`: what could be covered at all
//!
//! Requirements are about places, never about threads or addresses, so they mean the same in all
//! executions of all workers.

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
mod wakes;

pub use catalogue::Requirement;
pub use counts::{Counts, Gain, Growth, Standing};
pub use metric::{Metric, Metrics, UnknownMetric};

use crate::model::execution::Execution;
use bits::Bits;
use board::Board;
use catalogue::{Catalogue, Id};
use combinations::{Combinations, Ordered};
use estimate::{Verdict, Verdicts};
use model::Model;
use pass::Pass;

/// So many executions are looked at to find out what is possible, and then some that covered something
/// new, up to so many in all.
const FIRST_ESTIMATES: u32 = 10;
const MOST_ESTIMATES: u32 = 16;

/// What executions have covered.
#[derive(Clone, Debug)]
pub struct Coverage {
    metrics: Metrics,
    /// Whose requirements are combined.
    combined: Metrics,
    board: Board,
    pass: Pass,
    /// Requirements of the metrics that are measured, and of those combined.
    wanted: Bits,
    combining: Bits,
    /// Those that are combined, and the place of each among them.
    members: Vec<Id>,
    places: Vec<u32>,
    sorted: usize,
    covered: Bits,
    count: u64,
    verdicts: Vec<Option<Verdict>>,
    estimates: u32,
    combinations: Combinations,
    ordered: Ordered,
    together: Bits,
    executions: u64,
    growth: Vec<Growth>,
}

impl Coverage {
    /// Nothing is covered yet. Sync-pairs and def-uses are combined.
    pub fn new(metrics: Metrics) -> Self {
        Coverage::combining(metrics, Metrics::SYNC_PAIR_DEF_USE)
    }

    /// For guided search, which wants to know what was never covered together.
    pub(crate) fn guiding(metrics: Metrics) -> Self {
        Coverage {
            combinations: Combinations::both_ways(),
            ..Coverage::combining(metrics, metrics)
        }
    }

    /// The same with other combinations.
    pub fn combining(metrics: Metrics, combined: Metrics) -> Self {
        let board = Board {
            keeps_order: (metrics | combined).contains(Metric::Adjacent),
            ..Board::default()
        };
        Coverage {
            metrics,
            combined,
            board,
            pass: Pass::default(),
            wanted: Bits::default(),
            combining: Bits::default(),
            members: Vec::new(),
            places: Vec::new(),
            sorted: 0,
            covered: Bits::default(),
            count: 0,
            verdicts: Vec::new(),
            estimates: 0,
            combinations: Combinations::default(),
            ordered: Ordered::default(),
            together: Bits::default(),
            executions: 0,
            growth: Vec::new(),
        }
    }

    /// What is measured.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Whose requirements are combined.
    pub fn combined(&self) -> Metrics {
        self.combined
    }

    /// Looks at an execution that has stopped.
    pub fn note(&mut self, execution: &Execution) -> Gain {
        self.begin();
        self.finish(execution)
    }

    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.board.reset();
        self.pass.reset();
    }

    /// Looks at what is new in an execution that goes on.
    pub(crate) fn see(&mut self, execution: &Execution) {
        self.pass.see(execution, &mut self.board);
        self.sort();
    }

    /// The execution has stopped.
    pub(crate) fn finish(&mut self, execution: &Execution) -> Gain {
        self.see(execution);
        self.pass.end(execution, &mut self.board);
        self.executions += 1;
        let (requirements, combinations) = (self.count, self.combinations.count());
        self.sort();
        self.board
            .current
            .intersect_into(&self.wanted, &mut self.together);
        self.count += u64::from(self.covered.absorb(&self.together));
        let mut together = std::mem::take(&mut self.together);
        self.current_members(&mut together);
        self.combinations.add(&together);
        self.together = together;
        if self.board.keeps_order {
            self.ordered.add(&self.board.order);
        }
        let gain = Gain {
            requirements: self.count - requirements,
            combinations: self.combinations.count() - combinations,
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

    /// Which of the requirements that are new are wanted.
    fn sort(&mut self) {
        let catalogue = &self.board.catalogue;
        for id in self.sorted..catalogue.len() {
            let metric = catalogue.get(id).metric;
            if (self.metrics | self.combined).contains(metric) {
                self.wanted.insert(id);
            }
            self.places.push(self.members.len() as u32);
            if self.combined.contains(metric) && self.members.len() < combinations::MOST {
                self.combining.insert(id);
                self.members.push(id);
            }
        }
        self.sorted = catalogue.len();
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
        self.sort();
    }

    fn point(&self) -> Growth {
        Growth {
            executions: self.executions,
            requirements: self.count,
            combinations: self.combinations.count(),
        }
    }

    /// How many executions were looked at.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// How far coverage had come after 1, 2, 4, 8 and so on executions, and after the last.
    pub fn growth(&self) -> Vec<Growth> {
        let mut growth = self.growth.clone();
        let last = self.point();
        if growth.last() != Some(&last) {
            growth.push(last);
        }
        growth
    }

    /// Every requirement that is known, and how it stands.
    pub fn requirements(&self) -> impl Iterator<Item = (Requirement, Standing)> + '_ {
        let all = self.board.catalogue.iter();
        let wanted = all.filter(|(_, requirement)| self.metrics.contains(requirement.metric));
        wanted.map(|(id, requirement)| (requirement, self.standing(id)))
    }

    fn standing(&self, id: Id) -> Standing {
        let verdict = self.verdicts.get(id).copied().flatten();
        match (self.covered.contains(id), verdict) {
            (true, _) => Standing::Covered,
            (_, Some(Verdict::Ordered)) => Standing::NeverConcurrent,
            (_, Some(Verdict::Locked)) => Standing::OrderedByLock,
            (_, Some(Verdict::Possible) | None) => Standing::NotTried,
        }
    }

    /// How many requirements of a metric there are.
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

    /// Pairs of requirements covered in one execution, of those that are not estimated to be
    /// impossible.
    pub fn combinations(&self) -> Counts {
        let mut possible = 0;
        for &id in &self.members {
            let standing = self.standing(id);
            possible += u64::from(matches!(standing, Standing::Covered | Standing::NotTried));
        }
        Counts {
            covered: self.combinations.count(),
            known: possible * possible.saturating_sub(1) / 2,
            infeasible: 0,
        }
    }

    /// The pairs of requirements covered in one execution.
    pub fn combined_pairs(&self) -> impl Iterator<Item = (Requirement, Requirement)> + '_ {
        let catalogue = &self.board.catalogue;
        let get = |member: usize| catalogue.get(self.members[member]);
        (0..self.members.len()).flat_map(move |one| {
            let row = self.combinations.row(one).into_iter().flat_map(Bits::iter);
            let later = row.filter(move |&other| other > one);
            later.map(move |other| (get(one), get(other)))
        })
    }

    /// The pairs of requirements covered in one execution in this order, if accesses that come one
    /// after the other are measured.
    pub fn ordered_pairs(&self) -> impl Iterator<Item = (Requirement, Requirement)> + '_ {
        let catalogue = &self.board.catalogue;
        (0..catalogue.len()).flat_map(move |id| {
            let before = self.ordered.before(id);
            before.map(move |first| (catalogue.get(first), catalogue.get(id)))
        })
    }

    /// How many such pairs there are.
    pub fn ordered_count(&self) -> u64 {
        self.ordered.count()
    }

    /// Something was covered that no execution here has: by an earlier run, or elsewhere.
    pub fn cover(&mut self, requirement: Requirement) {
        let id = self.board.catalogue.id(requirement);
        self.sort();
        if self.wanted.contains(id) {
            self.count += u64::from(self.covered.insert(id));
        }
    }

    /// Adds what other executions of the same program covered; places must have the same names.
    pub fn merge(&mut self, other: &Coverage) {
        let theirs = &other.board.catalogue;
        let ids: Vec<Id> = theirs
            .iter()
            .map(|(_, requirement)| self.board.catalogue.id(requirement))
            .collect();
        self.sort();
        for (id, &mine) in ids.iter().enumerate() {
            if other.covered.contains(id) && self.wanted.contains(mine) {
                self.count += u64::from(self.covered.insert(mine));
            }
            if let Some(Some(verdict)) = other.verdicts.get(id) {
                mark(&mut self.verdicts, mine, *verdict);
            }
        }
        let mut combinations = std::mem::take(&mut self.combinations);
        let member = |theirs: usize| self.member(ids[other.members[theirs]]);
        combinations.merge(&other.combinations, member);
        self.combinations = combinations;
        self.ordered.merge(&other.ordered, |id| ids[id]);
        self.executions += other.executions;
    }
}

/// What was said of requirements so far.
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

/// What is possible once is possible; of two reasons why not, a lock is the one to look at.
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
