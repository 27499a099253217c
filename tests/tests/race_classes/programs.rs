//! Programs with a race of one of the four kinds, each with a correct twin, as data.

mod block;
mod ordered;
mod parts;
mod several;

use std::collections::BTreeSet;

use raddle::FailureKind::{self, DataRace};
use raddle::{Failure, Report};

use super::world::{Part, accesses, checker, found, run};

struct Program {
    name: &'static str,
    kind: FailureKind,
    /// The accesses that make the race, with A for the thread of the first one; of a data race the cell. If several
    /// races show in one failure, any of them is named.
    race: &'static str,
    first: Part,
    parts: &'static [Part],
    /// The same without the race.
    twin: &'static [Part],
    last: Part,
}

/// Returns the races of a report.
fn races(report: &Report) -> BTreeSet<(String, String)> {
    let of = |failure: &Failure| {
        let kind = failure.race.as_ref().map_or(failure.kind, |race| race.kind);
        (format!("{kind:?}"), accesses(failure))
    };
    found(report).into_iter().map(of).collect()
}

fn check(program: &'static Program) {
    let Program {
        name,
        kind,
        race,
        first,
        parts,
        twin,
        last,
    } = *program;
    let report = checker()
        .keep_going(true)
        .shorten(false)
        .run(|| run(first, parts, last));
    assert!(!report.failures.is_empty(), "{name}: {report}");
    let races = races(&report);
    match kind {
        DataRace => {
            let is_it = |failure: &&Failure| {
                failure.kind == DataRace && failure.message.contains(&format!(" {race} at"))
            };
            assert!(
                report.failures.iter().any(|failure| is_it(&failure)),
                "{name}: {report}"
            );
        }
        _ => {
            let kind = format!("{kind:?}");
            let is_it = |(of, it): &(String, String)| {
                *of == kind && race.split(" | ").any(|race| race == it)
            };
            assert!(
                races.iter().any(is_it),
                "{name}: {race} is not in {races:#?}\n{report}"
            );
            let others: Vec<_> = races.iter().filter(|(of, _)| *of != kind).collect();
            assert!(others.is_empty(), "{name}: {others:?}");
        }
    }
    let twin = checker().run(|| run(first, twin, last));
    assert!(
        found(&twin).is_empty() && twin.exhausted,
        "the twin of {name}: {twin}"
    );
}

#[test]
fn forty_programs_have_their_race_and_their_twins_have_none() {
    let programs = [block::PROGRAMS, several::PROGRAMS, ordered::PROGRAMS];
    let programs = programs.into_iter().flatten();
    let names: BTreeSet<_> = programs.clone().map(|program| program.name).collect();
    assert_eq!(names.len(), 40);
    let mut failed = Vec::new();
    for program in programs {
        if let Err(problem) = std::panic::catch_unwind(|| check(program)) {
            let problem = problem.downcast_ref::<String>().cloned();
            failed.push(problem.unwrap_or_default());
        }
    }
    assert!(failed.is_empty(), "{}: {}", failed.len(), failed.join("\n"));
}
