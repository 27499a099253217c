//! The list of alternatives of one execution, as `cargo raddle alternatives` asks for it.

use std::collections::BTreeSet;
use std::path::Path;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Alternative, Checker, Strategy, thread};
use raddle_report::ListedAlternatives;
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;

fn divide() {
    let divisor = Arc::new(AtomicU32::new(1));
    let other = divisor.clone();
    let reset = thread::Builder::new().name("reset".to_owned());
    let reset = reset.spawn(move || other.store(0, SeqCst)).unwrap();
    divisor.store(6, SeqCst);
    _ = divisor.load(SeqCst);
    reset.join().unwrap();
}

#[raddle::test]
#[ignore = "run by another test"]
fn child() {
    divide();
}

fn listed(target: &str) -> ListedAlternatives {
    let name = format!("alternatives {target}");
    let events = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&events);
    let output = ignored_test(&test_name!("child"))
        .env("RADDLE_EVENTS", &events)
        .env("RADDLE_ALTERNATIVES", target)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let events = std::fs::read_to_string(events).unwrap();
    let mut lists = events.lines().filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        (event["event"] == "alternatives").then(|| event["list"].clone())
    });
    let list = serde_json::from_value(lists.next().expect("a list")).unwrap();
    assert!(lists.next().is_none(), "only one execution is run");
    list
}

#[test]
fn one_execution_shows_the_alternatives_of_all() {
    let list = listed("");
    let sources = list.receives.iter().flat_map(|receive| &receive.sources);
    let found: BTreeSet<_> = sources
        .filter(|source| !source.is_undecided)
        .filter_map(|source| source.alternative.clone())
        .filter(|alternative| alternative.starts_with("main divisor 0"))
        .collect();
    let all = Checker::new().alternatives(divide);
    let terms = all.of("main", "divisor", 0).iter();
    let expected: BTreeSet<_> = terms.map(|term| term.to_string()).collect();
    assert_eq!(found, expected);
    assert_eq!(found.len(), 2);
    for alternative in &found {
        let alternative: Alternative = alternative.parse().unwrap();
        let report = Checker::new()
            .strategy(Strategy::Directed(alternative))
            .run(divide);
        report.assert_ok();
    }
    let load = list
        .receives
        .iter()
        .find(|it| it.step.what.starts_with("load"))
        .unwrap();
    let lines = |text: &str| {
        let source = include_str!("listed_alternatives.rs").lines();
        source
            .zip(1..)
            .find(|(line, _)| line.contains(text))
            .unwrap()
            .1
    };
    assert_eq!(
        load.step.place.as_ref().unwrap().line,
        lines("_ = divisor.load(")
    );
    let reset = load
        .sources
        .iter()
        .find(|it| it.what.contains("reset"))
        .unwrap();
    assert_eq!(reset.place.as_ref().unwrap().line, lines("other.store("));
    // The execution takes one of the two stores, so no read takes the other.
    assert_eq!(list.unread.len(), 1);
    assert_eq!(list.steps, None);
}

#[test]
fn the_steps_to_a_write_are_those_that_it_depends_on() {
    let steps = listed("reset divisor 0").steps.unwrap();
    let steps: Vec<_> = steps
        .iter()
        .map(|it| (it.thread.as_str(), it.what.as_str()))
        .collect();
    let (last, before) = steps.split_last().unwrap();
    assert_eq!(*last, ("reset", "store 0 to divisor"));
    assert!(
        before.iter().all(|(_, what)| !what.contains("store 6")),
        "{steps:?}"
    );
    assert!(
        before
            .iter()
            .any(|(thread, what)| *thread == "main" && what.contains("spawn"))
    );
    assert_eq!(listed("reset divisor 7").steps, None);
}
