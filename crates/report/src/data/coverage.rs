//! What a check has covered, with places instead of numbers.
//!
//! A requirement has a *key*, which is the same for all builds of the same source: its metric and its
//! places. So what was covered can be kept, and added to what another run has covered.

use std::collections::BTreeMap;
use std::fmt;

use raddle_engine::SiteId;
use raddle_engine::coverage::{self, Metric, Standing};
use serde::{Serialize, Serializer};

use crate::data::place::CodePlace;

/// Why a requirement is not covered, or that it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[non_exhaustive]
pub enum Covered {
    /// Some execution covered it.
    Yes,
    /// Nothing is known to be in the way: it has not happened yet.
    NotTried,
    /// Estimated to be impossible: a lock keeps the one away from the other.
    OrderedByLock,
    /// Estimated to be impossible: creation and joins order the two, or put something between them.
    NeverConcurrent,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Covered::Yes => "covered",
            Covered::NotTried => "not tried",
            Covered::OrderedByLock => "ordered by a lock",
            Covered::NeverConcurrent => "never concurrent",
        })
    }
}

impl From<Standing> for Covered {
    fn from(standing: Standing) -> Self {
        match standing {
            Standing::Covered => Covered::Yes,
            Standing::NotTried => Covered::NotTried,
            Standing::OrderedByLock => Covered::OrderedByLock,
            Standing::NeverConcurrent => Covered::NeverConcurrent,
        }
    }
}

/// Something to be covered. `Display` writes its key, such as
/// `sync-pair src/a.rs:3:14 -> src/b.rs:7:9`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct CoverageGoal {
    /// What it is about.
    #[serde(serialize_with = "as_text")]
    pub metric: Metric,
    /// The place, or the first of two.
    pub first: CodePlace,
    /// The second, if the metric is about two.
    pub second: Option<CodePlace>,
}

fn as_text<S: Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(metric)
}

const ARROW: &str = " -> ";

impl fmt::Display for CoverageGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric, self.first)?;
        match &self.second {
            Some(second) => write!(f, "{ARROW}{second}"),
            None => Ok(()),
        }
    }
}

impl CoverageGoal {
    /// Reads a key; `None` if it is none.
    pub fn parse(key: &str) -> Option<Self> {
        let (metric, places) = key.split_once(' ')?;
        let metric = Metric::named(metric)?;
        let (first, second) = match places.split_once(ARROW) {
            Some((first, second)) => (first, Some(CodePlace::parse(second)?)),
            None => (places, None),
        };
        let goal = CoverageGoal {
            metric,
            first: CodePlace::parse(first)?,
            second,
        };
        (goal.second.is_some() == metric.is_pairwise()).then_some(goal)
    }
}

/// How many requirements there are of one metric, or at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CoverageCounts {
    /// Covered by some execution.
    pub covered: u64,
    /// Covered, or seen to be possible or impossible.
    pub known: u64,
    /// Known, not covered, and estimated to be impossible.
    pub infeasible: u64,
}

impl CoverageCounts {
    fn add(&mut self, covered: Covered) {
        self.known += 1;
        match covered {
            Covered::Yes => self.covered += 1,
            Covered::NotTried => {}
            Covered::OrderedByLock | Covered::NeverConcurrent => self.infeasible += 1,
        }
    }

    /// Neither covered nor estimated to be impossible.
    pub fn open(&self) -> u64 {
        self.known - self.covered - self.infeasible
    }
}

/// How far coverage had come after some executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct CoverageGrowth {
    /// So many executions.
    pub executions: u64,
    /// So many requirements covered.
    pub requirements: u64,
    /// So many pairs of requirements covered in one execution.
    pub combinations: u64,
}

/// What a check has covered.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// How many executions were looked at; none if nothing was measured.
    pub executions: u64,
    /// Whose requirements are combined, such as `sync-pair+def-use`.
    pub combined: String,
    /// Pairs of requirements covered in one execution; `known` are those whose parts are not estimated
    /// to be impossible.
    pub combinations: CoverageCounts,
    /// After 1, 2, 4, 8 and so on executions, and after the last. With several workers: of the first,
    /// and then of all.
    pub growth: Vec<CoverageGrowth>,
    #[serde(serialize_with = "as_list")]
    goals: BTreeMap<CoverageGoal, Covered>,
}

fn as_list<S: Serializer>(
    goals: &BTreeMap<CoverageGoal, Covered>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(goals)
}

