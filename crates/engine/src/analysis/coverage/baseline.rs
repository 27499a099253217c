//! Requirements of an earlier version of the program, and what they make of those of this version.
//!
//! An earlier version *covered* some requirements, and others were *feasible* on it as far as is
//! known. In this version each requirement has one of three classes, or none (Hong, 2015, section
//! 5.3.3, with the erratum that requirements on new lines are new):
//!
//! - *new*: feasible now, and neither covered nor feasible on the earlier version;
//! - *kept*: covered on the earlier version, and feasible now;
//! - *lost*: covered on the earlier version, and not feasible now as far as is known;
//! - none: feasible on the earlier version, where no execution covered it. It is conjectured to be
//!   infeasible, so it is no target; an execution that covers it counts all the same.

use std::collections::HashSet;

use super::catalogue::Requirement;
use super::counts::Standing;

/// Class of a requirement that a search after a change goes for, in the order of the stages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TargetClass {
    /// Feasible now, and unknown to the earlier version.
    New,
    /// Covered on the earlier version, and feasible now.
    Kept,
    /// Covered on the earlier version, and not known to be feasible now.
    Lost,
}

impl TargetClass {
    /// Returns the class of the next stage; `None` after the last.
    pub fn next(self) -> Option<Self> {
        match self {
            TargetClass::New => Some(TargetClass::Kept),
            TargetClass::Kept => Some(TargetClass::Lost),
            TargetClass::Lost => None,
        }
    }
}

/// Requirements of an earlier version, with the source locations of this one.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    covered: HashSet<Requirement>,
    feasible: HashSet<Requirement>,
}

impl Baseline {
    /// Adds a requirement that an execution of the earlier version covered.
    pub fn add_covered(&mut self, requirement: Requirement) {
        self.covered.insert(requirement);
    }

    /// Adds a requirement that was estimated to be feasible on the earlier version.
    pub fn add_feasible(&mut self, requirement: Requirement) {
        self.feasible.insert(requirement);
    }

    /// True when nothing is known of the earlier version.
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty() && self.feasible.is_empty()
    }

    /// Returns the class of a requirement with this status in this version.
    pub fn class(&self, requirement: Requirement, standing: Standing) -> Option<TargetClass> {
        let is_feasible = matches!(standing, Standing::Covered | Standing::NotTried);
        match (
            self.covered.contains(&requirement),
            self.feasible.contains(&requirement),
        ) {
            (true, _) if is_feasible => Some(TargetClass::Kept),
            (true, _) => Some(TargetClass::Lost),
            (false, false) if is_feasible => Some(TargetClass::New),
            (false, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::SiteId;
    use crate::coverage::Metric;

    /// All sixteen cases against the set expressions of the definition.
    #[test]
    fn classes_are_those_of_the_definition() {
        let requirement = Requirement::pair(Metric::Adjacent, SiteId::new(1), SiteId::new(2));
        let standings = [
            Standing::Covered,
            Standing::NotTried,
            Standing::NeverConcurrent,
            Standing::OrderedByLock,
        ];
        for (covered, feasible) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut baseline = Baseline::default();
            assert!(baseline.is_empty());
            if covered {
                baseline.add_covered(requirement);
            }
            if feasible {
                baseline.add_feasible(requirement);
            }
            for standing in standings {
                let now = matches!(standing, Standing::Covered | Standing::NotTried);
                // Targets: (now ∪ covered) \ (feasible \ covered).
                let (is_added, is_removed) = (now || covered, feasible && !covered);
                let is_target = is_added && !is_removed;
                let expected = match () {
                    () if !is_target => None,
                    () if now && !(feasible || covered) => Some(TargetClass::New),
                    () if now && covered => Some(TargetClass::Kept),
                    () => Some(TargetClass::Lost),
                };
                assert_eq!(baseline.class(requirement, standing), expected);
            }
        }
        let stages = std::iter::successors(Some(TargetClass::New), |class| class.next());
        assert!(stages.eq([TargetClass::New, TargetClass::Kept, TargetClass::Lost]));
    }
}
