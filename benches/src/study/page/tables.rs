//! The tables of the page.

use std::fmt::Write;

use super::{Summaries, counted, smallness};
use crate::study::Study;
use crate::study::criteria::{CRITERIA, DEFAULT};
use crate::study::published::{self, SIZE_DETECTION};
use crate::study::statistics::mean;
use crate::study::summary::{ALPHA, Row, Spread, Test};
use crate::study::targets::CAP;

/// Returns a p-value with three places.
pub(in crate::study) fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0005 => "<0.001".to_owned(),
        p => format!("{p:.3}"),
    }
}

fn value(spread: Option<Spread>) -> String {
    spread.map_or("-".to_owned(), |spread| format!("{:.2}", spread.mean))
}

fn range(spread: Option<Spread>) -> String {
    let text = |it: Spread| {
        format!(
            "{:.2} ({:.2} to {:.2}; {})",
            it.mean, it.low, it.high, it.programs
        )
    };
    spread.map_or("-".to_owned(), text)
}

fn tested(test: Option<Test>) -> String {
    test.map_or("-".to_owned(), |test| {
        format!("{:+.2}, p {}", test.difference, p_value(test.p))
    })
}

fn significant(row: &Row) -> String {
    let higher = row.significant - row.opposite;
    format!("{higher} / {} of {}", row.opposite, row.tested)
}

