//! Coverage of a check, with source locations instead of site numbers.
//!
//! A requirement has a *key* of its metric and its places, which is the same for all builds of the
//! same source. Coverage can therefore be stored, and merged with the coverage of other runs.

use std::collections::BTreeMap;
use std::fmt;

use raddle_engine::SiteId;
use raddle_engine::coverage::{self, Metric, Standing};
use serde::{Serialize, Serializer};

use crate::data::place::CodePlace;

/// State of a requirement. The order is that of precedence when two runs disagree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[non_exhaustive]
pub enum Covered {
    /// Covered by at least one execution.
    Yes,
    /// Not covered yet; nothing is known that makes it infeasible.
    NotTried,
    /// Estimated to be infeasible: a lock orders the two operations.
    OrderedByLock,
    /// Estimated to be infeasible: thread creation and joins order the two operations, or force
    /// another one between them.
    NeverConcurrent,
    /// Covered by no class, and every class was run: impossible in this program, under this memory
    /// model and these settings.
    Impossible,
}

impl fmt::Display for Covered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Covered::Yes => "covered",
            Covered::NotTried => "not tried",
            Covered::OrderedByLock => "ordered by a lock",
            Covered::NeverConcurrent => "never concurrent",
            Covered::Impossible => "impossible, as every behaviour was run",
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

/// A requirement of a coverage metric. `Display` writes its key, such as `sync-pair src/a.rs:3:14
/// -> src/b.rs:7:9`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct CoverageGoal {
    /// The metric.
    #[serde(serialize_with = "as_text")]
    pub metric: Metric,
    /// The only place, or the first of two.
    pub first: CodePlace,
    /// The second place, for a metric of pairs.
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
    /// Parses a key.
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

/// Numbers of requirements, of one metric or at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CoverageCounts {
    /// Covered by at least one execution.
    pub covered: u64,
    /// Covered, feasible or infeasible, as far as observed.
    pub known: u64,
    /// Known, not covered, and infeasible, by an estimate or because every class was run.
    pub infeasible: u64,
}

impl CoverageCounts {
    fn add(&mut self, covered: Covered) {
        self.known += 1;
        match covered {
            Covered::Yes => self.covered += 1,
            Covered::NotTried => {}
            Covered::OrderedByLock | Covered::NeverConcurrent | Covered::Impossible => {
                self.infeasible += 1;
            }
        }
    }

    /// Returns the number of requirements neither covered nor infeasible.
    pub fn open(&self) -> u64 {
        self.known - self.covered - self.infeasible
    }
}

/// A point on the curve of coverage over executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct CoverageGrowth {
    /// Number of executions.
    pub executions: u64,
    /// Number of covered requirements.
    pub requirements: u64,
    /// Number of pairs of requirements that one execution covered together.
    pub combinations: u64,
}

/// Coverage of a check.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// Number of measured executions; 0 if coverage was not measured.
    pub executions: u64,
    /// Metrics whose requirements are combined to pairs, such as `sync-pair+def-use`.
    pub combined: String,
    /// Pairs of requirements that one execution covered together; `known` counts pairs of
    /// requirements that are not estimated to be infeasible.
    pub combinations: CoverageCounts,
    /// Growth after 1, 2, 4, 8 and so on executions, and after the last one. With several workers:
    /// that of the first worker, then one point for all of them.
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
    /// Converts the engine's measurement; `place` returns `file:line:column` of a site.
    pub fn of(measured: &coverage::Coverage, place: impl Fn(SiteId) -> Option<String>) -> Self {
        // Parsed once for each site, because a site is part of many requirements.
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
            // The key of half a pair could not be parsed again.
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

    /// Adds a requirement, or the better of two states: several sites may have the same place, and
    /// runs may know different states.
    fn add(&mut self, goal: CoverageGoal, covered: Covered) {
        let known = self.goals.entry(goal).or_insert(covered);
        *known = (*known).min(covered);
    }

    /// Marks requirements that no class covers as impossible. Called when every class was run.
    /// Requirements that depend on the order of events within a class remain open.
    pub fn conclude(&mut self) {
        for (goal, covered) in &mut self.goals {
            if *covered == Covered::NotTried && goal.metric.is_of_classes() {
                *covered = Covered::Impossible;
            }
        }
    }

    /// True when coverage was measured.
    pub fn is_measured(&self) -> bool {
        self.executions > 0
    }

    /// Returns all known requirements with their states.
    pub fn goals(&self) -> impl Iterator<Item = (&CoverageGoal, Covered)> {
        self.goals.iter().map(|(goal, covered)| (goal, *covered))
    }

    /// Returns the state of a requirement, if it is known.
    pub fn get(&self, goal: &CoverageGoal) -> Option<Covered> {
        self.goals.get(goal).copied()
    }

    /// Returns the keys of all covered requirements.
    pub fn covered_keys(&self) -> impl Iterator<Item = String> + '_ {
        let covered = self.goals().filter(|(_, it)| *it == Covered::Yes);
        covered.map(|(goal, _)| goal.to_string())
    }

    /// Marks the requirements with these keys as covered. Returns the number of keys that cannot be
    /// parsed.
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

    /// Adds the coverage of another run. Of the counts of pairs the larger one is kept, because the
    /// pairs themselves are not known here.
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

    /// Counts the requirements of a metric.
    pub fn counts(&self, metric: Metric) -> CoverageCounts {
        let mut counts = CoverageCounts::default();
        let goals = self.goals().filter(|(goal, _)| goal.metric == metric);
        goals.for_each(|(_, covered)| counts.add(covered));
        counts
    }

    /// Counts the requirements at each place.
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
    fn covered_requirements_stay_covered() {
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
