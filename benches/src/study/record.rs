//! Records: what each execution of a program covers by each criterion, and whether it fails.

use std::collections::HashMap;
use std::time::Duration;

use raddle::__private::{run_observed, with_mutant};
use raddle::{Checker, Level, Metric, Metrics, Strategy};
use raddle_engine::Execution;
use raddle_engine::check::panic;
use raddle_engine::coverage::{Coverage, Requirement};

use super::criteria::{CRITERIA, Criterion};

/// No time limit: the number of executions limits a check.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);
/// Maximum requirements of a criterion; one with more is left out. Pairs are quadratic in the size of a program.
const MOST_REQUIREMENTS: usize = 20_000;

/// The requirements of one criterion that each execution covers.
#[derive(Clone, Debug, Default)]
pub(super) struct Covered {
    /// Number of requirements that some execution covers.
    pub(super) requirements: usize,
    /// By execution: its requirements as bits.
    rows: Vec<Vec<u64>>,
}

impl Covered {
    /// Creates the table of these numbers, a list for each execution.
    pub(super) fn new(executions: &[Vec<usize>]) -> Self {
        let requirements = executions.iter().flatten().max().map_or(0, |most| most + 1);
        let words = requirements.div_ceil(64);
        let row = |numbers: &Vec<usize>| {
            let mut row = vec![0; words];
            numbers
                .iter()
                .for_each(|number| row[number / 64] |= 1 << (number % 64));
            row
        };
        Covered {
            requirements,
            rows: executions.iter().map(row).collect(),
        }
    }

    /// Returns the bits of an execution.
    pub(super) fn row(&self, execution: usize) -> &[u64] {
        &self.rows[execution]
    }

    /// Returns the number of requirements that these executions cover together.
    pub(super) fn count(&self, executions: &[usize]) -> u32 {
        let words = self.requirements.div_ceil(64);
        let all = |word: usize| {
            executions
                .iter()
                .fold(0, |all, &it| all | self.rows[it][word])
        };
        (0..words).map(|word| u64::count_ones(all(word))).sum()
    }

    /// Returns the number of executions that cover each requirement.
    pub(super) fn frequencies(&self) -> Vec<usize> {
        let has = |row: &Vec<u64>, number: usize| row[number / 64] >> (number % 64) & 1 == 1;
        (0..self.requirements)
            .map(|number| self.rows.iter().filter(|row| has(row, number)).count())
            .collect()
    }

    /// True when the execution covers the requirement.
    pub(super) fn has(&self, execution: usize, number: usize) -> bool {
        self.rows[execution][number / 64] >> (number % 64) & 1 == 1
    }
}

/// All executions of one program.
#[derive(Clone, Debug)]
pub(super) struct Records {
    /// The program, or the mutant.
    pub(super) name: String,
    /// The program; mutants of one program are not independent of each other.
    pub(super) program: String,
    /// By execution.
    pub(super) failed: Vec<bool>,
    /// By criterion, in the order of the table; `None` if it has too many requirements.
    pub(super) covered: Vec<Option<Covered>>,
}

impl Records {
    pub(super) fn executions(&self) -> usize {
        self.failed.len()
    }

    pub(super) fn failures(&self) -> usize {
        self.failed.iter().filter(|failed| **failed).count()
    }

    /// Runs a program this many times under a strategy; `mutant` changes one of its operations.
    pub(super) fn of(
        name: String,
        program: &str,
        body: fn(),
        mutant: Option<&str>,
        strategy: &Strategy,
        executions: u64,
        seed: u64,
    ) -> Self {
        let check = Checker::new()
            .strategy(strategy.clone())
            .seed(seed)
            .max_executions(executions)
            .max_time(NO_LIMIT)
            .shorten(false)
            .keep_going(true)
            // Orders of locks would be tried out, in executions that are not drawn.
            .lock_order(Level::Allow)
            .checkpoint_every(Duration::ZERO);
        let check = match mutant {
            Some(mutant) => with_mutant(check, mutant),
            None => check,
        };
        let mut failed = Vec::new();
        let mut observed = Vec::new();
        let mut numbers: HashMap<Requirement, usize> = HashMap::new();
        let report = run_observed(check, body, &mut |execution| {
            let mut coverage = Coverage::new(Metrics::ALL);
            coverage.note(execution);
            let mut covered = Vec::new();
            for (requirement, standing) in coverage.requirements() {
                if standing == raddle_engine::coverage::Standing::Covered {
                    let next = numbers.len();
                    let number = *numbers.entry(requirement).or_insert(next);
                    covered.push((requirement.metric, number));
                }
            }
            covered.sort_unstable();
            observed.push(covered);
            failed.push(fails(execution));
        });
        assert_eq!(
            report.failures.is_empty(),
            !failed.contains(&true),
            "the check and the records of {name} agree"
        );
        let covered = CRITERIA
            .iter()
            .map(|criterion| table(criterion, &observed))
            .collect();
        Records {
            name,
            program: program.to_owned(),
            failed,
            covered,
        }
    }
}

