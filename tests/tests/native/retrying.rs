//! Loops around waits with a time limit in unmodified programs are loops that wait, unless a round changes anything or
//! the loop ends by the clock.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use fastrand::Rng;
use raddle_tests::suite::{Suite, Verdict};

use crate::support::{
    EXHAUSTIVE, Finished, build, build_with, compile, compilers, folder, preloaded, run, rust,
};

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| rust("retrying.rs", "retrying", &[]));
static IN_C: LazyLock<PathBuf> = LazyLock::new(|| build("retrying.c", "retrying-c"));
static RANDOM: LazyLock<PathBuf> = LazyLock::new(|| build("retrying_random.c", "retrying-random"));

const FEW: (&str, &str) = ("RADDLE_MAX_EXECUTIONS", "20000");

/// A loop that is not recognised has no more events than this.
const SHORT: (&str, &str) = ("RADDLE_MAX_EVENTS", "2000");

fn check(name: &str) -> Finished {
    run(&PROGRAM, &[name], &[preloaded(), EXHAUSTIVE, FEW])
}

#[test]
fn a_wait_with_a_time_limit_that_is_tried_again_is_exhausted() {
    for name in [
        "waits",
        "two_wait",
        "receives",
        "receives_from_a_buffer",
        "parks",
        "sleeps",
    ] {
        check(name).exits(0).says("every behaviour was run: ");
    }
    for name in ["waits_for_ever", "receives_for_ever"] {
        check(name).exits(1).says("livelock");
    }
}

#[test]
fn rounds_that_differ_are_run() {
    check("counts").exits(1).says("three rounds");
    check("is_told").exits(1).says("notified");
    check("gives_up").exits(1).says("too late");
    check("gives_up_after_an_hour").exits(1).says("too late");
}

#[test]
fn a_lost_wake_up_beside_a_thread_that_polls_is_found() {
    check("loses_a_wake_up")
        .exits(1)
        .says("for Condvar#1, which no thread will notify");
    run(&IN_C, &["loses_a_wake_up"], &[EXHAUSTIVE, FEW])
        .exits(1)
        .says("for condvar `other_changed`, which no thread will notify");
}

/// Optimisers differ in where they keep times, and in which units.
#[test]
fn waits_whose_end_is_computed_from_the_clock_are_exhausted() {
    for compiler in compilers() {
        for level in ["-O0", "-O2"] {
            let test = format!("retrying{level}");
            let program = compile(compiler, "retrying.c", &test, &[level]);
            for name in [
                "seconds",
                "milliseconds",
                "two_wait",
                "one_time",
                "locks",
                "semaphore",
                "sleeps",
            ] {
                run(&program, &[name], &[EXHAUSTIVE, FEW])
                    .exits(0)
                    .says("every behaviour was run: ");
            }
            run(&program, &["waits_for_ever"], &[EXHAUSTIVE])
                .exits(1)
                .says("livelock");
        }
    }
}

#[test]
fn waits_of_cpp_with_a_time_limit_are_exhausted() {
    for level in ["-O0", "-O1", "-O2"] {
        let program = build_with("retrying.cpp", &format!("retrying-cpp{level}"), &[level]);
        let check = |name| run(&program, &[name], &[EXHAUSTIVE, FEW]);
        for name in [
            "for_a_while",
            "until_a_time",
            "with_a_condition",
            "try_for_a_lock",
            "look_and_sleep",
        ] {
            check(name).exits(0).says("every behaviour was run: ");
        }
        check("for_ever").exits(1).says("livelock");
        for name in ["gives_up", "gives_up_by_a_condition"] {
            check(name).exits(1).says("too late");
        }
    }
}

/// Wherever the deadline is, and whenever the time is compared with it. The replay reads the same times.
#[test]
fn a_loop_that_ends_by_the_clock_is_none_that_waits() {
    for name in [
        "gives_up",
        "gives_up_by_a_static",
        "gives_up_with_delay",
        "gives_up_asleep",
    ] {
        for strategy in ["exhaustive", "random", "pct"] {
            let found = run(&IN_C, &[name], &[("RADDLE_STRATEGY", strategy), FEW]);
            found.exits(1).says("too late");
            run(&IN_C, &[name], &[("RADDLE_REPLAY", found.schedule())])
                .exits(1)
                .says("too late");
        }
    }
    // A counter is no time, although it changes as the seconds do, and no wait lasts for a month.
    run(&IN_C, &["counts"], &[EXHAUSTIVE])
        .exits(0)
        .says("every behaviour was run: ");
}

/// Such a loop leaves once the flag is up, so that there is no livelock; there is no end of its rounds before.
#[test]
fn a_loop_that_looks_only_at_some_times_is_none_that_waits() {
    for name in ["looks_soon", "looks_at_times"] {
        let few = ("RADDLE_MAX_EXECUTIONS", "400");
        let found = run(&IN_C, &[name], &[EXHAUSTIVE, few, SHORT]);
        assert!(!found.text.contains("livelock"), "{}", found.text);
        assert!(!is_exhausted(&found), "{}", found.text);
    }
}

