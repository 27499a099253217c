//! Every kind of use of memory, in every situation: beside the freeing of its block, after it, outside of the
//! block and nowhere; and twins that are right.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{EXHAUSTIVE, Finished, compile, preloaded, run, rust, workspace};

const SOURCE: &str = "tests/native/lifetimes.c";

/// The line of the source with this comment.
fn line(comment: &str) -> String {
    place(SOURCE, comment)
}

/// The same for another source.
fn place(source: &str, comment: &str) -> String {
    let text = std::fs::read_to_string(workspace().join(source)).unwrap();
    let comment = format!("/* {comment} */");
    let found = text.lines().position(|line| line.contains(&comment));
    let line = found.unwrap_or_else(|| panic!("no {comment}")) + 1;
    format!("{source}:{line}")
}

/// What is said about each kind of use in a situation, by the name of the kind.
fn kinds(program: &Path, situation: &str, settings: &[(&str, &str)]) -> BTreeMap<String, Finished> {
    let all = run(program, &[situation], settings);
    let text = format!("\n{}", all.text);
    let kinds = text.split("\nkind ").skip(1).map(|one| {
        let (name, text) = one.split_once('\n').unwrap();
        let finished = Finished {
            code: all.code,
            text: text.to_owned(),
        };
        (name.to_owned(), finished)
    });
    let kinds: BTreeMap<_, _> = kinds.collect();
    assert_eq!(kinds.len(), 31, "{}", all.text);
    kinds
}

/// Uses that are no operations of their own.
fn is_plain(kind: &str) -> bool {
    ["plain-read", "plain-write", "copy-from", "copy-to", "fill"].contains(&kind)
}

#[test]
fn a_use_beside_a_free_fails_whichever_thread_frees() {
    let program = compile("gcc", "lifetimes.c", "beside", &["-O1"]);
    for (situation, frees) in [
        ("used-by-thread", "main-frees"),
        ("freed-by-thread", "thread-frees"),
        ("resized", "main-resizes"),
    ] {
        for (kind, found) in kinds(&program, situation, &[EXHAUSTIVE]) {
            let is_race = found
                .text
                .starts_with("raddle: test: data race after 1 execution");
            match is_plain(&kind) && is_race {
                true => found.says("memory `block of lifetimes.c:"),
                false => found.says("raddle: test: use after free after 1 execution"),
            };
            // Both ends are named: the use, or what follows it in the same function, and the freeing.
            let uses = line(&kind);
            let next = next_line(&uses);
            assert!(
                found.text.contains(&uses) || found.text.contains(&next),
                "{situation} {kind}: no {uses} in\n{}",
                found.text
            );
            found.says(&line(frees));
        }
    }
}

fn next_line(place: &str) -> String {
    let (file, line) = place.rsplit_once(':').unwrap();
    format!("{file}:{}", line.parse::<u32>().unwrap() + 1)
}

#[test]
fn a_use_of_memory_that_is_not_there_fails_at_its_line() {
    let program = compile("gcc", "lifetimes.c", "not-there", &["-O1"]);
    for (situation, failure, said) in [
        ("freed-before", "use after free", " bytes, made at "),
        ("outside", "out-of-bounds access", "made at "),
        ("nowhere", "crash", "SIGSEGV: it used address 0x"),
    ] {
        for (kind, found) in kinds(&program, situation, &[EXHAUSTIVE]) {
            // The kernel looks at the address itself, and returns an error.
            if (situation, &kind[..]) == ("nowhere", "futex-wait") {
                assert!(!found.text.contains(" after "), "{}", found.text);
                continue;
            }
            found.says(&format!("raddle: test: {failure} after 1 execution"));
            found.says(&format!(" at {}:", line(&kind))).says(said);
        }
    }
    for kind in kinds(&program, "freed-before", &[EXHAUSTIVE]).values() {
        kind.says(", freed at tests/native/lifetimes.c:");
    }
}

#[test]
fn a_count_that_is_taken_too_late_fails_by_every_strategy() {
    let program = compile("gcc", "lifetimes.c", "too-late", &["-O1"]);
    for settings in [&[EXHAUSTIVE][..], &[], &[("RADDLE_STRATEGY", "random")]] {
        for found in kinds(&program, "taken-late", settings).values() {
            found.says("raddle: test: use after free after ");
            found.says(&line("takes"));
        }
    }
}

#[test]
fn freeing_in_order_adds_no_class() {
    let program = compile("gcc", "lifetimes.c", "in-order", &["-O1"]);
    for (kept, freed) in [
        ("used-and-kept", "used-and-freed"),
        ("counted-and-kept", "counted-and-freed"),
    ] {
        let [kept, freed] = [kept, freed].map(|situation| {
            let all = kinds(&program, situation, &[EXHAUSTIVE]).into_iter();
            let all = all.map(|(kind, found)| (kind, found.exits(0).all_classes()));
            all.collect::<BTreeMap<_, _>>()
        });
        assert_eq!(kept, freed);
        // An operation on one object has two orders at least.
        assert!(
            kept["mutex-lock"] == 2 && kept["atomic-add"] == 2,
            "{kept:?}"
        );
    }
}