/// The requirements that an execution covers: metric and number.
type Observed = Vec<(Metric, usize)>;

/// Returns the table of a criterion; `None` if it has too many requirements.
fn table(criterion: &Criterion, observed: &[Observed]) -> Option<Covered> {
    let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
    let mut executions = Vec::new();
    for covered in observed {
        let wanted = covered
            .iter()
            .filter(|(metric, _)| criterion.contains(*metric));
        let wanted: Vec<_> = wanted.map(|(_, number)| *number).collect();
        let mut row = Vec::new();
        for (index, &one) in wanted.iter().enumerate() {
            let partners = match criterion.is_pairs {
                true => &wanted[index + 1..],
                false => &wanted[index..=index],
            };
            for &other in partners {
                let next = numbers.len();
                let pair = (one.min(other), one.max(other));
                row.push(*numbers.entry(pair).or_insert(next));
            }
        }
        if numbers.len() > MOST_REQUIREMENTS {
            return None;
        }
        executions.push(row);
    }
    Some(Covered::new(&executions))
}

/// True when a check would report a failure of the execution: a panic, a data race, a use of freed memory, or threads
/// that are blocked for ever.
fn fails(execution: &Execution) -> bool {
    let is_stuck = execution.pending.iter().any(Option::is_some)
        || !execution.spinning.is_empty()
        || execution.polls.is_some();
    execution.conflict.is_some()
        || execution.memory_error.is_some()
        || panic::unhandled(execution).is_some()
        || !execution.is_over && is_stuck
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(name: &str) -> raddle_stories::Story {
        let all = raddle_stories::all().into_iter();
        all.into_iter().find(|story| story.name == name).unwrap()
    }

    /// Each check of one execution with the same seed as an oracle of the verdicts.
    #[test]
    fn verdicts_are_those_of_checks() {
        for name in [
            "lost_update",
            "bank",
            "clean",
            "one_condvar",
            "message",
            "early_goodbye",
        ] {
            let body = story(name).buggy;
            let strategy = Strategy::Random;
            let records = Records::of(name.to_owned(), name, body, None, &strategy, 60, 3);
            assert_eq!(records.executions(), 60);
            let first = records.failed.iter().position(|failed| *failed);
            let report = Checker::new()
                .strategy(strategy)
                .seed(3)
                .max_executions(60)
                .lock_order(Level::Allow)
                .shorten(false);
            let report = report.run(body);
            let found = (!report.failures.is_empty()).then(|| report.executions as usize - 1);
            assert_eq!(first, found, "{name}");
            let twin = story(name).correct;
            let twin = Records::of(name.to_owned(), name, twin, None, &Strategy::Random, 60, 3);
            assert_eq!(twin.failures(), 0, "{name}");
        }
    }

    #[test]
    fn combined_criteria_have_the_requirements_of_their_parts_and_pairs_are_pairs() {
        let body = story("withdraw").buggy;
        let records = Records::of("x".into(), "x", body, None, &Strategy::Random, 50, 1);
        let of = |name: &str| {
            let index = CRITERIA.iter().position(|it| it.name == name).unwrap();
            records.covered[index].clone().unwrap()
        };
        let (sync, data) = (of("sync-pair"), of("def-use"));
        let (both, pairs) = (of("sync-pair+def-use"), of("pairs of sync-pair+def-use"));
        assert_eq!(both.requirements, sync.requirements + data.requirements);
        for execution in 0..50 {
            let [sync, data, both, pairs] =
                [&sync, &data, &both, &pairs].map(|table| table.count(&[execution]));
            assert_eq!(both, sync + data);
            assert_eq!(pairs, both * both.saturating_sub(1) / 2);
        }
        assert!(sync.requirements > 1);
    }
}