/// A program for `retrying_random.c`: the statements of each thread.
#[derive(Clone, Debug)]
struct Program(Vec<String>);

/// Kinds of waits that end by nothing but the count.
const LASTING: [char; 4] = ['n', 's', 'u', 'm'];
/// Kinds of waits that end in another way too.
const ENDING: [char; 3] = ['l', 'g', 'b'];

impl Program {
    fn random(rng: &mut Rng) -> Self {
        let threads = 2 + usize::from(rng.u8(..4) == 0);
        let most = if threads == 2 { 3 } else { 2 };
        let places = rng.usize(1..=2);
        let statement = |rng: &mut Rng| {
            let at = rng.usize(..places);
            match rng.u8(..12) {
                0 => "L___".to_owned(),
                1 => format!("S{}__", rng.u8(1..=2)),
                2 => format!("R{at}__"),
                3..=6 => format!("A{at}{}{}", rng.u8(..3), rng.u8(..2)),
                _ => {
                    let kind = rng.choice([&LASTING[..], &ENDING].concat()).unwrap();
                    format!("W{at}{}{kind}", rng.u8(1..=2))
                }
            }
        };
        let thread = |rng: &mut Rng| (0..rng.usize(1..=most)).map(|_| statement(rng)).collect();
        Program((0..threads).map(|_| thread(rng)).collect())
    }

    /// The statements of each thread.
    fn statements(&self) -> impl Iterator<Item = Vec<[char; 4]>> {
        self.0.iter().map(|text| {
            let letters: Vec<char> = text.chars().collect();
            letters.as_chunks().0.to_vec()
        })
    }

    fn has_wait(&self, kinds: &[char]) -> bool {
        let mut all = self.statements().flatten();
        all.any(|[what, _, _, kind]| what == 'W' && kinds.contains(&kind))
    }

    /// True when some thread waits for ever. Counts only grow, so the order of the threads makes no difference.
    fn never_ends(&self) -> bool {
        let mut counts = [0; 2];
        let mut threads: Vec<_> = self.statements().map(Vec::into_iter).collect();
        let index = |at: char| at.to_digit(10).unwrap() as usize;
        loop {
            let mut moved = false;
            for thread in &mut threads {
                while let Some(&[what, at, count, _]) = thread.as_slice().first() {
                    match what {
                        'W' if counts[index(at)] < index(count) => break,
                        'A' => counts[index(at)] += 1,
                        _ => {}
                    }
                    thread.next();
                    moved = true;
                }
            }
            if !moved {
                return threads.iter().any(|thread| thread.len() > 0);
            }
        }
    }

    /// Runs every class with at most this many rounds of each loop, or any number for 0.
    fn run(&self, rounds: u32) -> (BTreeSet<String>, Finished) {
        let file = folder("retrying-random").join("outcomes");
        let _ = std::fs::remove_file(&file);
        let settings = [
            EXHAUSTIVE,
            ("RETRYING_OUTCOMES", file.to_str().unwrap()),
            ("RADDLE_KEEP_GOING", "1"),
            SHORT,
            ("RADDLE_MAX_EXECUTIONS", "2000"),
        ];
        let rounds = rounds.to_string();
        let threads = self.0.iter().map(String::as_str);
        let arguments: Vec<&str> = [&rounds[..]].into_iter().chain(threads).collect();
        let finished = run(&RANDOM, &arguments, &settings);
        let outcomes = std::fs::read_to_string(&file).unwrap_or_default();
        (outcomes.lines().map(str::to_owned).collect(), finished)
    }
}

fn is_exhausted(finished: &Finished) -> bool {
    finished.text.contains(": every behaviour was run: ")
}

fn compare(program: &Program) -> Verdict {
    if !program.has_wait(&LASTING) && !program.has_wait(&ENDING) {
        return Verdict::Skipped;
    }
    let (few, bounded) = program.run(2);
    if !is_exhausted(&bounded) {
        return Verdict::Skipped;
    }
    bounded.exits(0);
    let (found, all) = program.run(0);
    assert!(found.is_superset(&few), "{found:?} {few:?}\n{}", all.text);
    if !is_exhausted(&all) {
        return Verdict::Skipped;
    }
    let livelocks = all.text.contains("livelock");
    if !program.has_wait(&ENDING) {
        assert_eq!(livelocks, program.never_ends(), "{}", all.text);
    }
    let (more, bounded) = program.run(4);
    if is_exhausted(&bounded) {
        assert_eq!(found, more, "{}", all.text);
    }
    Verdict::Agreed
}

#[test]
fn random_programs_that_compute_deadlines_are_as_with_a_few_rounds() {
    Suite::new(40, 1).run(Program::random, |program, _| compare(program));
}
