//! Orderings that lock-free structures need, as published, and what mutants and the search for the weakest find.
//!
//! The fixture has every operation `SeqCst`. A spin lock, a ticket lock, the ring of one producer and one consumer and a
//! reference count are in `weakest.rs`.

use crate::support::{Newcomer, command_line};

/// A structure, where its orderings were published, and its lines: as in the fixture, and as published.
struct Published {
    structure: &'static str,
    source: &'static str,
    lines: &'static [(&'static str, &'static str)],
}

/// Written down before the first search.
const PUBLISHED: [Published; 6] = [
    Published {
        structure: "Stack",
        source: "Batty, Dodds, Gotsman: Library abstraction for C/C++ concurrency, POPL 2013: Treiber's stack",
        lines: &[
            (
                "let below = self.top.load(SeqCst)",
                "let below = self.top.load(Relaxed)",
            ),
            (
                "compare_exchange(below, node, SeqCst, SeqCst)",
                "compare_exchange(below, node, Release, Relaxed)",
            ),
            (
                "let node = self.top.load(SeqCst)",
                "let node = self.top.load(Acquire)",
            ),
            (
                "compare_exchange(node, below, SeqCst, SeqCst)",
                "compare_exchange(node, below, Relaxed, Relaxed)",
            ),
        ],
    },
    Published {
        structure: "Queue",
        source: "Vyukov: Bounded MPMC queue, 1024cores.net, 2010",
        lines: &[
            (
                "let at = self.tail.load(SeqCst)",
                "let at = self.tail.load(Relaxed)",
            ),
            (
                "self.turns[at % 2].load(SeqCst) != at {",
                "self.turns[at % 2].load(Acquire) != at {",
            ),
            (
                "self.tail.compare_exchange(at, at + 1, SeqCst, SeqCst)",
                "self.tail.compare_exchange(at, at + 1, Relaxed, Relaxed)",
            ),
            (
                "self.turns[at % 2].store(at + 1, SeqCst)",
                "self.turns[at % 2].store(at + 1, Release)",
            ),
            (
                "let at = self.head.load(SeqCst)",
                "let at = self.head.load(Relaxed)",
            ),
            (
                "self.turns[at % 2].load(SeqCst) != at + 1",
                "self.turns[at % 2].load(Acquire) != at + 1",
            ),
            (
                "self.head.compare_exchange(at, at + 1, SeqCst, SeqCst)",
                "self.head.compare_exchange(at, at + 1, Relaxed, Relaxed)",
            ),
            (
                "self.turns[at % 2].store(at + 2, SeqCst)",
                "self.turns[at % 2].store(at + 2, Release)",
            ),
        ],
    },
    Published {
        structure: "Sequence",
        source: "Boehm: Can seqlocks get along with programming language memory models?, MSPC 2012",
        lines: &[
            (
                "self.version.store(2 * round - 1, SeqCst)",
                "self.version.store(2 * round - 1, Relaxed)",
            ),
            (
                "fence(SeqCst); // of the writer",
                "fence(Release); // of the writer",
            ),
            (
                "self.left.store(round, SeqCst)",
                "self.left.store(round, Relaxed)",
            ),
            (
                "self.right.store(round, SeqCst)",
                "self.right.store(round, Relaxed)",
            ),
            (
                "self.version.store(2 * round, SeqCst)",
                "self.version.store(2 * round, Release)",
            ),
            (
                "let before = self.version.load(SeqCst)",
                "let before = self.version.load(Acquire)",
            ),
            (
                "let left = self.left.load(SeqCst)",
                "let left = self.left.load(Relaxed)",
            ),
            (
                "let right = self.right.load(SeqCst)",
                "let right = self.right.load(Relaxed)",
            ),
            (
                "fence(SeqCst); // of the reader",
                "fence(Acquire); // of the reader",
            ),
            (
                "let after = self.version.load(SeqCst)",
                "let after = self.version.load(Relaxed)",
            ),
        ],
    },
    Published {
        structure: "Mcs",
        source: "Oberhauser et al.: VSync: Push-button verification and optimization for synchronization primitives on \
                 weak memory models, ASPLOS 2021; the lock: Mellor-Crummey, Scott, TOCS 1991",
        lines: &[
            (
                "self.next[me].store(NONE, SeqCst)",
                "self.next[me].store(NONE, Relaxed)",
            ),
            (
                "self.waits[me].store(true, SeqCst)",
                "self.waits[me].store(true, Relaxed)",
            ),
            ("self.tail.swap(me, SeqCst)", "self.tail.swap(me, AcqRel)"),
            (
                "self.next[before].store(me, SeqCst)",
                "self.next[before].store(me, Release)",
            ),
            (
                "while self.waits[me].load(SeqCst)",
                "while self.waits[me].load(Acquire)",
            ),
            (
                "if self.next[me].load(SeqCst)",
                "if self.next[me].load(Relaxed)",
            ),
            (
                "self.tail.compare_exchange(me, NONE, SeqCst, SeqCst)",
                "self.tail.compare_exchange(me, NONE, Release, Relaxed)",
            ),
            (
                "while self.next[me].load(SeqCst)",
                "while self.next[me].load(Relaxed)",
            ),
            (
                "let successor = self.next[me].load(SeqCst)",
                "let successor = self.next[me].load(Acquire)",
            ),
            (
                "self.waits[successor].store(false, SeqCst)",
                "self.waits[successor].store(false, Release)",
            ),
        ],
    },
    Published {
        structure: "Hazard",
        source: "Michael: Hazard pointers, TPDS 2004, with the fences of its section on memory models; P2530, C++26",
        lines: &[
            (
                "let seen = self.current.load(SeqCst);\n        self.hazard",
                "let seen = self.current.load(Relaxed);\n        self.hazard",
            ),
            (
                "self.hazard.store(seen, SeqCst)",
                "self.hazard.store(seen, Relaxed)",
            ),
            ("fence(SeqCst); // protects", "fence(SeqCst); // protects"),
            (
                "if self.current.load(SeqCst) != seen",
                "if self.current.load(Acquire) != seen",
            ),
            (
                "self.hazard.store(NONE, SeqCst)",
                "self.hazard.store(NONE, Release)",
            ),
            (
                "self.current.swap(2, SeqCst);\n        fence",
                "self.current.swap(2, Release);\n        fence",
            ),
            ("fence(SeqCst); // retires", "fence(SeqCst); // retires"),
            (
                "if self.hazard.load(SeqCst) != old",
                "if self.hazard.load(Acquire) != old",
            ),
        ],
    },
    Published {
        structure: "Epochs",
        source: "Fraser: Practical lock-freedom, 2004; orderings of the documentation in crossbeam-epoch 0.9 (internal.rs)",
        lines: &[
            (
                "self.global.load(SeqCst); // of the reader",
                "self.global.load(Relaxed); // of the reader",
            ),
            (
                "self.local.store(epoch + 1, SeqCst)",
                "self.local.store(epoch + 1, Relaxed)",
            ),
            ("fence(SeqCst); // pins", "fence(SeqCst); // pins"),
            (
                "let seen = self.current.load(SeqCst);\n        let",
                "let seen = self.current.load(Acquire);\n        let",
            ),
            (
                "self.local.store(NONE, SeqCst)",
                "self.local.store(NONE, Release)",
            ),
            (
                "self.current.swap(2, SeqCst);\n        if",
                "self.current.swap(2, Release);\n        if",
            ),
            (
                "self.global.load(SeqCst); // of the writer",
                "self.global.load(Relaxed); // of the writer",
            ),
            ("fence(SeqCst); // advances", "fence(SeqCst); // advances"),
            (
                "let local = self.local.load(SeqCst)",
                "let local = self.local.load(Relaxed)",
            ),
            (
                "fence(SeqCst); // before the next epoch",
                "fence(Acquire); // before the next epoch",
            ),
            (
                "self.global.store(epoch + 1, SeqCst)",
                "self.global.store(epoch + 1, Release)",
            ),
        ],
    },
];

