//! What follows from the figures: which criteria predict, and whether the default target should be another.

use std::fmt::Write;

use super::tables::p_value;
use super::{Summaries, counted, smallness};
use crate::study::Study;
use crate::study::criteria::{CRITERIA, DEFAULT};
use crate::study::summary::{ALPHA, Row, Spread, Summary};
use crate::study::targets::Comparison;

/// Correlations from which on they are called moderate, and strong.
const MODERATE: f64 = 0.4;
const STRONG: f64 = 0.7;

/// Returns the word for a correlation with size fixed.
fn strength(correlation: f64) -> &'static str {
    match correlation.abs() {
        size if size >= STRONG => "strong",
        size if size >= MODERATE => "moderate",
        _ => "weak",
    }
}

/// Returns what permutations of the failures show about a criterion: none if no more programs are significant than by
/// chance.
pub(super) fn reading(row: &Row) -> String {
    let (Some(partial), true) = (row.partial, row.tested > 0) else {
        return format!("`{}`: nothing to see, as it varies in no program", row.name);
    };
    match row.significant as f64 <= by_chance(row.tested) {
        true => format!(
            "`{}`: no correlation shown ({} of {} significant, which chance may bring)",
            row.name, row.significant, row.tested
        ),
        false => format!(
            "`{}`: {} on average, {:.2} in {} ({} of {} significant, {} of them negative)",
            row.name,
            strength(partial.mean),
            partial.mean,
            counted(partial.programs, "program"),
            row.significant,
            row.tested,
            row.opposite
        ),
    }
}

/// Returns the number of significant results that this number of tests has by chance, in all but one case of twenty.
fn by_chance(tests: usize) -> f64 {
    // The sum of the probabilities of 0, 1, … significant results of independent tests.
    let mut probability = (1.0 - ALPHA).powi(tests as i32);
    let mut below = probability;
    let mut count = 0;
    while below < 1.0 - ALPHA && count < tests {
        probability *= (tests - count) as f64 / (count + 1) as f64 * ALPHA / (1.0 - ALPHA);
        count += 1;
        below += probability;
    }
    count as f64
}

/// Returns the criteria that can be ranked: those that vary in at least half as many programs as the default does. Best
/// first.
fn ranked(summary: &Summary) -> Vec<(&Row, Spread)> {
    let default = summary.rows.iter().find(|row| row.name == DEFAULT);
    let programs = default
        .and_then(|row| row.partial)
        .map_or(0, |partial| partial.programs);
    let known = summary
        .rows
        .iter()
        .filter_map(|row| Some((row, row.partial?)));
    let mut known: Vec<_> = known
        .filter(|(_, it)| 2 * it.programs >= programs)
        .collect();
    known.sort_by(|(_, one), (_, other)| other.mean.total_cmp(&one.mean));
    known
}

/// Returns the targets that the study argues for: significantly fewer executions than the default, and no significantly
/// lower correlation.
pub(super) fn better_targets<'a>(
    targets: &'a [Comparison],
    stories: &Summary,
) -> Vec<&'a Comparison> {
    let default = targets.iter().find(|target| target.name == DEFAULT);
    let Some(default) = default else {
        return Vec::new();
    };
    let is_better = |target: &&Comparison| {
        let row = stories.rows.iter().find(|row| row.name == target.name);
        let predicts_less = row
            .and_then(|row| row.against_default)
            .is_some_and(|test| test.is_significant() && test.difference < 0.0);
        target.mean < default.mean && target.p.is_some_and(|p| p < ALPHA) && !predicts_less
    };
    targets.iter().filter(is_better).collect()
}

pub(super) fn conclusion(study: &Study, summaries: &Summaries) -> String {
    let mut text = "## What follows\n\n".to_owned();
    for (origin, summary) in [
        ("stories", &summaries.stories),
        ("mutants", &summaries.mutants),
    ] {
        let ranked = ranked(summary);
        if ranked.is_empty() {
            let _ = writeln!(
                text,
                "- In the {origin}, nothing can be said: too few programs fail now and then."
            );
            continue;
        }
        let best: Vec<_> = ranked.iter().take(3).map(|(row, _)| reading(row)).collect();
        let _ = writeln!(
            text,
            "- In the {origin} ({}, of {}), the highest mean correlations with detection, with size fixed, are of {}. The \
             default is {}. Each mean is over the programs in which the metric varies, which are not the same ones; only the \
             next line compares metrics.{}",
            summary.subjects,
            counted(summary.programs, "program"),
            best.join("; "),
            (summary.rows.iter())
                .find(|row| row.name == DEFAULT)
                .map_or_else(String::new, reading),
            smallness(summary.programs)
        );
        let differs = |is_higher: bool| {
            let rows = summary.rows.iter().filter(|row| {
                let test = row.against_default;
                test.is_some_and(|test| {
                    test.is_significant() && (test.difference > 0.0) == is_higher
                })
            });
            let names: Vec<_> = rows.map(|row| format!("`{}`", row.name)).collect();
            match names.is_empty() {
                true => "none".to_owned(),
                false => names.join(", "),
            }
        };
        let _ = writeln!(
            text,
            "- In the {origin}, significantly higher than `{DEFAULT}` (signed-rank test across programs, adjusted for {} \
             criteria): {}. Significantly lower: {}.",
            CRITERIA.len(),
            differs(true),
            differs(false)
        );
        let more = summary.rows.iter().filter(|row| {
            let test = row.greedy_test;
            test.is_some_and(|test| test.is_significant() && test.difference > 0.0)
        });
        let more: Vec<_> = more.map(|row| format!("`{}`", row.name)).collect();
        let _ = writeln!(
            text,
            "- In the {origin}, suites with all coverage detect significantly more than random ones of their size for {}.",
            match more.is_empty() {
                true => "no criterion".to_owned(),
                false => more.join(", "),
            }
        );
    }
    text += &combined(&summaries.stories);
    text += &decision(study, summaries);
    text + "\n"
}

