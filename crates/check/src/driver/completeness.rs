//! Verification of the search itself, for small tests: it must have run every class that some
//! schedule has, and none twice.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

use raddle_engine::{Execution, Schedule};
use raddle_report::{Completeness, Guarantee, Report};

use crate::driver::phases;
use crate::driver::run::{self, Observer, Stopped};
use crate::runtime::deadline::Deadline;
use crate::settings::checker::{Checker, WholeCheck};
use crate::settings::options::{Level, Memory, Strategy};

/// Default time for running all schedules.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Maximum number of classes shown in a difference.
const MAX_SHOWN: usize = 3;

/// The classes that a search has run.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// Number of executions and one schedule, by fingerprint.
    run: HashMap<u64, (u64, Schedule)>,
}

impl Classes {
    fn add(&mut self, execution: &Execution) {
        let schedule = || (0, Schedule::of(execution));
        let (runs, _) = self
            .run
            .entry(execution.fingerprint())
            .or_insert_with(schedule);
        *runs += 1;
    }
}

/// A difference between the search and the enumeration of schedules.
#[derive(Debug, Default)]
struct Difference {
    missing: Vec<Schedule>,
    repeated: Vec<Schedule>,
    invented: Vec<Schedule>,
}

/// Runs the check and then every schedule, and adds the comparison to the report.
///
/// # Panics
///
/// If the two differ, which is a bug in raddle.
pub(crate) fn run_and_verify(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    mut observer: Option<Observer<'_>>,
    search: impl FnOnce(Observer<'_>) -> Report,
) -> Report {
    let deadline = phases::deadline(checker, Instant::now());
    let mut classes = Classes::default();
    let mut report = search(&mut |stopped: Stopped<'_>| {
        classes.add(stopped.execution);
        if let Some(observer) = &mut observer {
            observer(stopped);
        }
    });
    if let Some(reason) = why_not(checker, &report) {
        report.completeness = Some(Completeness::NotVerified { reason });
        return report;
    }
    let (schedules, all, ended) = enumerate(checker, body, place, deadline);
    if let Some(difference) = Difference::between(&classes, &all, ended) {
        panic!("{difference}");
    }
    let classes = all.run.len() as u64;
    report.completeness = Some(match ended {
        true => Completeness::Verified { schedules },
        false => Completeness::Unfinished { schedules, classes },
    });
    report
}

/// Returns the reason why the two cannot be compared, if any.
fn why_not(checker: &Checker, report: &Report) -> Option<String> {
    let guarantee = report.guarantee();
    let ended = matches!(guarantee, Guarantee::Exhaustive | Guarantee::Bounded { .. });
    let weakly_bounded = checker.memory != Memory::Sc && checker.preemptions.is_some();
    let reason = match checker.strategy {
        Strategy::Auto | Strategy::Exhaustive if weakly_bounded => {
            "with a bound, schedules are only compared under sequential consistency"
        }
        Strategy::Auto | Strategy::Exhaustive if ended => return None,
        Strategy::Auto | Strategy::Exhaustive
            if matches!(guarantee, Guarantee::Reduced | Guarantee::Paths) =>
        {
            "a reduction leaves classes out"
        }
        Strategy::Auto | Strategy::Exhaustive => "the search did not come to its end",
        _ => "the strategy does not run every class",
    };
    Some(reason.to_owned())
}

/// Enumerates schedules; returns their number, their classes, and true if these are all schedules.
fn enumerate(
    checker: &Checker,
    body: &(dyn Fn() + Sync),
    place: &'static Location<'static>,
    deadline: Deadline,
) -> (u64, Classes, bool) {
    let part_of = WholeCheck {
        start: Instant::now(),
        runs: 0,
        deadline: checker.max_time.map(|_| deadline),
    };
    let enumeration = Checker {
        strategy: Strategy::Enumerate,
        max_time: checker.max_time.or(Some(DEFAULT_TIME)),
        part_of: Some(part_of),
        keep_going: true,
        shorten: false,
        lock_order: Level::Allow,
        leaks: Level::Allow,
        predictions: Level::Allow,
        branches: false,
        properties: Vec::new(),
        known_schedules: false,
        ..checker.clone()
    };
    let mut all = Classes::default();
    let observer: Observer<'_> = &mut |stopped: Stopped<'_>| all.add(stopped.execution);
    let report = run::run(&enumeration, None, body, place, Some(observer));
    let ended = !matches!(report.guarantee(), Guarantee::Sampled);
    (report.executions, all, ended)
}

