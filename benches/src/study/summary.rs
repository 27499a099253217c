//! The results for all programs of a group: means, and tests across programs.
//!
//! A program is one case of each test, whatever number of mutants it has: these have their code in common.

use std::collections::BTreeMap;

use super::criteria::{CRITERIA, DEFAULT};
use super::statistics::{holm, mean, median, signed_rank};
use super::subject::{Figures, Subject};

/// Level of significance.
pub(super) const ALPHA: f64 = 0.05;

/// A figure of a group: its mean over programs and its range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Spread {
    pub(super) programs: usize,
    pub(super) mean: f64,
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Spread {
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        Some(Spread {
            programs: values.len(),
            mean: mean(values),
            median: median(values)?,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// A signed-rank test across programs, adjusted for the number of criteria.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Test {
    /// Programs with a difference.
    pub(super) programs: usize,
    /// Mean difference.
    pub(super) difference: f64,
    pub(super) p: f64,
}

impl Test {
    pub(super) fn is_significant(&self) -> bool {
        self.p < ALPHA
    }
}

/// The figures of one criterion for all programs of a group.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) correlation: Option<Spread>,
    pub(super) size_coverage: Option<Spread>,
    pub(super) partial: Option<Spread>,
    /// Subjects with a partial correlation, and those of them whose permutation test is significant without any
    /// adjustment.
    pub(super) tested: usize,
    pub(super) significant: usize,
    /// Those of them with less detection where coverage is higher.
    pub(super) opposite: usize,
    /// The correlation of coverage minus that of size.
    pub(super) against_size: Option<Test>,
    /// The partial correlation minus that of the default target.
    pub(super) against_default: Option<Test>,
    pub(super) explained_by_size: Option<Spread>,
    pub(super) explained: Option<Spread>,
    pub(super) greedy: Option<Spread>,
    pub(super) greedy_random: Option<Spread>,
    pub(super) greedy_size: Option<Spread>,
    pub(super) greedy_coverage: Option<Spread>,
    /// Subjects in which suites with all coverage detect significantly more, and less.
    pub(super) greedy_more: usize,
    pub(super) greedy_less: usize,
    pub(super) greedy_test: Option<Test>,
    pub(super) difficult: Option<Spread>,
    pub(super) easy: Option<Spread>,
    pub(super) difficult_test: Option<Test>,
}

/// The figures of a group of subjects.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Summary {
    pub(super) subjects: usize,
    pub(super) programs: usize,
    pub(super) size_detection: Option<Spread>,
    pub(super) rows: Vec<Row>,
}

/// Returns a figure of each program: the mean of its subjects that have it.
fn by_program(subjects: &[&Subject], figure: impl Fn(&Subject) -> Option<f64>) -> Vec<f64> {
    let mut programs: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for subject in subjects {
        if let Some(value) = figure(subject) {
            programs.entry(&subject.program).or_default().push(value);
        }
    }
    programs.values().map(|values| mean(values)).collect()
}

fn test(subjects: &[&Subject], difference: impl Fn(&Subject) -> Option<f64>) -> Option<Test> {
    let differences = by_program(subjects, difference);
    let test = signed_rank(&differences)?;
    Some(Test {
        programs: differences.len(),
        difference: mean(&differences),
        p: test.p,
    })
}

/// Returns the figures of these subjects.
pub(super) fn summarise(subjects: &[&Subject]) -> Summary {
    let default = CRITERIA.iter().position(|it| it.name == DEFAULT);
    let default = default.expect("the default is a criterion");
    let mut rows: Vec<Row> = (0..CRITERIA.len())
        .map(|criterion| row(subjects, criterion, default))
        .collect();
    adjust(&mut rows, |row| row.against_size.as_mut());
    adjust(&mut rows, |row| row.against_default.as_mut());
    adjust(&mut rows, |row| row.greedy_test.as_mut());
    adjust(&mut rows, |row| row.difficult_test.as_mut());
    Summary {
        subjects: subjects.len(),
        programs: by_program(subjects, |_| Some(0.0)).len(),
        size_detection: Spread::of(&by_program(subjects, |subject| subject.size_detection)),
        rows,
    }
}

