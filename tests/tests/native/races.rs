//! C and C++ programs that go wrong: how they end, how they use memory, and bugs as they are in the wild.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{self, EXHAUSTIVE, Finished, build, build_with, run};

/// What is wrong, in the first line of its story.
fn message(finished: &Finished) -> &str {
    finished.text.lines().nth(2).unwrap_or_default()
}

/// The program fails like this; and so it does again when the schedule is replayed.
fn fails(program: &Path, name: &str, kind: &str) -> Finished {
    let headline = format!("raddle: test: {kind} after ");
    let found = run(program, &[name], &[EXHAUSTIVE]);
    found.exits(1).says(&headline);
    let replayed = run(program, &[name], &[("RADDLE_REPLAY", found.schedule())]);
    replayed
        .exits(1)
        .says(&format!("{headline}1 execution (replay)"));
    assert_eq!(message(&found), message(&replayed), "{name}");
    found
}

#[test]
fn a_thread_that_crashes_or_ends_the_program_ends_the_execution() {
    let program = build("endings.c", "endings");
    for (name, kind, said) in [
        (
            "segv",
            "crash",
            "main.1 crashed at tests/native/endings.c:43:",
        ),
        (
            "segv",
            "crash",
            "SIGSEGV: it used address 0x0, through a pointer that is null",
        ),
        ("fpe", "crash", "SIGFPE: "),
        ("ill", "crash", "SIGILL: "),
        ("abort", "crash", "the program called abort"),
        (
            "exit",
            "bad exit status",
            "main.1 ended the program at tests/native/endings.c:47:",
        ),
        ("exit", "bad exit status", "the program ended with status 3"),
        (
            "quick-exit",
            "bad exit status",
            "the program ended with status 4",
        ),
        (
            "exit-at-once",
            "bad exit status",
            "the program ended with status 5",
        ),
        (
            "atomically",
            "crash",
            "main.1 crashed at tests/native/endings.c:51:",
        ),
        (
            "inside-libc",
            "crash",
            "main.1 crashed at tests/native/endings.c:52:",
        ),
        (
            "overflow",
            "crash",
            "it used more than the 8 MB of stack that it has",
        ),
    ] {
        let found = fails(&program, name, kind);
        found.says(said);
        // Nothing happens if the flag is not up in time.
        found.says("load flag = 1 endings.c:25");
    }
    fails(&program, "segv", "crash").says(
        "in write_nowhere, called by do_it at tests/native/endings.c:20, by watch at \
         tests/native/endings.c:26\n",
    );
}

#[test]
fn who_waits_when_the_program_ends_is_no_failure() {
    let program = build("endings.c", "ends-well");
    // The program ends before or after the other takes the lock.
    run(&program, &["well"], &[EXHAUSTIVE]).exits(0);
}

#[test]
fn blocks_are_used_while_they_are_there_and_no_further_than_they_go() {
    let program = build("endings.c", "blocks");
    fails(&program, "freed", "use after free")
        .says("it writes the beginning of a block of 64 bytes, made at tests/native/endings.c:")
        .says(" by main, freed at tests/native/endings.c:107 by main.2\n");
    fails(&program, "freed-twice", "double free").says("it frees a block of 64 bytes, made at ");
    fails(&program, "beyond", "out-of-bounds access")
        .says("it writes just behind the end of a block of 8 bytes, made at ");
    for name in ["freed-local", "freed-global"] {
        fails(&program, name, "out-of-bounds access")
            .says("it frees memory that was not allocated\n");
    }
}

#[test]
fn plain_accesses_race_with_atomic_ones() {
    let program = build("mixed.c", "mixed");
    for (name, said) in [
        (
            "store-write",
            "main.1 writes memory `shared` atomically at tests/native/mixed.c:20\n",
        ),
        (
            "store-read",
            "main.2 reads memory `shared` at tests/native/mixed.c:37,",
        ),
        (
            "load-write",
            "main.1 reads memory `shared` atomically at tests/native/mixed.c:26\n",
        ),
        (
            "store-byte",
            "main.2 writes memory `shared+5` at tests/native/mixed.c:42,",
        ),
        (
            "failed-write",
            "main.1 reads memory `shared` atomically at tests/native/mixed.c:55\n",
        ),
    ] {
        fails(&program, name, "data race").says(said);
    }
    // Two that only read, other bytes of the same word, and what was passed on in order.
    for (name, classes) in [
        ("load-read", 1),
        ("half-byte", 1),
        ("failed-read", 1),
        ("told", 2),
    ] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert_eq!(finished.exits(0).all_classes(), classes, "{name}");
    }
}

