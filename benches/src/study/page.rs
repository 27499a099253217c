//! The study as text: lines of figures, and a page of the book.

mod conclusion;
mod tables;

use std::fmt::Write;

use super::chart::{Chart, Line};
use super::criteria::DRAWN;
use super::growth::{self, BIN};
use super::statistics::mean;
use super::subject::Subject;
use super::summary::{Summary, summarise};
use super::{FEWEST, Group, Study};

/// Minimum subjects of an interval of coverage in a chart; the mean of fewer says little.
const FEWEST_OF_BIN: usize = 15;

/// The summaries of both groups.
pub(super) struct Summaries {
    pub(super) stories: Summary,
    pub(super) mutants: Summary,
}

impl Summaries {
    fn of(study: &Study) -> Self {
        let of = |group: &Group| summarise(&group.subjects.iter().collect::<Vec<_>>());
        Summaries {
            stories: of(&study.stories),
            mutants: of(&study.mutants),
        }
    }
}

/// Returns a line for each program, criterion and target.
pub(super) fn lines(study: &Study) -> String {
    let mut text = String::new();
    for (origin, group) in [("story", &study.stories), ("mutant", &study.mutants)] {
        for subject in &group.subjects {
            let _ = writeln!(
                text,
                "study {origin} {} executions={} failures={}",
                subject.name, subject.executions, subject.failures
            );
        }
    }
    let summaries = Summaries::of(study);
    for (origin, summary) in [
        ("stories", &summaries.stories),
        ("mutants", &summaries.mutants),
    ] {
        for row in &summary.rows {
            let mean = |spread: &Option<super::summary::Spread>| {
                spread.map_or("-".to_owned(), |spread| format!("{:.2}", spread.mean))
            };
            let _ = writeln!(
                text,
                "study {origin} {} programs={} r={} partial={} significant={}/{} greedy={} random={}",
                row.name,
                row.correlation.map_or(0, |spread| spread.programs),
                mean(&row.correlation),
                mean(&row.partial),
                row.significant,
                row.tested,
                mean(&row.greedy),
                mean(&row.greedy_random),
            );
        }
    }
    for target in &study.targets {
        let _ = writeln!(
            text,
            "study target {} mean={:.1} better={} worse={} a12={:.2} p={}",
            target.name,
            target.mean,
            target.better,
            target.worse,
            target.a12,
            target.p.map_or("-".to_owned(), tables::p_value),
        );
    }
    text
}

/// Returns the page.
pub(super) fn markdown(study: &Study) -> String {
    let summaries = Summaries::of(study);
    let mut page = introduction(study, &summaries);
    page += &conclusion::conclusion(study, &summaries);
    page += &tables::correlations(study, &summaries);
    page += &charts(study);
    page += &tables::explained(&summaries);
    page += &tables::greedy(study, &summaries);
    page += &tables::difficult(&summaries);
    page += &tables::targets(study);
    page + LIMITS
}

