//! The stories of real bugs: each is found, needs as many preemptions as is said, and has a twin that
//! never fails.

use std::collections::BTreeSet;

use raddle::{Checker, Strategy};
use raddle_stories::{Memory, Story, all};

/// A search of so many executions at most.
fn search(executions: u64) -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_executions(executions)
        .shorten(false)
}

/// Executions that are affordable for each story.
const MANY: u64 = 20_000;

/// Stories whose twins have more classes than that.
const LARGE_TWINS: [&str; 3] = ["barrier_reuse", "leaked_permit", "piper"];

#[test]
fn names_are_different() {
    let names: BTreeSet<_> = all().iter().map(|story| story.name).collect();
    assert_eq!(names.len(), all().len());
}

/// With as many preemptions as is said it fails in the way that is said, and with one less not at all.
#[test]
fn bugs_need_as_many_preemptions_as_is_said() {
    for Story {
        name, buggy, facts, ..
    } in all()
    {
        let Some(preemptions) = facts.preemptions else {
            continue;
        };
        let report = search(MANY).preemptions(preemptions).run(buggy);
        let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [facts.kind], "{name}");
        if let Some(fewer) = preemptions.checked_sub(1) {
            let report = search(MANY).preemptions(fewer).run(buggy);
            assert!(report.failures.is_empty(), "{name}: {}", report.failures[0]);
            assert!(report.executions < MANY, "{name}: the search did not end");
        }
    }
}

/// What needs weak memory does not fail without, and the others do.
#[test]
fn bugs_need_the_memory_that_is_said() {
    for Story {
        name, buggy, facts, ..
    } in all()
    {
        let report = search(MANY).memory(raddle::Memory::Sc).run(buggy);
        match facts.memory {
            Memory::Weak => assert!(report.exhausted && report.failures.is_empty(), "{name}"),
            Memory::Sc => assert!(!report.failures.is_empty(), "{name}"),
        }
    }
}

#[test]
fn twins_never_fail() {
    let mut large = BTreeSet::new();
    for Story { name, correct, .. } in all() {
        let report = search(MANY).run(correct);
        assert!(report.failures.is_empty(), "{name}: {}", report.failures[0]);
        if !report.exhausted {
            large.insert(name);
            let sample = Checker::new().strategy(Strategy::Random);
            sample.max_executions(MANY).run(correct).assert_ok();
        }
    }
    assert_eq!(large, BTreeSet::from(LARGE_TWINS));
}