fn row(subjects: &[&Subject], criterion: usize, default: usize) -> Row {
    fn of(subject: &Subject, criterion: usize) -> Option<&Figures> {
        subject.figures[criterion].as_ref()
    }
    let spread = |figure: fn(&Figures) -> Option<f64>| {
        Spread::of(&by_program(subjects, |subject| {
            of(subject, criterion).and_then(figure)
        }))
    };
    let count = |is: fn(&Figures) -> bool| {
        subjects
            .iter()
            .filter(|subject| of(subject, criterion).is_some_and(is))
            .count()
    };
    Row {
        name: CRITERIA[criterion].name,
        correlation: spread(|it| it.coverage_detection),
        size_coverage: spread(|it| it.size_coverage),
        partial: spread(|it| it.partial),
        tested: count(|it| it.partial_p.is_some()),
        significant: count(|it| it.partial_p.is_some_and(|p| p < ALPHA)),
        opposite: count(|it| {
            it.partial_p.is_some_and(|p| p < ALPHA) && it.partial.is_some_and(|it| it < 0.0)
        }),
        against_size: test(subjects, |subject| {
            Some(of(subject, criterion)?.coverage_detection? - subject.size_detection?)
        }),
        against_default: test(subjects, |subject| {
            Some(of(subject, criterion)?.partial? - of(subject, default)?.partial?)
        }),
        explained_by_size: spread(|it| it.explained.map(|(size, _)| size)),
        explained: spread(|it| it.explained.map(|(_, both)| both)),
        greedy: spread(|it| it.greedy.map(|greedy| greedy.detection)),
        greedy_random: spread(|it| it.greedy.map(|greedy| greedy.random_detection)),
        greedy_size: spread(|it| it.greedy.map(|greedy| greedy.size)),
        greedy_coverage: spread(|it| it.greedy.map(|greedy| greedy.random_coverage)),
        greedy_more: count(|it| {
            it.greedy
                .is_some_and(|it| it.p < ALPHA && it.detection > it.random_detection)
        }),
        greedy_less: count(|it| {
            it.greedy
                .is_some_and(|it| it.p < ALPHA && it.detection < it.random_detection)
        }),
        greedy_test: test(subjects, |subject| {
            let greedy = of(subject, criterion)?.greedy?;
            Some(greedy.detection - greedy.random_detection)
        }),
        difficult: spread(|it| it.difficult.map(|(hard, _)| hard)),
        easy: spread(|it| it.difficult.map(|(_, easy)| easy)),
        difficult_test: test(subjects, |subject| {
            let (hard, easy) = of(subject, criterion)?.difficult?;
            Some(hard - easy)
        }),
    }
}

/// Adjusts the p-values of one test for the number of criteria.
fn adjust(rows: &mut [Row], of: impl Fn(&mut Row) -> Option<&mut Test>) {
    let mut tests: Vec<&mut Test> = rows.iter_mut().filter_map(of).collect();
    let p_values: Vec<f64> = tests.iter().map(|test| test.p).collect();
    for (test, p) in tests.iter_mut().zip(holm(&p_values)) {
        test.p = p;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::statistics::is_near;

    /// A subject in which each criterion has this partial correlation, and a plain one that is larger by 0.1 than that
    /// of size.
    fn subject(program: &str, partials: &[f64]) -> Subject {
        let figures = |partial: &f64| {
            Some(Figures {
                partial: Some(*partial),
                partial_p: Some(0.01),
                coverage_detection: Some(0.5),
                ..Figures::default()
            })
        };
        let mut all: Vec<Option<Figures>> = partials.iter().map(figures).collect();
        all.resize(CRITERIA.len(), None);
        Subject {
            name: program.into(),
            program: program.into(),
            executions: 10,
            failures: 5,
            size_detection: Some(0.4),
            figures: all,
            curves: Vec::new(),
            detection: Vec::new(),
        }
    }

    #[test]
    fn mutants_of_one_program_count_as_one_case() {
        let all: Vec<Subject> = (0..9).map(|_| subject("one", &[0.2])).collect();
        let other = subject("other", &[0.6]);
        let both: Vec<&Subject> = all.iter().chain([&other]).collect();
        let summary = summarise(&both);
        assert_eq!((summary.subjects, summary.programs), (10, 2));
        let row = &summary.rows[0];
        let partial = row.partial.unwrap();
        assert!(is_near(partial.mean, 0.4, 1e-12), "{partial:?}");
        assert_eq!((partial.programs, row.tested, row.significant), (2, 10, 10));
        let test = row.against_size.unwrap();
        assert_eq!((test.programs, test.p), (2, 0.5), "two cases show nothing");
        assert!(is_near(test.difference, 0.1, 1e-12));
        assert_eq!(row.against_default, None, "the default has no figure");
        assert_eq!(summary.rows[1].partial, None);
    }

    #[test]
    fn p_values_are_adjusted_for_the_number_of_criteria() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let all: Vec<Subject> = names.iter().map(|name| subject(name, &[0.2; 3])).collect();
        let all: Vec<&Subject> = all.iter().collect();
        for row in &summarise(&all).rows[..3] {
            let test = row.against_size.unwrap();
            assert!(is_near(test.p, 3.0 * 2.0 / 1024.0, 1e-12), "{test:?}");
        }
    }
}