#[test]
fn a_race_tells_both_chains_of_calls_and_the_block() {
    let program = build("mixed.c", "chains");
    fails(&program, "chains", "data race")
        .says("    in add, called by deposit at tests/native/mixed.c:77, by depositor at ")
        .says("    in add, called by withdraw at tests/native/mixed.c:78, by withdrawer at ")
        .says(" is at offset 12 of a block of 64 bytes, made at tests/native/mixed.c:");
}

#[test]
fn memory_that_seems_to_be_of_one_thread_alone_is_watched() {
    let program = build("recorded.c", "recorded");
    for (name, kind, said) in [
        ("stack-beside", "data race", "main writes "),
        ("own-beside", "data race", "main.1 writes "),
        (
            "word-beside",
            "data race",
            "main.1 reads memory `shared+3` at ",
        ),
        (
            "ended",
            "use after free",
            "it reads memory of main.1, which has ended\n",
        ),
        (
            "freed",
            "use after free",
            "it writes the beginning of a block of 8 bytes, made at ",
        ),
    ] {
        fails(&program, name, kind).says(said);
    }
    // The same accesses in order, and stacks that one thread after the other has.
    for name in ["stack", "own", "word", "reused"] {
        let finished = run(&program, &[name], &[EXHAUSTIVE]);
        assert_eq!(finished.exits(0).all_classes(), 1, "{name}");
    }
}

#[test]
fn races_are_the_same_whether_all_accesses_are_told_or_not() {
    let told = ("RADDLE_SHADOW", "off");
    let compare = |program: &Path, names: &[&str]| {
        let [with, without] = [&[EXHAUSTIVE][..], &[EXHAUSTIVE, told]].map(|settings| {
            let finished = run(program, names, settings);
            // Without the last line, which has the time.
            let (story, _) = finished.text.rsplit_once(" (exhaustive, ").unwrap();
            (finished.code, story.to_owned())
        });
        assert_eq!(with, without, "{names:?}");
        with.0
    };
    let (mixed, random) = (
        build("mixed.c", "told-mixed"),
        build("random.c", "told-random"),
    );
    for name in [
        "store-write",
        "store-byte",
        "load-read",
        "half-byte",
        "told",
        "chains",
    ] {
        compare(&mixed, &[name]);
    }
    for seed in 0..60 {
        compare(&random, &[&seed.to_string()]);
    }
    // Of a stack, which only its owner has used at first: a few accesses, or more than are listed.
    let borrowed = build("borrowed.c", "told-borrowed");
    let mut codes = BTreeSet::new();
    for seed in 0..60 {
        let repeats = if seed % 4 == 0 { "400" } else { "0" };
        codes.insert(compare(&borrowed, &[&seed.to_string(), repeats]));
    }
    assert_eq!(codes.len(), 2, "some race, and some do not");
}

const STORIES: [(&str, &str); 19] = [
    ("aba", "failed assertion"),
    ("barrier-reuse", "deadlock"),
    ("permit-leak", "deadlock"),
    ("late-thread", "use after free"),
    ("off-by-one", "out-of-bounds access"),
    ("stealing", "failed assertion"),
    ("shutdown", "lost wake-up"),
    ("once-by-hand", "data race"),
    ("relaxed-ring", "data race"),
    ("resurrected", "use after free"),
    ("exit-locked", "deadlock"),
    ("circle", "deadlock"),
    ("torn-pair", "failed assertion"),
    ("peterson", "failed assertion"),
    ("unlocked-read", "data race"),
    ("sequence-lock", "failed assertion"),
    ("join-locked", "deadlock"),
    ("freed-twice", "double free"),
    ("null-pointer", "crash"),
];

const CPP_STORIES: [(&str, &str); 9] = [
    ("shared-pointer", "data race"),
    ("kept-twice", "crash"),
    ("latch-count", "deadlock"),
    ("told-one", "deadlock"),
    ("longer-vector", "data race"),
    ("no-predicate", "deadlock"),
    ("guards", "deadlock"),
    ("half-made", "data race"),
    ("uncaught", "crash"),
];

