//! The results for one program: how its coverage and its failures go together.

use super::criteria::{CRITERIA, DRAWN};
use super::growth::{self, Draws};
use super::options::Limits;
use super::random::Random;
use super::record::{Covered, Records};
use super::statistics::{Controls, adjusted_r2, mean, pearson, sign_flips};
use super::suites::{self, Greedy, Suite};

/// Minimum requirements of a criterion that have a hardest tenth.
const FEWEST_REQUIREMENTS: usize = 10;

/// What one criterion says about one program. A figure is missing where it is not defined, because coverage or
/// failures do not vary.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Figures {
    pub(super) requirements: usize,
    /// Correlation of the coverage and the failure detection of random suites.
    pub(super) coverage_detection: Option<f64>,
    /// Correlation of their size and coverage.
    pub(super) size_coverage: Option<f64>,
    /// Correlation of coverage and failure detection with the size and its logarithm held fixed.
    pub(super) partial: Option<f64>,
    /// Two-sided p-value of that one, by permutations of which executions fail.
    pub(super) partial_p: Option<f64>,
    /// Adjusted R squared of the best linear models of detection: by size, and by size and coverage.
    pub(super) explained: Option<(f64, f64)>,
    pub(super) greedy: Option<GreedyFigures>,
    /// Mean failure rate of the executions that cover the hardest tenth of the requirements, and the others.
    pub(super) difficult: Option<(f64, f64)>,
}

/// Suites that cover everything next to random ones of the same sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct GreedyFigures {
    pub(super) detection: f64,
    pub(super) random_detection: f64,
    /// Mean coverage of the random suites.
    pub(super) random_coverage: f64,
    pub(super) size: f64,
    /// Two-sided p-value of the paired permutation test; 1 if no pair differs.
    pub(super) p: f64,
}

/// The results for one program.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) executions: usize,
    pub(super) failures: usize,
    /// Correlation of the size and the failure detection of random suites.
    pub(super) size_detection: Option<f64>,
    /// By criterion.
    pub(super) figures: Vec<Option<Figures>>,
    /// By criterion that is drawn: its growth with the number of executions, and the detection by coverage.
    pub(super) curves: Vec<Option<Curves>>,
    /// Growth of failure detection with the number of executions.
    pub(super) detection: Vec<f64>,
}

/// The curves of one criterion.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Curves {
    pub(super) coverage: Vec<f64>,
    pub(super) detection_by_coverage: Vec<Option<f64>>,
}

/// Random suites with what does not depend on the criterion.
struct Sampled {
    suites: Vec<Suite>,
    sizes: Vec<f64>,
    logarithms: Vec<f64>,
    detection: Vec<f64>,
    controls: Controls,
}

impl Sampled {
    fn new(records: &Records, limits: &Limits, random: &mut Random) -> Self {
        let suites = suites::random(
            records.executions(),
            limits.most_size,
            limits.suites,
            random,
        );
        let sizes: Vec<f64> = suites.iter().map(|suite| suite.len() as f64).collect();
        let logarithms: Vec<f64> = sizes.iter().map(|size| size.ln()).collect();
        Sampled {
            detection: detection(&suites, &records.failed),
            controls: Controls::new(sizes.len(), &[&sizes, &logarithms]),
            suites,
            sizes,
            logarithms,
        }
    }

    /// Returns the adjusted R squared of the best model with regressors of this coverage, and without.
    fn explained(&self, coverage: &[f64]) -> Option<(f64, f64)> {
        let logarithms: Vec<f64> = coverage
            .iter()
            .map(|covered| (covered + 1.0).ln())
            .collect();
        let (sizes, log_sizes): (&[f64], &[f64]) = (&self.sizes, &self.logarithms);
        let of_size: [&[&[f64]]; 4] = [&[], &[sizes], &[log_sizes], &[sizes, log_sizes]];
        let of_coverage: [&[&[f64]]; 4] =
            [&[], &[coverage], &[&logarithms], &[coverage, &logarithms]];
        let best = |coverages: &[&[&[f64]]]| {
            let models = coverages
                .iter()
                .flat_map(|coverage| of_size.iter().map(move |size| [*size, *coverage].concat()));
            let models = models.filter(|model| !model.is_empty());
            let fits = models.filter_map(|model| adjusted_r2(&self.detection, &model));
            fits.max_by(f64::total_cmp)
        };
        Some((best(&of_coverage[..1])?, best(&of_coverage)?))
    }
}

