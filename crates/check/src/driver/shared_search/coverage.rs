//! Coverage as facts of a search.
//!
//! The queue keeps a fact as soon as a part has it, in the step that adds the counts of the part. So the requirements
//! are those of all parts that count, and of no other. Each part hands back everything that its own executions
//! show: what an earlier part of the same process has shown may be lost by the server.
//!
//! Pairs of requirements that one execution covers together are not counted, because their number is quadratic.

use std::collections::BTreeMap;

use raddle_engine::coverage::{Coverage, Metric, Metrics, Requirement, Standing};

use crate::runtime::Places;
use crate::settings::checker::Checker;

/// First word of facts about requirements.
const COVERAGE: &str = "coverage";
/// Separates two places.
const ARROW: &str = " -> ";
const STANDINGS: [(Standing, &str); 4] = [
    (Standing::Covered, "covered"),
    (Standing::NotTried, "not-tried"),
    (Standing::NeverConcurrent, "never-concurrent"),
    (Standing::OrderedByLock, "ordered-by-lock"),
];

/// Returns the facts of a coverage. Requirements without a place in the source are left out, as in reports.
pub(super) fn facts(coverage: &Coverage, places: &Places) -> Vec<String> {
    let fact = |(requirement, standing): (Requirement, Standing)| {
        let (_, word) = STANDINGS.iter().find(|(it, _)| *it == standing)?;
        let mut fact = format!("{COVERAGE} {word} {} ", requirement.metric);
        fact += &places.to_text(requirement.first)?;
        if let Some(second) = requirement.second {
            fact += ARROW;
            fact += &places.to_text(second)?;
        }
        Some(fact)
    };
    coverage.requirements().filter_map(fact).collect()
}

/// Returns the facts about the requirements that are covered.
pub(super) fn covered(coverage: &Coverage, places: &Places) -> Vec<String> {
    let mut facts = facts(coverage, places);
    let covered = format!("{COVERAGE} {} ", STANDINGS[0].1);
    facts.retain(|fact| fact.starts_with(&covered));
    facts
}

/// Returns the coverage of all parts of a search, with this number of measured executions.
pub(super) fn of_facts(
    checker: &Checker,
    facts: &BTreeMap<String, String>,
    executions: u64,
    places: &Places,
) -> Coverage {
    let mut coverage = Coverage::combining(checker.measured(), Metrics::NONE);
    for (requirement, standing) in facts.keys().filter_map(|fact| of_fact(fact, places)) {
        coverage.learn(requirement, standing);
    }
    coverage.count_elsewhere(executions);
    coverage
}

/// Parses a fact about a requirement.
pub(super) fn of_fact(fact: &str, places: &Places) -> Option<(Requirement, Standing)> {
    let mut words = fact.splitn(4, ' ');
    let is_coverage = words.next() == Some(COVERAGE);
    let word = words.next().filter(|_| is_coverage)?;
    let (standing, _) = STANDINGS.iter().find(|(_, it)| *it == word)?;
    let metric = Metric::named(words.next()?)?;
    let (first, second) = match words.next()?.split_once(ARROW) {
        Some((first, second)) => (first.to_owned(), Some(second.to_owned())),
        None => (fact.splitn(4, ' ').nth(3)?.to_owned(), None),
    };
    let requirement = Requirement {
        metric,
        first: places.of_text(&first),
        second: second.map(|second| places.of_text(&second)),
    };
    (requirement.second.is_some() == metric.is_pairwise()).then_some((requirement, *standing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_status_of_two_parts_is_kept() {
        let places = Places::new(&crate::program::Library);
        let checker = Checker::new().coverage(true);
        let merged = |texts: &[&str]| {
            let facts = texts.iter().map(|text| ((*text).to_owned(), String::new()));
            of_facts(&checker, &facts.collect(), 7, &places)
        };
        let pair = "sync-pair a b.rs:1:2 -> c.rs:3:4";
        let status = |words: &[&str]| {
            let texts: Vec<String> = words
                .iter()
                .map(|it| format!("coverage {it} {pair}"))
                .collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let merged = merged(&texts);
            assert_eq!(merged.executions(), 7);
            let all: Vec<Standing> = merged
                .requirements()
                .map(|(_, standing)| standing)
                .collect();
            assert_eq!(all.len(), 1);
            all[0]
        };
        assert_eq!(status(&["never-concurrent"]), Standing::NeverConcurrent);
        assert_eq!(
            status(&["never-concurrent", "ordered-by-lock"]),
            Standing::OrderedByLock
        );
        assert_eq!(
            status(&["never-concurrent", "not-tried"]),
            Standing::NotTried
        );
        assert_eq!(
            status(&["never-concurrent", "covered", "not-tried"]),
            Standing::Covered
        );
        let known = [
            "coverage covered blocked a.rs:1:1",
            "cut-short",
            "coverage covered blocked",
            "coverage",
        ];
        let merged = merged(&known);
        assert_eq!(merged.requirements().count(), 1);
        assert_eq!(facts(&merged, &places), known[..1]);
    }
}
