//! Streams of `auto` begin with what streams of earlier generations have learned. The process of the test is a real one;
//! the queue is this test.

use std::collections::BTreeSet;

use raddle_report::exchange::{Part, PartResults};

use crate::cuts::{Check, Process};

/// Longer than any slice.
const LONG: u64 = 600_000;

/// Runs these streams, which begin with these lessons.
fn streams(check: &mut Check, item: &str, lessons: &[String]) -> PartResults {
    check.results(Part {
        item: item.to_owned(),
        milliseconds: LONG,
        pieces: 1,
        known: Vec::new(),
        runs: None,
        lessons: lessons.to_vec(),
    })
}

/// The facts of a generation that later ones get.
fn learned(results: &PartResults, generation: &str) -> Vec<String> {
    let facts = results.facts.iter();
    let lessons = facts.filter(|(fact, _)| fact.starts_with(Part::LESSON));
    let of_generation = lessons.inspect(|(_, detail)| assert_eq!(*detail, generation));
    of_generation.map(|(fact, _)| fact.clone()).collect()
}

#[test]
fn streams_of_auto_begin_with_what_earlier_generations_have_learned() {
    let process = Process::start("programs::auto_large", "");
    let mut check = process.check();
    assert_eq!(check.next.as_deref(), Some("streams 0 8"));
    let first = streams(&mut check, "streams 0 8", &[]);
    assert_eq!(
        (first.items.len(), first.next.as_deref()),
        (0, Some("streams 8 16 1"))
    );
    let lessons = learned(&first, "0");
    let count = |word: &str| {
        let word = format!("{}{word} ", Part::LESSON);
        lessons
            .iter()
            .filter(|fact| fact.starts_with(&word))
            .count()
    };
    // Five philosophers and the main thread, and the longest execution. Streams may have made the same decisions.
    assert_eq!([count("lengths"), count("longest")], [6, 1]);
    assert!((1..=8).contains(&count("decisions")), "{lessons:?}");
    assert_eq!(lessons.len(), 7 + count("decisions"), "{lessons:?}");
    let second = streams(&mut check, "streams 8 16 1", &lessons);
    let unaware = streams(&mut check, "streams 8 16 1", &[]);
    assert_ne!(second.classes, unaware.classes, "nothing was learned");
    // Decisions that are known are not handed on again.
    let decisions = |facts: &[String]| -> BTreeSet<String> {
        let start = format!("{}decisions ", Part::LESSON);
        let texts = facts.iter().filter_map(|fact| fact.strip_prefix(&start));
        let digits = texts.flat_map(|text| text.as_bytes().chunks(8));
        digits
            .map(|one| String::from_utf8_lossy(one).into_owned())
            .collect()
    };
    let again = decisions(&learned(&second, "1"));
    assert!(again.is_disjoint(&decisions(&lessons)), "{again:?}");
    // Another process, which has met source locations in another order, does the same with the same lessons.
    let process = Process::start("programs::auto_large", "");
    let mut other = process.check();
    streams(&mut other, "streams 20 21 2", &[]);
    let there = streams(&mut other, "streams 8 16 1", &lessons);
    assert_eq!((there.classes, there.facts), (second.classes, second.facts));
    // One stream after the other does what all of them do.
    let mut classes: Vec<u64> = Vec::new();
    for stream in 8..16 {
        let item = format!("streams {stream} {} 1", stream + 1);
        classes.extend(streams(&mut other, &item, &lessons).classes);
    }
    classes.sort_unstable();
    classes.dedup();
    let mut expected = streams(&mut check, "streams 8 16 1", &lessons).classes;
    expected.sort_unstable();
    assert_eq!(classes, expected);
}