/// Returns 1 for each suite with an execution that fails, and 0 for the others.
fn detection(suites: &[Suite], failed: &[bool]) -> Vec<f64> {
    let detects = |suite: &Suite| suite.iter().any(|execution| failed[*execution]);
    suites
        .iter()
        .map(|suite| f64::from(u8::from(detects(suite))))
        .collect()
}

/// Returns the results for a program.
pub(super) fn examine(records: &Records, limits: &Limits, seed: u64) -> Subject {
    let random = &mut Random::of(seed, &records.name);
    let sampled = Sampled::new(records, limits, random);
    let figures = records.covered.iter().map(|covered| {
        let covered = covered
            .as_ref()
            .filter(|covered| covered.requirements > 0)?;
        Some(of_criterion(records, covered, &sampled, limits, random))
    });
    let mut figures: Vec<Option<Figures>> = figures.collect();
    assert_eq!(figures.len(), CRITERIA.len());
    permute(records, &sampled, &mut figures, limits, random);
    let (draws, steps) = (
        Draws::new(records.executions()),
        growth::steps(records.executions()),
    );
    let curves = DRAWN.iter().map(|name| {
        let criterion = CRITERIA.iter().position(|it| it.name == *name)?;
        let covered = records.covered[criterion].as_ref()?;
        (covered.requirements > 0).then(|| Curves {
            coverage: growth::of_coverage(covered, &draws, &steps),
            detection_by_coverage: growth::by_coverage(
                covered,
                &sampled.suites,
                &sampled.detection,
            ),
        })
    });
    Subject {
        curves: curves.collect(),
        detection: growth::of_detection(records, &draws, &steps),
        name: records.name.clone(),
        program: records.program.clone(),
        executions: records.executions(),
        failures: records.failures(),
        size_detection: pearson(&sampled.sizes, &sampled.detection),
        figures,
    }
}

fn of_criterion(
    records: &Records,
    covered: &Covered,
    sampled: &Sampled,
    limits: &Limits,
    random: &mut Random,
) -> Figures {
    let coverage = coverage(covered, &sampled.suites);
    let varies = coverage.iter().any(|count| *count != coverage[0]);
    Figures {
        requirements: covered.requirements,
        coverage_detection: pearson(&coverage, &sampled.detection),
        size_coverage: pearson(&sampled.sizes, &coverage),
        partial: sampled
            .controls
            .partial_correlation(&coverage, &sampled.detection),
        partial_p: None,
        explained: varies.then(|| sampled.explained(&coverage)).flatten(),
        greedy: Some(greedy(records, covered, limits, random)),
        difficult: difficult(records, covered),
    }
}

fn coverage(covered: &Covered, suites: &[Suite]) -> Vec<f64> {
    suites
        .iter()
        .map(|suite| f64::from(covered.count(suite)))
        .collect()
}

fn greedy(
    records: &Records,
    covered: &Covered,
    limits: &Limits,
    random: &mut Random,
) -> GreedyFigures {
    let greedy = Greedy::new(covered, records.executions());
    let chosen: Vec<Suite> = (0..limits.greedy).map(|_| greedy.suite(random)).collect();
    let equal = chosen
        .iter()
        .map(|suite| suites::of_size(records.executions(), suite.len(), random));
    let equal: Vec<Suite> = equal.collect();
    let [found, found_at_random] =
        [&chosen, &equal].map(|suites| detection(suites, &records.failed));
    let differences: Vec<f64> = found
        .iter()
        .zip(&found_at_random)
        .map(|(one, other)| one - other)
        .collect();
    let p = sign_flips(&differences, limits.permutations, random.next());
    let sizes: Vec<f64> = chosen.iter().map(|suite| suite.len() as f64).collect();
    GreedyFigures {
        detection: mean(&found),
        random_detection: mean(&found_at_random),
        random_coverage: mean(&coverage(covered, &equal)) / covered.requirements as f64,
        size: mean(&sizes),
        p: p.unwrap_or(1.0),
    }
}

