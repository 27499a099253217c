//! What is new in a test since an earlier version of the program.

use std::collections::BTreeSet;

use raddle_runs::lines::LineMap;

use crate::run::since::record::{Goal, TestRecord};

/// Requirements that differ from those of an earlier version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct News {
    /// Unknown to the earlier version, and covered.
    pub covered: BTreeSet<Goal>,
    /// Unknown to the earlier version, estimated to be feasible, and not covered.
    pub open: BTreeSet<Goal>,
    /// Covered on the earlier version, and not in this run, which has not run every behaviour.
    pub not_again: BTreeSet<Goal>,
    /// Covered on the earlier version, where they have its places: their lines are gone, or every behaviour was run
    /// and none covers them.
    pub gone: BTreeSet<Goal>,
}

impl News {
    /// Compares two records of a test.
    pub fn of(before: &TestRecord, now: &TestRecord, map: &LineMap) -> Self {
        let place = |goal: &Goal| {
            Some(Goal {
                metric: goal.metric.clone(),
                first: map.place(&goal.first)?,
                second: match &goal.second {
                    Some(second) => Some(map.place(second)?),
                    None => None,
                },
            })
        };
        let mut news = News::default();
        let mut known: BTreeSet<Goal> = before.feasible.iter().filter_map(place).collect();
        for goal in &before.covered {
            match place(goal) {
                None => {
                    news.gone.insert(goal.clone());
                }
                Some(here) => {
                    if !now.covered.contains(&here) {
                        match now.is_complete {
                            true => news.gone.insert(goal.clone()),
                            false => news.not_again.insert(here.clone()),
                        };
                    }
                    known.insert(here);
                }
            }
        }
        news.covered = &now.covered - &known;
        // Every behaviour was run: what none of them covers is impossible, whatever was estimated.
        if !now.is_complete {
            news.open = &now.feasible - &known;
        }
        news
    }

    /// True when nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == News::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(first: &str, second: &str) -> Goal {
        Goal {
            metric: "sync-pair".to_owned(),
            first: format!("a.rs:{first}:1"),
            second: Some(format!("a.rs:{second}:1")),
        }
    }

    /// Line 3 is gone and line 4 is now line 3; line 9 is new, as line 8.
    fn map() -> LineMap {
        LineMap::from_diff(
            "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -3 +2,0 @@\n-old\n@@ -8,0 +8 @@\n+new\n",
        )
    }

    #[test]
    fn requirements_are_compared_at_their_new_places() {
        let before = TestRecord {
            covered: [
                goal("1", "3"),
                goal("1", "4"),
                goal("4", "4"),
                goal("5", "5"),
            ]
            .into(),
            feasible: [goal("4", "1")].into(),
            ..TestRecord::default()
        };
        let now = TestRecord {
            covered: [goal("1", "3"), goal("3", "1"), goal("1", "8")].into(),
            feasible: [goal("8", "8"), goal("3", "3")].into(),
            ..TestRecord::default()
        };
        let news = News::of(&before, &now, &map());
        let expected = News {
            covered: [goal("1", "8")].into(),
            open: [goal("8", "8")].into(),
            not_again: [goal("3", "3"), goal("4", "4")].into(),
            gone: [goal("1", "3")].into(),
        };
        assert_eq!(news, expected);
        let complete = TestRecord {
            is_complete: true,
            ..now
        };
        let news = News::of(&before, &complete, &map());
        let expected = News {
            covered: [goal("1", "8")].into(),
            gone: [goal("1", "3"), goal("4", "4"), goal("5", "5")].into(),
            ..News::default()
        };
        assert_eq!(news, expected);
    }

    #[test]
    fn a_version_is_as_new_as_itself() {
        let record = TestRecord {
            covered: [goal("1", "3")].into(),
            feasible: [goal("4", "1")].into(),
            ..TestRecord::default()
        };
        assert!(News::of(&record, &record, &LineMap::default()).is_empty());
    }
}