impl Difference {
    /// Compares the classes that the search has run with those of all schedules; `ended` if the
    /// enumeration is complete.
    fn between(found: &Classes, all: &Classes, ended: bool) -> Option<Difference> {
        let select = |from: &Classes, wanted: &dyn Fn(u64, u64) -> bool| {
            let picked = from
                .run
                .iter()
                .filter(|&(&class, &(runs, _))| wanted(class, runs));
            let mut picked: Vec<(u64, Schedule)> = picked
                .map(|(&class, (_, schedule))| (class, schedule.clone()))
                .collect();
            picked.sort_by_key(|&(class, _)| class);
            picked.into_iter().map(|(_, schedule)| schedule).collect()
        };
        let difference = Difference {
            missing: select(all, &|class, _| !found.run.contains_key(&class)),
            repeated: select(found, &|_, runs| runs > 1),
            invented: select(found, &|class, _| ended && !all.run.contains_key(&class)),
        };
        let same = difference.missing.is_empty()
            && difference.repeated.is_empty()
            && difference.invented.is_empty();
        (!same).then_some(difference)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "raddle: the exhaustive search and the enumeration of all schedules differ. This is a \
             mistake of raddle's, not of the test; please report it, with the test and what follows."
        )?;
        for (what, schedules) in [
            ("that the search did not run", &self.missing),
            ("that the search ran more than once", &self.repeated),
            ("that no schedule has", &self.invented),
        ] {
            if schedules.is_empty() {
                continue;
            }
            write!(f, "\n\nclasses {what}: {}", schedules.len())?;
            for schedule in schedules.iter().take(MAX_SHOWN) {
                write!(f, "\n\n{}\n", schedule.to_token())?;
                let text = schedule.to_string();
                text.lines().try_for_each(|line| write!(f, "\n  {line}"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(runs: &[(u64, u64)]) -> Classes {
        let schedule: Schedule = "raddle schedule 2; main: begin".parse().unwrap();
        let run = |&(class, runs): &(u64, u64)| (class, (runs, schedule.clone()));
        Classes {
            run: runs.iter().map(run).collect(),
        }
    }

    #[test]
    fn schedules_of_one_class_are_no_difference() {
        let difference = Difference::between(
            &classes(&[(1, 1), (2, 1)]),
            &classes(&[(1, 5), (2, 1)]),
            true,
        );
        assert!(difference.is_none());
    }

    #[test]
    fn what_differs_is_listed() {
        let found = classes(&[(1, 1), (2, 3), (4, 1)]);
        let all = classes(&[(1, 9), (2, 1), (3, 1), (5, 2), (6, 1), (7, 1)]);
        let difference = Difference::between(&found, &all, true).unwrap();
        assert_eq!(difference.missing.len(), 4);
        assert_eq!(difference.repeated.len(), 1);
        assert_eq!(difference.invented.len(), 1);
        let text = difference.to_string();
        let token = difference.missing[0].to_token();
        assert!(text.contains("please report it"), "{text}");
        let shown = |part: &str| text.matches(part).count();
        assert_eq!(shown("classes that the search did not run: 4"), 1, "{text}");
        assert_eq!(shown("classes that the search ran more than once: 1"), 1);
        assert_eq!(shown("classes that no schedule has: 1"), 1);
        assert_eq!(shown(&token), 3 + 1 + 1, "three of each at most");
    }

    #[test]
    fn what_was_not_run_yet_is_not_invented() {
        let found = classes(&[(1, 1), (2, 1)]);
        assert!(Difference::between(&found, &classes(&[(1, 4)]), false).is_none());
        assert!(Difference::between(&found, &classes(&[(3, 4)]), false).is_some());
    }
}