/// Compares combined criteria with their parts.
fn combined(stories: &Summary) -> String {
    let of = |name: &str| stories.rows.iter().find(|row| row.name == name)?.partial;
    let mut counts = (0, 0);
    for criterion in CRITERIA.iter().filter(|criterion| criterion.is_combined()) {
        let best = criterion
            .name
            .split('+')
            .filter_map(of)
            .map(|part| part.mean);
        if let (Some(whole), Some(best)) = (of(criterion.name), best.max_by(f64::total_cmp)) {
            counts.1 += 1;
            counts.0 += usize::from(whole.mean >= best);
        }
    }
    match counts {
        (_, 0) => String::new(),
        (higher, all) => format!(
            "- Of the {all} combined metrics, {higher} have a mean correlation at least as high as the better of their parts \
             (programs in which the parts vary differ, so this is no test).\n"
        ),
    }
}

fn decision(study: &Study, summaries: &Summaries) -> String {
    let rule = format!(
        "Another target than `{DEFAULT}` would become the default of guided search if it needed significantly fewer \
         executions on the stories and did not predict significantly less."
    );
    if study.targets.is_empty() {
        return format!("- {rule} Targets were not compared in this run.\n");
    }
    let better = better_targets(&study.targets, &summaries.stories);
    let verdict = match better.as_slice() {
        [] => "No target does: the run gives no reason for another default.".to_owned(),
        some => {
            let names = some.iter().map(|target| {
                let p = p_value(target.p.unwrap_or(1.0));
                format!("`{}` ({:.1} executions, p {p})", target.name, target.mean)
            });
            let names: Vec<_> = names.collect();
            format!("The run argues for {}.", names.join(" or "))
        }
    };
    format!(
        "- {rule} {verdict} Whatever the target, all metrics but `adjacent` are measured by default.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::options::{self, Limits};
    use crate::study::random::Random;
    use crate::study::record::{Covered, Records};
    use crate::study::subject;
    use crate::study::summary::summarise;

    const LIMITS: Limits = Limits {
        executions: 200,
        suites: 200,
        most_size: 20,
        greedy: 10,
        permutations: 99,
    };

    /// Programs of which an execution covers one of thirty requirements, and fails if `fails` says so.
    fn study(fails: impl Fn(usize, &mut Random) -> bool) -> Summary {
        let subjects: Vec<_> = (0..20)
            .map(|seed| {
                let random = &mut Random::new(seed + 100);
                let rows: Vec<Vec<usize>> = (0..LIMITS.executions)
                    .map(|_| {
                        vec![if random.percent(8) {
                            0
                        } else {
                            1 + random.below(2)
                        }]
                    })
                    .collect();
                let failed = rows.iter().map(|row| fails(row[0], random)).collect();
                let records = Records {
                    name: format!("synthetic {seed}"),
                    program: format!("synthetic {seed}"),
                    failed,
                    covered: CRITERIA.iter().map(|_| Some(Covered::new(&rows))).collect(),
                };
                subject::examine(&records, &LIMITS, seed)
            })
            .collect();
        summarise(&subjects.iter().collect::<Vec<_>>())
    }

    #[test]
    fn failures_at_random_read_as_no_correlation() {
        let summary = study(|_, random| random.percent(8));
        let row = &summary.rows[0];
        assert!(row.correlation.unwrap().mean > 0.2, "{row:?}");
        assert!(
            reading(row).contains("no correlation shown"),
            "{}",
            reading(row)
        );
    }

    #[test]
    fn failures_with_a_rare_requirement_read_as_a_strong_correlation() {
        let summary = study(|requirement, _| requirement == 0);
        let row = &summary.rows[0];
        assert!(
            reading(row).contains("strong on average"),
            "{}",
            reading(row)
        );
        assert_eq!((row.significant, row.tested), (20, 20));
        let test = row.against_size.unwrap();
        assert!(test.is_significant() && test.difference > 0.2, "{test:?}");
    }

    /// Tables of the binomial distribution: of 20 tests at 0.05, at most 3 are significant with probability 0.984, at
    /// most 2 with 0.925.
    #[test]
    fn chance_brings_some_significant_results() {
        assert_eq!((by_chance(20), by_chance(1), by_chance(0)), (3.0, 0.0, 0.0));
    }

    #[test]
    fn a_target_that_is_worse_or_not_significant_is_no_reason() {
        let summary = study(|requirement, _| requirement == 0);
        let target = |name, mean, p| Comparison {
            name,
            mean,
            better: 0,
            worse: 0,
            clearly_better: 0,
            clearly_worse: 0,
            a12: 0.5,
            p,
        };
        let default = target(DEFAULT, 10.0, None);
        let names = |others: Vec<Comparison>| {
            let all: Vec<_> = std::iter::once(default.clone()).chain(others).collect();
            let better = better_targets(&all, &summary);
            better.iter().map(|target| target.name).collect::<Vec<_>>()
        };
        assert_eq!(names(vec![target("pset", 8.0, Some(0.2))]), [""; 0]);
        assert_eq!(names(vec![target("pset", 12.0, Some(0.001))]), [""; 0]);
        assert_eq!(names(vec![target("pset", 8.0, Some(0.001))]), ["pset"]);
        assert!(options::options(&["--quick"]).is_ok());
    }
}