impl Coverage {
    /// The same with places instead of numbers; `place` gives `file:line:column`.
    pub fn of(measured: &coverage::Coverage, place: impl Fn(SiteId) -> Option<String>) -> Self {
        // Each place is part of many requirements.
        let mut known: Vec<Option<Option<CodePlace>>> = Vec::new();
        let mut place = |site: SiteId| {
            if site.index() >= known.len() {
                known.resize(site.index() + 1, None);
            }
            let parse = || place(site).as_deref().and_then(CodePlace::parse);
            known[site.index()].get_or_insert_with(parse).clone()
        };
        let mut this = Coverage {
            executions: measured.executions(),
            combined: measured.combined().to_string(),
            ..Coverage::default()
        };
        for (requirement, standing) in measured.requirements() {
            let Some(first) = place(requirement.first) else {
                continue;
            };
            let second = requirement.second.map(&mut place);
            // Half a pair would be a requirement with a key that nobody can read.
            if second == Some(None) {
                continue;
            }
            let goal = CoverageGoal {
                metric: requirement.metric,
                first,
                second: second.flatten(),
            };
            this.add(goal, standing.into());
        }
        let combinations = measured.combinations();
        this.combinations = CoverageCounts {
            covered: combinations.covered,
            known: combinations.known,
            infeasible: combinations.infeasible,
        };
        let growth = measured.growth().into_iter().map(|point| CoverageGrowth {
            executions: point.executions,
            requirements: point.requirements,
            combinations: point.combinations,
        });
        this.growth = growth.collect();
        this
    }

    /// One place may have several numbers, and several runs may know different things.
    fn add(&mut self, goal: CoverageGoal, covered: Covered) {
        let known = self.goals.entry(goal).or_insert(covered);
        *known = (*known).min(covered);
    }

    /// Whether anything was measured.
    pub fn is_measured(&self) -> bool {
        self.executions > 0
    }

    /// All requirements that are known.
    pub fn goals(&self) -> impl Iterator<Item = (&CoverageGoal, Covered)> {
        self.goals.iter().map(|(goal, covered)| (goal, *covered))
    }

    /// How a requirement stands, if it is known.
    pub fn get(&self, goal: &CoverageGoal) -> Option<Covered> {
        self.goals.get(goal).copied()
    }

    /// The keys of all that was covered.
    pub fn covered_keys(&self) -> impl Iterator<Item = String> + '_ {
        let covered = self.goals().filter(|(_, it)| *it == Covered::Yes);
        covered.map(|(goal, _)| goal.to_string())
    }

    /// Counts these keys as covered; how many are no keys.
    pub fn import<'a>(&mut self, keys: impl IntoIterator<Item = &'a str>) -> usize {
        let mut unknown = 0;
        for key in keys {
            match CoverageGoal::parse(key) {
                Some(goal) => self.add(goal, Covered::Yes),
                None => unknown += 1,
            }
        }
        unknown
    }

    /// Adds what another run has covered. Of the pairs covered in one execution only the larger number
    /// is kept: which they are is not known here.
    pub fn merge(&mut self, other: &Coverage) {
        for (goal, covered) in other.goals() {
            self.add(goal.clone(), covered);
        }
        self.executions += other.executions;
        if other.combinations.covered > self.combinations.covered {
            self.combinations = other.combinations;
            self.combined.clone_from(&other.combined);
        }
    }

    /// How many requirements of a metric there are.
    pub fn counts(&self, metric: Metric) -> CoverageCounts {
        let mut counts = CoverageCounts::default();
        let goals = self.goals().filter(|(goal, _)| goal.metric == metric);
        goals.for_each(|(_, covered)| counts.add(covered));
        counts
    }

    /// Every place, with how many requirements it is part of.
    pub fn places(&self) -> BTreeMap<&CodePlace, CoverageCounts> {
        let mut places: BTreeMap<&CodePlace, CoverageCounts> = BTreeMap::new();
        for (goal, covered) in self.goals() {
            places.entry(&goal.first).or_default().add(covered);
            if let Some(second) = goal.second.as_ref().filter(|it| **it != goal.first) {
                places.entry(second).or_default().add(covered);
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_can_be_read_back() {
        for key in [
            "sync-pair src/a b.rs:3:14 -> src/b.rs:7:9",
            "blocked C:\\a.rs:3:14",
        ] {
            assert_eq!(CoverageGoal::parse(key).unwrap().to_string(), key);
        }
        for wrong in [
            "sync-pair src/a.rs:3:14",
            "blocked a.rs:1:1 -> b.rs:1:1",
            "else a.rs:1:1",
            "blocked a.rs:1",
            "",
        ] {
            assert_eq!(CoverageGoal::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_covered_once_stays_covered() {
        let key = "blocked a.rs:1:1";
        let goal = CoverageGoal::parse(key).unwrap();
        let mut one = Coverage::default();
        one.add(goal.clone(), Covered::NeverConcurrent);
        one.add(goal.clone(), Covered::NotTried);
        assert_eq!(one.get(&goal), Some(Covered::NotTried));
        let mut other = Coverage::default();
        assert_eq!(other.import([key, "no key"]), 1);
        one.merge(&other);
        assert_eq!(one.covered_keys().collect::<Vec<_>>(), [key]);
        assert_eq!(one.counts(Metric::Blocked).open(), 0);
    }
}
