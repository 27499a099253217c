//! The stories of real bugs: each is found, needs as many preemptions as is said, and has a twin
//! that never fails.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use raddle::{Checker, FailureKind, Strategy};
use raddle_stories::{Memory, Story, all};

/// A search of at most this number of executions.
fn search(executions: u64) -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_executions(executions)
        .shorten(false)
}

/// Executions that are affordable for each story.
const MANY: u64 = 20_000;

/// Stories whose twins have more classes than that, besides those that are too large themselves.
const LARGE_TWINS: [&str; 3] = ["barrier_reuse", "leaked_permit", "piper"];

#[test]
fn names_are_different() {
    let names: BTreeSet<_> = all().iter().map(|story| story.name).collect();
    assert_eq!(names.len(), all().len());
}

/// With as many preemptions as is said it fails in the way that is said, and with one less not at
/// all. To have so few, main is not interrupted, so all threads are there.
#[test]
fn bugs_need_as_many_preemptions_as_is_said() {
    for Story {
        name, buggy, facts, ..
    } in all()
    {
        let Some(preemptions) = facts.preemptions else {
            continue;
        };
        // A stale value may take the place of preemptions.
        let checker = match facts.memory {
            Memory::Sc => search(MANY).memory(raddle::Memory::Sc),
            Memory::Weak => search(MANY),
        };
        let report = checker.clone().preemptions(preemptions).run(buggy);
        let kinds: Vec<_> = report.failures.iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, [facts.kind], "{name}");
        let threads = report.failures[0].trace.threads.len();
        assert_eq!(threads, 1 + facts.threads, "{name}: main and the others");
        if let Some(fewer) = preemptions.checked_sub(1) {
            let report = checker.preemptions(fewer).run(buggy);
            assert!(report.failures.is_empty(), "{name}: {}", report.failures[0]);
            assert!(report.executions < MANY, "{name}: the search did not end");
        }
    }
}

/// A random walk of as many executions as are affordable.
fn walk() -> Checker {
    search(MANY).strategy(Strategy::Random)
}

/// Whether the program is too large to be searched to its end.
fn is_large(story: &Story) -> bool {
    story.facts.preemptions.is_none()
}

/// What goes wrong; a wake-up that comes too early is a deadlock if others were woken by it.
fn gist(kind: FailureKind) -> FailureKind {
    match kind {
        FailureKind::LostWakeup => FailureKind::Deadlock,
        kind => kind,
    }
}

#[test]
fn bugs_of_large_programs_are_found_by_chance() {
    for Story {
        name, buggy, facts, ..
    } in all().into_iter().filter(is_large)
    {
        let report = walk().run(buggy);
        let kinds = report.failures.iter().map(|failure| gist(failure.kind));
        assert_eq!(kinds.collect::<Vec<_>>(), [gist(facts.kind)], "{name}");
    }
}

/// What needs weak memory does not fail without, and the others do.
#[test]
fn bugs_need_the_memory_that_is_said() {
    for story in all() {
        let check = if is_large(&story) {
            walk()
        } else {
            search(MANY)
        };
        let report = check.memory(raddle::Memory::Sc).run(story.buggy);
        let failed = !report.failures.is_empty();
        match story.facts.memory {
            Memory::Weak => assert!(report.exhausted && !failed, "{}", story.name),
            Memory::Sc => assert!(failed, "{}", story.name),
        }
    }
}

#[test]
fn twins_never_fail() {
    let mut large = BTreeSet::new();
    for story in all() {
        let Story { name, correct, .. } = story;
        let report = search(MANY).run(correct);
        assert!(report.failures.is_empty(), "{name}: {}", report.failures[0]);
        if !report.exhausted {
            walk().run(correct).assert_ok();
            if !is_large(&story) {
                large.insert(name);
            }
        }
    }
    assert_eq!(large, BTreeSet::from(LARGE_TWINS));
}

/// The catalogue in the book is what the programs say. `UPDATE_EXPECTED=1` writes it anew.
#[test]
fn the_book_lists_the_stories() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/stories.md");
    let (start, end) = ("<!-- stories -->\n", "<!-- end -->\n");
    let page = fs::read_to_string(PAGE).expect("the page can be read");
    let (before, rest) = page.split_once(start).expect("there is a place for them");
    let (listed, after) = rest.split_once(end).expect("there is an end");
    let expected = format!("\n{}\n", catalogue());
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        let page = format!("{before}{start}{expected}{end}{after}");
        fs::write(PAGE, page).expect("the page can be written");
    } else {
        assert_eq!(listed, expected);
    }
}

fn catalogue() -> String {
    let mut table = String::from(
        "| story | mistake | fails with | threads | preemptions | memory |\n\
         | --- | --- | --- | --: | --: | --- |\n",
    );
    for Story {
        name,
        pattern,
        facts,
        ..
    } in all()
    {
        let (kind, threads) = (facts.kind, facts.threads);
        let preemptions = facts
            .preemptions
            .map_or("?".to_owned(), |few| few.to_string());
        let memory = match facts.memory {
            Memory::Sc => "",
            Memory::Weak => "weak",
        };
        let row = writeln!(
            table,
            "| `{name}` | {pattern} | {kind} | {threads} | {preemptions} | {memory} |"
        );
        row.expect("a string takes everything");
    }
    table
}