#[test]
fn explored_accesses_fail_only_if_one_comes_after_the_free() {
    let program = compile("gcc", "lifetimes.c", "explored", &["-O1"]);
    let settings = [EXHAUSTIVE, ("RADDLE_PLAIN", "explore")];
    for situation in ["used-by-thread", "freed-by-thread"] {
        for (kind, found) in kinds(&program, situation, &settings) {
            match is_plain(&kind) && !kind.starts_with("plain") {
                // Too long for one operation.
                true => assert!(!found.text.starts_with("raddle: test: every"), "{kind}"),
                false => {
                    found.says("raddle: test: use after free after 1 execution");
                }
            }
        }
    }
    // The flag is plain, but is an operation, too.
    for (kind, found) in kinds(&program, "told-plainly", &settings) {
        if !is_plain(&kind) || kind.starts_with("plain") {
            assert!(!found.text.contains(" after "), "{kind}\n{}", found.text);
            assert!(found.all_classes() >= 2);
        }
    }
}

/// True if there is something to destroy.
fn is_object(kind: &str) -> bool {
    ["mutex", "condvar", "rwlock", "semaphore", "spin", "barrier"]
        .iter()
        .any(|object| kind.starts_with(object))
}

#[test]
fn an_object_is_not_used_after_or_beside_its_destruction() {
    let program = compile("gcc", "lifetimes.c", "destroyed", &["-O1"]);
    let mut count = 0;
    for (situation, said) in [
        ("destroyed-before", [" that was destroyed at tests/"; 2]),
        (
            "destroyed-by-main",
            [" that was destroyed at tests/", "it destroys a "],
        ),
        (
            "destroyed-by-thread",
            [" that was destroyed at tests/", "it destroys a "],
        ),
        (
            "initialised-by-main",
            ["initialises it at tests/", "it initialises a "],
        ),
    ] {
        for (kind, found) in kinds(&program, situation, &[EXHAUSTIVE]) {
            if !is_object(&kind) {
                continue;
            }
            found.says("raddle: test: use after free after 1 execution");
            let uses = line(&kind);
            let is_there = [uses.clone(), next_line(&uses)];
            let is_there = is_there.iter().any(|line| found.text.contains(line));
            assert!(is_there, "{situation} {kind}: no {uses} in\n{}", found.text);
            let is_said = said.iter().any(|said| found.text.contains(said));
            assert!(
                is_said,
                "{situation} {kind}: no {said:?} in\n{}",
                found.text
            );
            count += 1;
        }
    }
    assert_eq!(count, 4 * 16);
}

#[test]
fn destroying_in_order_is_right() {
    let program = compile("gcc", "lifetimes.c", "destroyed-right", &["-O1"]);
    let [left, destroyed] = ["left", "destroyed-in-order"].map(|situation| {
        let all = kinds(&program, situation, &[EXHAUSTIVE]).into_iter();
        let all = all.filter(|(kind, _)| is_object(kind));
        let all = all.map(|(kind, found)| (kind, found.all_classes()));
        all.collect::<BTreeMap<_, _>>()
    });
    assert_eq!(left, destroyed);
    for situation in ["barrier-left", "condvar-left", "mutex-left"] {
        let finished = run(&program, &[situation, "mutex-lock"], &[EXHAUSTIVE]);
        assert!(finished.exits(0).all_classes() > 1, "{situation}");
    }
}

#[test]
fn an_alignment_is_a_power_of_two() {
    let program = compile("gcc", "lifetimes.c", "alignment", &["-O1"]);
    for (situation, comment) in [("aligned", "aligned"), ("aligned-as-a-page", "memalign")] {
        run(&program, &[situation, "mutex-lock"], &[EXHAUSTIVE])
            .exits(1)
            .says(&line(comment))
            .says("it asks for memory with an alignment of 24, which is no power of two");
    }
    run(&program, &["aligned-well", "mutex-lock"], &[EXHAUSTIVE]).exits(0);
}

#[test]
fn variables_of_a_thread_are_gone_when_it_ends() {
    let program = compile("gcc", "lifetimes.c", "lent", &["-O1"]);
    for (kind, found) in kinds(&program, "used-after-join", &[EXHAUSTIVE]) {
        found.says("raddle: test: use after free after 1 execution");
        found.says(&format!(" at {}:", line(&kind)));
        found.says("memory of main.1, which has ended\n");
    }
    for (kind, found) in kinds(&program, "lent-too-short", &[EXHAUSTIVE]) {
        found.says("raddle: test: use after free after ");
        let uses = line(&kind);
        let is_there = [uses.clone(), next_line(&uses)];
        let is_there = is_there.iter().any(|line| found.text.contains(line));
        assert!(is_there, "{kind}: no {uses} in\n{}", found.text);
    }
    for (kind, found) in kinds(&program, "lent-long-enough", &[EXHAUSTIVE]) {
        assert!(!found.text.contains(" after "), "{kind}\n{}", found.text);
        assert!(found.all_classes() >= 2, "{kind}");
    }
}