/// Returns the mean failure rates of the hardest tenth of the requirements and of the others.
fn difficult(records: &Records, covered: &Covered) -> Option<(f64, f64)> {
    if covered.requirements < FEWEST_REQUIREMENTS {
        return None;
    }
    let frequencies = covered.frequencies();
    let mut order: Vec<usize> = (0..covered.requirements).collect();
    order.sort_by_key(|&number| frequencies[number]);
    let rate = |&number: &usize| {
        let failing = (0..records.executions())
            .filter(|&execution| records.failed[execution] && covered.has(execution, number));
        failing.count() as f64 / frequencies[number] as f64
    };
    let rates: Vec<f64> = order.iter().map(rate).collect();
    let (hardest, others) = rates.split_at(rates.len() / 10);
    Some((mean(hardest), mean(others)))
}

/// Adds the p-values of the partial correlations: how many permutations of the failures have one that is as large. All
/// criteria are compared with the same permutations.
fn permute(
    records: &Records,
    sampled: &Sampled,
    figures: &mut [Option<Figures>],
    limits: &Limits,
    random: &mut Random,
) {
    let controls = &sampled.controls;
    let rests: Vec<Option<Vec<f64>>> = (records.covered.iter().zip(figures.iter()))
        .map(|(covered, figures)| {
            figures.as_ref()?.partial?;
            controls.unexplained(&coverage(covered.as_ref()?, &sampled.suites))
        })
        .collect();
    let mut extreme = vec![0_u32; figures.len()];
    let mut failed = records.failed.clone();
    for _ in 0..limits.permutations {
        let executions = failed.len();
        random.shuffle_first(&mut failed, executions);
        let found = controls.unexplained(&detection(&sampled.suites, &failed));
        for ((extreme, rest), figures) in extreme.iter_mut().zip(&rests).zip(figures.iter()) {
            let observed = figures.as_ref().and_then(|figures| figures.partial);
            if let (Some(rest), Some(observed)) = (rest, observed) {
                let drawn = found.as_ref().and_then(|found| pearson(rest, found));
                *extreme += u32::from(drawn.unwrap_or(0.0).abs() >= observed.abs());
            }
        }
    }
    for ((figures, rest), extreme) in figures.iter_mut().zip(&rests).zip(extreme) {
        if let (Some(figures), true) = (figures, rest.is_some()) {
            let p = (f64::from(extreme) + 1.0) / (f64::from(limits.permutations) + 1.0);
            figures.partial_p = Some(p);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::statistics::median;

    const LIMITS: Limits = Limits {
        executions: 400,
        suites: 400,
        most_size: 20,
        greedy: 60,
        permutations: 199,
    };

    /// Executions that each cover two of forty requirements, and 0 and 1 rarely; `fails` decides from what an execution
    /// covers and a random number.
    fn synthetic(fails: impl Fn(&[usize], &mut Random) -> bool, seed: u64) -> Records {
        let random = &mut Random::new(seed);
        let mut rows = Vec::new();
        let mut failed = Vec::new();
        for _ in 0..LIMITS.executions {
            let mut row = vec![2 + random.below(38), 2 + random.below(38)];
            if random.percent(5) {
                row.push(random.below(2));
            }
            failed.push(fails(&row, random));
            rows.push(row);
        }
        let covered = Covered::new(&rows);
        Records {
            name: format!("synthetic {seed}"),
            program: "synthetic".to_owned(),
            failed,
            covered: CRITERIA.iter().map(|_| Some(covered.clone())).collect(),
        }
    }

    fn first(subject: &Subject) -> &Figures {
        subject.figures[0].as_ref().unwrap()
    }

    /// Failures that have nothing to do with coverage. Both grow with the size of a suite, so that their plain
    /// correlation is high: the toolkit must not take it for more.
    #[test]
    fn failures_at_random_have_no_correlation_with_coverage() {
        let mut p_values = Vec::new();
        let mut partials = Vec::new();
        for seed in 0..20 {
            let records = synthetic(|_, random| random.percent(8), seed);
            let subject = examine(&records, &LIMITS, seed);
            let figures = first(&subject);
            assert!(
                figures.coverage_detection.unwrap() > 0.3,
                "by size: {figures:?}"
            );
            p_values.push(figures.partial_p.unwrap());
            partials.push(figures.partial.unwrap());
            let (by_size, by_both) = figures.explained.unwrap();
            assert!(by_both - by_size < 0.05, "{figures:?}");
        }
        let significant = p_values.iter().filter(|p| **p < 0.05).count();
        assert!(significant <= 3, "one in twenty by chance: {p_values:?}");
        assert!(median(&p_values).unwrap() > 0.2, "{p_values:?}");
        assert!(
            partials.iter().all(|partial| partial.abs() < 0.3),
            "{partials:?}"
        );
    }

    /// An execution fails if it covers a rare requirement.
    #[test]
    fn failures_of_what_is_covered_rarely_have_a_strong_correlation() {
        // Of a criterion of the rare requirements only.
        let mut records = synthetic(|row, _| row.len() > 2, 1);
        let rare: Vec<Vec<usize>> = (records.failed.iter())
            .map(|failed| if *failed { vec![0, 1] } else { vec![1] })
            .collect();
        records.covered[1] = Some(Covered::new(&rare));
        let subject = examine(&records, &LIMITS, 1);
        let all = first(&subject);
        assert!(
            all.partial.unwrap() > 0.1 && all.partial_p.unwrap() <= 0.05,
            "{all:?}"
        );
        let (hard, easy) = all.difficult.unwrap();
        assert!(hard > 2.0 * easy, "{all:?}");
        let greedy = all.greedy.unwrap();
        assert_eq!(
            greedy.detection, 1.0,
            "a suite that covers all has a failure"
        );
        assert!(greedy.random_coverage < 1.0);
        let rare = subject.figures[1].as_ref().unwrap();
        assert!(rare.partial.unwrap() > 0.99, "{rare:?}");
        assert_eq!(rare.partial_p, Some(1.0 / 200.0), "the smallest there is");
        assert!(rare.explained.unwrap().1 > 0.99, "{rare:?}");
        let greedy = rare.greedy.unwrap();
        assert!(
            greedy.detection - greedy.random_detection > 0.5 && greedy.p < 0.01,
            "{greedy:?}"
        );
    }

    #[test]
    fn a_study_is_the_same_for_the_same_seed() {
        let records = synthetic(|_, random| random.percent(8), 3);
        assert_eq!(examine(&records, &LIMITS, 1), examine(&records, &LIMITS, 1));
        assert_ne!(examine(&records, &LIMITS, 1), examine(&records, &LIMITS, 2));
    }

    #[test]
    fn what_does_not_vary_has_no_figures() {
        let mut records = synthetic(|_, _| false, 3);
        records.covered[0] = Some(Covered::new(&vec![vec![0]; LIMITS.executions]));
        records.covered[1] = None;
        let subject = examine(&records, &LIMITS, 1);
        let figures = first(&subject);
        assert_eq!(
            (figures.coverage_detection, figures.partial_p),
            (None, None)
        );
        assert_eq!((figures.explained, figures.difficult), (None, None));
        assert_eq!(subject.figures[1], None);
        assert_eq!(subject.size_detection, None);
    }
}