#[test]
fn every_published_line_is_in_the_source() {
    let source = Newcomer::new("published_lines", "lock_free").read("src/lib.rs");
    for published in &PUBLISHED {
        for (line, _) in published.lines {
            let count = source.matches(line).count();
            assert_eq!(
                count, 1,
                "{line} of {}: {}",
                published.structure, published.source
            );
        }
    }
    // None is left out.
    let lines = PUBLISHED.iter().map(|it| it.lines.len()).sum::<usize>();
    let has_ordering = |line: &&str| line.contains("(SeqCst") || line.contains(", SeqCst");
    assert_eq!(source.lines().filter(has_ordering).count(), lines);
}

/// Where the search finds another ordering than the published one: the line, what is found, and why.
const OTHERWISE: [(&str, &str, &str); 3] = [
    (
        "self.local.store(epoch + 1, Relaxed)",
        "self.local.store(epoch + 1, Release)",
        "a thread that pins itself again overwrites the Release store of its last unpin, and who reads that it is pinned \
         must synchronize with the unpin: a release sequence of C++11 contains the later stores of the same thread, \
         one of C++20 and of Rust does not",
    ),
    (
        "if self.current.load(Acquire) != seen",
        "if self.current.load(Relaxed) != seen",
        "the fence between the first load and this one acquires what the first load has read, and a hazard is \
         used only if both read the same",
    ),
    (
        "self.global.store(epoch + 1, Release)",
        "self.global.store(epoch + 1, Relaxed)",
        "the thread that advances the epoch is the one that destroys the value: the proof is for any thread",
    ),
];