/// A block may be freed by a thread that did not allocate it, if the allocation happens before.
#[test]
fn an_allocation_happens_before_the_free() {
    let program = compile("gcc", "published.c", "published", &["-O1"]);
    let cases = |ways: &str, memory| {
        let all = run(&program, &[ways], &[EXHAUSTIVE, ("RADDLE_MEMORY", memory)]);
        let text = format!("\n{}", all.text);
        let cases: Vec<String> = text.split("\ncase ").skip(1).map(str::to_owned).collect();
        cases
    };
    for memory in ["sc", "rc11"] {
        let wrong = cases("wrong", memory);
        assert_eq!(wrong.len(), 50);
        for case in wrong {
            let (name, found) = case.split_once('\n').unwrap();
            let allocation = name.split(' ').next().unwrap();
            let source = "tests/native/published.c";
            let at = place(source, allocation);
            assert!(found.contains("use after free after "), "{case}");
            assert!(found.contains("it frees "), "{case}");
            let unordered = format!("allocates it at {at}, and nothing orders the two");
            assert!(found.contains(&unordered), "{case}");
            assert!(found.contains(&place(source, "frees")), "{case}");
        }
        let right = cases("right", memory);
        assert_eq!(right.len(), 30);
        for case in right {
            assert!(case.contains("every behaviour was run"), "{case}");
        }
    }
}

#[test]
fn a_block_that_is_freed_twice_is_named_with_both_places() {
    let program = compile("gcc", "lifetimes.c", "freed-twice", &["-O1"]);
    let all = run(&program, &["freed-twice"], &[EXHAUSTIVE]);
    let text = format!("\n{}", all.text);
    let cases: Vec<&str> = text.split("\nfrees ").skip(1).collect();
    assert_eq!(cases.len(), 3 * 3 * 3);
    for case in cases {
        let (name, found) = case.split_once('\n').unwrap();
        let words: Vec<&str> = name.split(' ').collect();
        assert!(found.contains(": double free after 1 execution"), "{case}");
        let verb = |way: &str| if way == "free" { "frees" } else { "resizes" };
        // Without an order between the two, either is the second.
        let orders = match words[2] {
            "2" => vec![(words[0], words[1]), (words[1], words[0])],
            _ => vec![(words[0], words[1])],
        };
        let is_said = orders.iter().any(|(first, second)| {
            found.contains(&format!("a second time at {}:", line(second)))
                && found.contains(&format!(
                    "it {} a block of 16 bytes, made at ",
                    verb(second)
                ))
                && found.contains(&format!(
                    "{} by main, freed at {}",
                    line("freed-twice"),
                    line(first)
                ))
        });
        assert!(is_said, "{case}");
    }
}

/// Locks and the like of Rust's standard library are not used after their memory was freed, nor beside that; nothing
/// else of them is an access that is seen. Used in order they are right.
#[test]
fn primitives_of_rust_are_used_before_they_are_freed() {
    const FREED: &str = "tests/native/rust/freed.rs";
    let settings = [EXHAUSTIVE, preloaded()];
    let text = std::fs::read_to_string(workspace().join(FREED)).unwrap();
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("(\"")?.split_once('"'));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    assert_eq!(names.len(), 11);
    for (way, flags) in [("plain", &[][..]), ("optimised", &["-Copt-level=2"])] {
        let program = rust("freed.rs", &format!("rust-freed-{way}"), flags);
        for name in &names {
            let found = run(&program, &[name], &settings);
            found.exits(1).says("use after free after 1 execution");
            // Where functions were inlined into the thread's, lines are those of their caller.
            if way == "plain" {
                found.says(&place(FREED, name));
            }
            run(&program, &[name, "in-order"], &settings)
                .exits(0)
                .all_classes();
        }
    }
}

/// A reference that is taken by a raw pointer may come after the last one was dropped, in an order of changes that
/// no class distinguishes. A result does not claim every behaviour then, and with counts as operations the use is found.
#[test]
fn references_are_taken_before_the_last_one_is_dropped() {
    const RAW_COUNTS: &str = "tests/native/rust/raw_counts.rs";
    let text = std::fs::read_to_string(workspace().join(RAW_COUNTS)).unwrap();
    let names = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("(\"")?.split_once('"'));
    let names: Vec<&str> = names.map(|(name, _)| name).collect();
    assert_eq!(names.len(), 9);
    for (way, flags) in [("plain", &[][..]), ("optimised", &["-Copt-level=2"])] {
        let program = rust("raw_counts.rs", &format!("rust-raw-counts-{way}"), flags);
        for name in &names {
            let settings = [EXHAUSTIVE, preloaded()];
            let found = run(&program, &[name], &settings);
            if name.starts_with("right") {
                found.exits(0).all_classes();
                continue;
            }
            found
                .exits(0)
                .says("not every behaviour was run")
                .says("the count of an `Arc`");
            let settings = [EXHAUSTIVE, preloaded(), ("RADDLE_ARC", "counted")];
            run(&program, &[name], &settings)
                .exits(1)
                .says("use after free");
        }
    }
}