fn table(columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!(
        "| {} |\n| --- |{}\n",
        columns.join(" | "),
        " ---: |".repeat(columns.len() - 1)
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text + "\n"
}

/// Returns the name of a criterion, marked if it is the default target.
fn named(name: &str) -> String {
    match name == DEFAULT {
        true => format!("**`{name}`**"),
        false => format!("`{name}`"),
    }
}

pub(super) fn correlations(study: &Study, summaries: &Summaries) -> String {
    let Summaries { stories, mutants } = summaries;
    let rows = stories
        .rows
        .iter()
        .zip(&mutants.rows)
        .map(|(story, mutant)| {
            let theirs = published::named(story.name).and_then(|it| Spread::of(it.correlations));
            vec![
                named(story.name),
                range(story.correlation),
                range(story.partial),
                significant(story),
                tested(story.against_size),
                tested(story.against_default),
                range(mutant.partial),
                significant(mutant),
                range(theirs),
            ]
        });
    let size = Spread::of(&SIZE_DETECTION);
    let sizes = vec![
        "size of the suite".to_owned(),
        range(stories.size_detection),
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        range(size),
    ];
    let permutations = counted(study.options.limits.permutations as usize, "permutation");
    format!(
        "## Coverage and failure detection\n\n\
         Correlation of the coverage and the failure detection of random suites (Pearson's, which is point-biserial here). \
         Larger suites have more of both, so the correlation *with size fixed* counts: that of what size and its logarithm \
         do not explain. *Significant* are the programs or mutants in which fewer than one in twenty of {permutations} of \
         the failing executions have one as large, with *more / less* detection by suites that cover more; both together are \
         one in twenty by chance alone. The tests compare programs: \
         Wilcoxon's signed-rank test, two-sided and exact, of the plain correlation minus that of size, and of the one with \
         size fixed minus that of {DEFAULT}, the default target of guided search. Their p-values are adjusted for the {count} \
         criteria by Holm's method. Means over programs (range; number of programs in which both vary); the last column has \
         the plain correlations of Hong's Tables 3.4 and 3.7.{small}\n\n{table}",
        count = CRITERIA.len(),
        small = smallness(stories.programs),
        table = table(
            &[
                "criterion",
                "stories: r",
                "with size fixed",
                "significant",
                "r minus size's",
                "fixed, minus default's",
                "mutants: with size fixed",
                "significant",
                "Hong: r"
            ],
            rows.chain([sizes])
        )
    )
}

pub(super) fn explained(summaries: &Summaries) -> String {
    let rows = summaries
        .stories
        .rows
        .iter()
        .zip(&summaries.mutants.rows)
        .map(|(story, mutant)| {
            vec![
                named(story.name),
                value(story.explained_by_size),
                value(story.explained),
                value(mutant.explained_by_size),
                value(mutant.explained),
            ]
        });
    format!(
        "## What size and coverage explain\n\n\
         Adjusted R squared of the best linear model of failure detection by size and its logarithm, and of the best that \
         may have coverage and its logarithm too; means over programs in which coverage varies. Hong calls a metric ideal \
         from 0.8 on; in his Table 3.5, coverage raises the share of size by anything from nothing to a factor of forty.\n\n{}",
        table(
            &[
                "criterion",
                "stories: size",
                "and coverage",
                "mutants: size",
                "and coverage"
            ],
            rows
        )
    )
}

pub(super) fn greedy(study: &Study, summaries: &Summaries) -> String {
    let rows = summaries
        .stories
        .rows
        .iter()
        .zip(&summaries.mutants.rows)
        .map(|(story, mutant)| {
            let theirs = published::named(story.name).map(|it| {
                let of = |side: fn(&(f64, f64)) -> f64| {
                    mean(&it.greedy.iter().map(side).collect::<Vec<_>>())
                };
                format!("{:.2} / {:.2}", of(|it| it.0), of(|it| it.1))
            });
            let both = |row: &Row| format!("{} / {}", value(row.greedy), value(row.greedy_random));
            vec![
                named(story.name),
                both(story),
                value(story.greedy_coverage),
                value(story.greedy_size),
                format!("{} / {}", story.greedy_more, story.greedy_less),
                tested(story.greedy_test),
                both(mutant),
                tested(mutant.greedy_test),
                theirs.unwrap_or("-".to_owned()),
            ]
        });
    format!(
        "## Suites with all coverage\n\n\
         {greedy} of each program cover all that its executions cover: four times of five the next execution is one that \
         covers most of the rest, else any. Each is compared with a random suite of the same size. Detection of both; the \
         coverage of the random ones; mean size; stories in which the suites with all coverage detect *more / less* by a \
         paired permutation test ({permutations}, two-sided, p below {ALPHA}, not adjusted); and the signed-rank test of the \
         difference across programs, adjusted for the criteria. Hong's are the means of his Tables 3.6 and 3.8.\n\n{table}",
        greedy = counted(study.options.limits.greedy, "suite"),
        permutations = counted(study.options.limits.permutations as usize, "permutation"),
        table = table(
            &[
                "criterion",
                "stories: all / random",
                "coverage of random",
                "size",
                "more / less",
                "difference",
                "mutants: all / random",
                "difference",
                "Hong: all / random"
            ],
            rows
        )
    )
}

pub(super) fn difficult(summaries: &Summaries) -> String {
    let rows = summaries
        .stories
        .rows
        .iter()
        .zip(&summaries.mutants.rows)
        .map(|(story, mutant)| {
            let both = |row: &Row| {
                let programs = row.difficult.map_or(0, |spread| spread.programs);
                format!(
                    "{} / {} ({programs})",
                    value(row.difficult),
                    value(row.easy)
                )
            };
            vec![
                named(story.name),
                both(story),
                tested(story.difficult_test),
                both(mutant),
                tested(mutant.difficult_test),
            ]
        });
    format!(
        "## Difficult requirements\n\n\
         The share of failing executions among those that cover a requirement: the mean of the tenth that fewest executions \
         cover, and of the others, in programs (their number) with ten requirements or more. The signed-rank test compares \
         programs, adjusted for the criteria. Hong found difficult requirements clearly better in one program with mutants, \
         and mostly no significant difference in the others (Table 3.10).\n\n{}",
        table(
            &[
                "criterion",
                "stories: difficult / others",
                "difference",
                "mutants: difficult / others",
                "difference"
            ],
            rows
        )
    )
}

pub(super) fn targets(study: &Study) -> String {
    if study.targets.is_empty() {
        return String::new();
    }
    let rows = study.targets.iter().map(|target| {
        vec![
            named(target.name),
            format!("{:.1}", target.mean),
            format!("{} / {}", target.better, target.worse),
            format!("{} / {}", target.clearly_better, target.clearly_worse),
            format!("{:.2}", target.a12),
            target.p.map_or("-".to_owned(), p_value),
        ]
    });
    format!(
        "## As targets of guided search\n\n\
         A metric that predicts well need not be a good goal. `coverage(METRIC)` searched all {stories} until the first \
         failure, or for {cap}, from {seeds} each. The geometric mean of the medians; the stories in which its median is \
         smaller / larger than with the default; those in which a rank-sum test of the seeds says so (two-sided, exact, p \
         below {ALPHA} after Holm's adjustment for the stories); the mean of the effect size A12, the probability that it \
         needs more executions than the default; and the signed-rank test of the logarithms of the medians across stories, \
         adjusted for the targets.\n\n{table}",
        stories = match study.found.len() {
            1 => "1 story".to_owned(),
            number => format!("{number} stories"),
        },
        cap = counted(CAP as usize, "execution"),
        seeds = counted(study.options.seeds as usize, "seed"),
        table = table(
            &[
                "target",
                "executions",
                "better / worse",
                "clearly",
                "A12",
                "p"
            ],
            rows
        )
    )
}