fn stories(source: &str, folder: &str, stories: &[(&str, &str)]) {
    let wrong = build(source, folder);
    let right = build_with(source, &format!("{folder}-right"), &["-DRIGHT"]);
    for (name, kind) in stories {
        fails(&wrong, name, kind);
        run(&wrong, &[name], &[]).exits(1);
        assert!(run(&right, &[name], &[EXHAUSTIVE]).exits(0).all_classes() > 0);
    }
}

#[test]
fn bugs_in_c_are_found_and_replayed_and_their_twins_are_right() {
    stories("stories.c", "stories", &STORIES);
}

#[test]
fn bugs_in_cpp_are_found_and_replayed_and_their_twins_are_right() {
    stories("stories.cpp", "cpp-stories", &CPP_STORIES);
}

#[test]
fn an_exception_that_nobody_catches_says_what_it_is() {
    let program = build("stories.cpp", "uncaught");
    fails(&program, "uncaught", "crash")
        .says(" crashed at tests/native/stories.cpp:183:")
        .says("  an uncaught exception: std::runtime_error: none left\n");
}

#[test]
fn fields_and_elements_have_their_names() {
    let program = build("stories.c", "names");
    fails(&program, "aba", "failed assertion").says("store 2 to nodes[0].next stories.c:");
    fails(&program, "circle", "deadlock").says("for mutex `locks[1]`, held by main.2\n");
    let local = build("stories.cpp", "local-names");
    fails(&local, "latch-count", "deadlock")
        .says("for futex `latch in latch_count`, which no thread");
}

fn plain(how: &str) -> [(&str, &str); 2] {
    [EXHAUSTIVE, ("RADDLE_PLAIN", how)]
}

#[test]
fn plain_accesses_that_are_explored_have_the_classes_of_atomic_ones() {
    let (program, atomic) = (build("plain.c", "plain"), build("counts.c", "plain-counts"));
    let all = |program: &Path, name: &str, settings: &[(&str, &str)]| {
        run(program, &[name], settings).exits(0).all_classes()
    };
    for how in ["promote", "explore"] {
        for count in [2, 3] {
            let plain_classes = all(&program, &format!("counter-{count}"), &plain(how));
            let atomic_classes = all(&atomic, &format!("load-store-{count}"), &[EXHAUSTIVE]);
            assert_eq!(plain_classes, atomic_classes, "{how} {count}");
        }
        // Both see the other's store, or one does.
        assert_eq!(all(&program, "buffering", &plain(how)), 3);
        // The second of two writes is seen only with the first: neither, the first, or both.
        assert_eq!(all(&program, "whole-pair", &plain(how)), 3);
    }
    let enumerated = [
        ("RADDLE_STRATEGY", "enumerate"),
        ("RADDLE_PLAIN", "explore"),
    ];
    assert_eq!(all(&program, "counter-2", &enumerated), 4);
}

#[test]
fn what_comes_of_a_race_is_found_when_it_is_explored() {
    let program = build("plain.c", "consequences");
    for name in ["lost", "buffering", "whole-pair", "torn-pair"] {
        run(&program, &[name], &[EXHAUSTIVE])
            .exits(1)
            .says("raddle: test: data race after ");
    }
    for (name, said) in [
        ("lost", "store 1 to counter"),
        ("torn-pair", "load pair.high = 1"),
    ] {
        for how in ["promote", "explore"] {
            let found = run(&program, &[name], &plain(how));
            found
                .exits(1)
                .says("raddle: test: failed assertion after ")
                .says(said);
            let again = [("RADDLE_REPLAY", found.schedule()), ("RADDLE_PLAIN", how)];
            run(&program, &[name], &again)
                .exits(1)
                .says("raddle: test: failed assertion after 1 execution (replay)");
        }
        // The race itself is a warning then.
        run(&program, &[name], &plain("promote")).says("raddle: test: data race after ");
    }
    run(&program, &["buffering"], &plain("nothing"))
        .exits(2)
        .says("raddle: RADDLE_PLAIN: `nothing` is not one of: race, promote, explore");
}

#[test]
fn where_variables_are_is_known_whatever_else_there_is() {
    let program = build("extents.c", "extents");
    let finished = run(&program, &[], &[EXHAUSTIVE]);
    assert_eq!(finished.exits(0).all_classes(), 1);
}

const KEEP_GOING: (&str, &str) = ("RADDLE_KEEP_GOING", "1");