/// Returns a number with its noun.
pub(super) fn counted(number: usize, noun: &str) -> String {
    let text = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let plural = match (number, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{grouped} {plural}")
}

/// Returns how small a sample is, if it is.
pub(super) fn smallness(programs: usize) -> String {
    match programs {
        0..6 => format!(
            " {} are too small a sample for any test here: even if all agree, the two-sided signed-rank test of five cases \
             has a p-value above 0.05.",
            counted(programs, "program")
        ),
        6..30 => format!(
            " {} are a small sample: only large differences can become significant.",
            counted(programs, "program")
        ),
        _ => String::new(),
    }
}

fn introduction(study: &Study, summaries: &Summaries) -> String {
    let limits = &study.options.limits;
    format!(
        "# Coverage and finding bugs\n\n\
         Is a set of executions that covers more also one that finds more bugs? And by which metric? This page is made by\n\n\
         ```console\ncargo run --release -p raddle-bench -- study --markdown {options} > docs/src/study.md\n```\n\n\
         and the same options give the same page. The method is that of Hong (*Effective and Efficient Test \
         Generation for Multithreaded Programs Using Concurrency Coverage Metrics*, KAIST, 2015), whose figures stand beside \
         ours. They are of nine Java programs under random noise, ours of {stories} from [the stories](stories.md) and of \
         {mutants} of their correct twins, under random walks: only the direction can be compared, not the size. What the \
         metrics mean is told in [Coverage](coverage.md#metrics).\n\n\
         ## What was run\n\n\
         - Each program was run {executions} by `random`. It is part of the study if at least {FEWEST} of these fail and at \
         least {FEWEST} pass. Of {tried}, {kept} do; of the others, {rare} fail{rest}.\n\
         - Of each correct twin up to {most_mutants} that change an operation while the program runs (an ordering, a fence, a \
         notification), drawn from all that its operations have. Of {tried_mutants}, {kept_mutants} of {mutant_programs} are \
         part of the study; of the others, {rare_mutants} fail less often or never, as many are equivalent to the program, \
         and {most_failing} nearly always.\n\
         - {suites} of each, of 1 to {most_size} different executions of the {per_program}, each size as likely as another; the \
         coverage of a suite is what its executions cover together, and it detects the failure if one of them fails.\n\
         - Mutants of one program have their code in common. So a program, with the mean of its mutants, is one case of each \
         test across programs.\n\n",
        options = study.options,
        stories = match summaries.stories.subjects {
            1 => "1 story".to_owned(),
            number => format!("{number} stories"),
        },
        mutants = counted(summaries.mutants.subjects, "mutant"),
        executions = counted(limits.executions, "time"),
        tried = match study.stories.tried() {
            1 => "1 story".to_owned(),
            number => format!("{number} stories"),
        },
        kept = summaries.stories.subjects,
        rare = study.stories.rarely_failing,
        rest = format_args!(
            " less often and {} nearly always",
            study.stories.mostly_failing
        ),
        most_mutants = counted(study.options.mutants, "mutant"),
        tried_mutants = counted(study.mutants.tried(), "mutant"),
        kept_mutants = summaries.mutants.subjects,
        mutant_programs = counted(summaries.mutants.programs, "program"),
        rare_mutants = study.mutants.rarely_failing,
        most_failing = study.mutants.mostly_failing,
        suites = counted(limits.suites, "random suite"),
        most_size = limits.most_size,
        per_program = limits.executions,
    )
}

/// Returns the charts of growth and of detection by coverage.
fn charts(study: &Study) -> String {
    let subjects: Vec<&Subject> = study
        .stories
        .subjects
        .iter()
        .chain(&study.mutants.subjects)
        .collect();
    if subjects.is_empty() {
        return String::new();
    }
    let executions = study.options.limits.executions;
    let steps = growth::steps(executions);
    let over = |curve: &dyn Fn(&Subject, usize) -> Option<f64>, at: usize| {
        let values: Vec<f64> = subjects.iter().filter_map(|it| curve(it, at)).collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    let growth = |curve: &dyn Fn(&Subject, usize) -> Option<f64>| {
        let points = steps.iter().enumerate();
        let points = points.filter_map(|(index, &step)| Some((step as f64, over(curve, index)?)));
        points.collect::<Vec<_>>()
    };
    let mut lines = vec![Line {
        name: "failure detected".into(),
        points: growth(&|subject, at| subject.detection.get(at).copied()),
        is_dashed: true,
        colour: DRAWN.len(),
    }];
    let mut bins = Vec::new();
    for (index, name) in DRAWN.iter().enumerate() {
        let curves = |subject: &Subject| subject.curves[index].clone();
        lines.push(Line {
            name: (*name).into(),
            points: growth(&|subject, at| curves(subject)?.coverage.get(at).copied()),
            is_dashed: false,
            colour: index,
        });
        let points = (0..growth::BINS).filter_map(|bin| {
            let of = |subject: &&Subject| curves(subject)?.detection_by_coverage[bin];
            let values: Vec<f64> = subjects.iter().filter_map(of).collect();
            (values.len() >= FEWEST_OF_BIN).then(|| ((bin * BIN) as f64, mean(&values)))
        });
        bins.push(Line {
            name: (*name).into(),
            points: points.collect(),
            is_dashed: false,
            colour: index,
        });
    }
    let mut marks = vec![1.0];
    while let Some(&last) = marks
        .last()
        .filter(|last| **last * 10.0 < executions as f64)
    {
        marks.push(last * 10.0);
    }
    marks.push(executions as f64);
    let growth = Chart {
        title: "Growth of coverage and of failure detection".into(),
        across: "executions".into(),
        up: "covered part of what all executions cover".into(),
        marks,
        is_logarithmic: true,
        lines,
    };
    let by_coverage = Chart {
        title: "Failure detection of suites by their coverage".into(),
        across: "coverage of a suite, percent".into(),
        up: "suites that detect the failure".into(),
        marks: vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
        is_logarithmic: false,
        lines: bins,
    };
    format!(
        "## Growth\n\n\
         The expected coverage and failure detection after so many executions, over all orders of the recorded ones and as \
         the mean of all programs and mutants. A metric whose curve is flat where detection still grows says nothing there.\n\n\
         <figure>\n{}</figure>\n\n\
         The same suites by their coverage, in intervals of {BIN} percent; an interval is drawn if at least {FEWEST_OF_BIN} \
         programs or mutants have suites in it. Size is not held fixed here.\n\n\
         <figure>\n{}</figure>\n\n",
        growth.svg(),
        by_coverage.svg()
    )
}

const LIMITS: &str = "## What this does not show\n\n\
    - The stories are small, each has one mistake that was put there, and several come in sizes of one program. Larger \
    programs have more requirements, and coverage that does not saturate after some hundred executions.\n\
    - Data in locks is not measured; only atomics are variables of the data metrics.\n\
    - The maximum of a metric is what the recorded executions cover, not what can be covered.\n\
    - Suites of one program are drawn from the same executions. So p-values are of permutations of the failures of \
    executions, or of tests across programs; none takes suites for independent cases.\n\
    - Mutants change orderings, fences and notifications only.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_nouns_and_groups() {
        assert_eq!(counted(1, "mutant"), "1 mutant");
        assert_eq!(counted(1_234_567, "story"), "1,234,567 stories");
        assert_eq!(counted(100, "time"), "100 times");
    }

    #[test]
    fn samples_that_are_too_small_are_called_so() {
        assert!(smallness(3).contains("too small"));
        // Five cases that agree: 2 / 2^5.
        let five = super::super::statistics::signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!(five.p > 0.05);
        let six = super::super::statistics::signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert!(six.p < 0.05 && !smallness(6).contains("too small"));
        assert_eq!(smallness(40), "");
    }
}