/// Writes the fixture with the published orderings.
fn write_published(crate_: &Newcomer) {
    let mut source = crate_.read("src/lib.rs");
    for (line, weakest) in PUBLISHED.iter().flat_map(|it| it.lines) {
        source = source.replace(line, weakest);
    }
    crate_.write("src/lib.rs", &source);
}

#[test]
fn every_weakening_of_a_published_ordering_is_noticed() {
    let published = Newcomer::new("published", "lock_free");
    write_published(&published);
    let [(too_weak, strong_enough, _), not_needed @ ..] = OTHERWISE;
    let raddle = command_line(&published);
    raddle("test epochs").exits(1).says("data race after ");
    published.replace("src/lib.rs", too_weak, strong_enough);
    let found = raddle("mutants --json").exits(1);
    let source = published.read("src/lib.rs");
    let mut missed = Vec::new();
    for line in found.stdout.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = record["line"].as_u64().unwrap() as usize;
        let text = source.lines().nth(number - 1).unwrap();
        match record["outcome"].as_str().unwrap() {
            "noticed" => assert!(record["executions"].as_u64().unwrap() > 0, "{record}"),
            "not noticed" => {
                assert_eq!(record["guarantee"], "exhaustive", "{record}");
                missed.push((number, text.trim().to_owned(), record["change"].clone()));
            }
            _ => panic!("{record}"),
        }
    }
    // Counted by hand: the orderings that are published, each with all that are weaker.
    assert_eq!(found.stdout.lines().count(), 44);
    assert_eq!(missed.len(), not_needed.len(), "{missed:?}");
    missed.sort_by_key(|it| it.0);
    for ((_, text, change), (line, _, _)) in missed.iter().zip(not_needed) {
        assert!(
            text.contains(line) && change == "Relaxed",
            "{text}: {change}"
        );
    }
}

/// Searches for the weakest orderings of a structure with its test alone, and compares them with the published ones.
#[track_caller]
fn the_weakest_are(structure: &str, test: &str, otherwise: &[(&str, &str, &str)]) {
    let crate_ = Newcomer::new(&format!("weakest_{test}"), "lock_free");
    let raddle = command_line(&crate_);
    raddle(&format!("orderings {test} --patch weaker.patch")).exits(0);
    crate_.shell("patch -p1 < weaker.patch").exits(0);
    let source = crate_.read("src/lib.rs");
    let published = PUBLISHED.iter().find(|it| it.structure == structure);
    for (_, weakest) in published.unwrap().lines {
        let other = otherwise.iter().find(|(line, _, _)| line == weakest);
        let expected = other.map_or(*weakest, |(_, found, _)| *found);
        assert!(source.contains(expected), "{expected} is not in\n{source}");
    }
}

#[test]
fn the_weakest_orderings_of_a_stack_are_the_published_ones() {
    the_weakest_are("Stack", "stack", &[]);
}

#[test]
fn the_weakest_orderings_of_a_hazard_pointer_are_the_published_ones_but_for_one() {
    the_weakest_are("Hazard", "hazard", &OTHERWISE);
}