#[test]
fn a_race_says_how_to_see_what_comes_of_it() {
    let program = build("plain.c", "race-note");
    let race = run(&program, &["lost"], &[EXHAUSTIVE]);
    race.exits(1)
        .says("raddle: test: data race after ")
        .says("\n  note: the check ends with this race, before any failure that it leads to")
        .says("; `--plain promote` goes on with these accesses as scheduling points, `--plain explore` ")
        .says(", and `--keep-going` reports both, the race and what follows\n");
    assert!(
        !race.text.contains("failed assertion after"),
        "{}",
        race.text
    );
    // Weak memory is explored for atomics only.
    let weak = [EXHAUSTIVE, ("RADDLE_MEMORY", "rc11")];
    run(&program, &["lost"], &weak)
        .exits(1)
        .says("; with `--memory sc`, `--plain promote` goes on ");
    // Where races are explored, they do not end the check.
    let promoted = run(&program, &["lost"], &plain("promote"));
    assert!(!promoted.text.contains("the check ends with this race"));
}

#[test]
fn a_check_that_keeps_going_finds_the_race_and_what_comes_of_it() {
    let program = build("plain.c", "race-and-assertion");
    for name in ["lost", "torn-pair"] {
        let both = run(&program, &[name], &[EXHAUSTIVE, KEEP_GOING]);
        both.exits(1)
            .says("raddle: test: data race after ")
            .says("raddle: test: failed assertion after ");
        let race = both.text.find("data race after ");
        assert!(
            race < both.text.find("failed assertion after "),
            "{}",
            both.text
        );
        // The schedule of the assertion is one of the promoted program.
        let assertion = both.text.split("failed assertion after ").nth(1).unwrap();
        let line = assertion.split("  replay: ").nth(1).unwrap();
        assert!(line.contains(" RADDLE_KEEP_GOING=1 "), "{line}");
        let token = line.strip_prefix("RADDLE_REPLAY=").unwrap();
        let token = token.split(' ').next().unwrap();
        run(&program, &[name], &[("RADDLE_REPLAY", token), KEEP_GOING])
            .exits(1)
            .says("failed assertion after 1 execution (replay)");
    }
    // A race that leads to nothing is the only failure.
    let alone = run(&program, &["whole-pair"], &[EXHAUSTIVE, KEEP_GOING]);
    alone.exits(1).says("raddle: test: data race after ");
    assert!(!alone.text.contains("failed assertion"), "{}", alone.text);
}

#[test]
fn standard_error_of_a_program_is_hidden_as_its_output_is() {
    let program = support::compile("gcc", "noisy.c", "noisy", &[]);
    let program = program.to_str().unwrap();
    let in_order = ["run", "--strategy", "exhaustive", "--", program, "in-order"];
    let quiet = support::command(&in_order);
    quiet.exits(0).says("every behaviour was run: ");
    assert!(!quiet.text.contains("noise"), "{}", quiet.text);
    let flags = [
        "run",
        "--strategy",
        "exhaustive",
        "--keep-going",
        "--",
        program,
    ];
    let both = support::command(&flags);
    both.exits(1)
        .says("data race after ")
        .says("failed assertion after ");
    let printed = |line: &str| ["noise of "].iter().any(|start| line.starts_with(start));
    assert!(!both.text.lines().any(printed), "{}", both.text);
    // There is a single execution.
    let replay = [
        "run",
        "--replay",
        both.schedule(),
        "--keep-going",
        "--",
        program,
    ];
    let replayed = support::command(&replay);
    replayed.exits(1);
    for words in ["fprintf", "write", "perror"] {
        replayed.says(&format!("\nnoise of {words}"));
    }
}

#[test]
fn a_race_that_a_lock_hides_is_predicted() {
    let program = build("hidden_race.c", "hidden_race");
    let sampled = [
        ("RADDLE_STRATEGY", "random"),
        ("RADDLE_MAX_EXECUTIONS", "100"),
    ];
    run(&program, &[], &sampled).exits(0);
    let predicting = [sampled[0], sampled[1], ("RADDLE_PREDICTIONS", "warn")];
    let found = run(&program, &[], &predicting);
    found
        .exits(1)
        .says("data race after 2 executions (predicted)")
        .says("hidden_race.c:20")
        .says("hidden_race.c:30");
    let replayed = run(&program, &[], &[("RADDLE_REPLAY", found.schedule())]);
    replayed
        .exits(1)
        .says("data race after 1 execution (replay)");
}
