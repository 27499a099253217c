//! Total replay: the classes that are consistent with a partial trace, against a filter over all classes.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::{Mutex as StdMutex, PoisonError};

use fastrand::Rng;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Checker, FailureKind, Memory, PartialTrace, Report, Strategy, thread};
use raddle_engine::{ClassEntry, Execution};
use raddle_tests::suite::{Suite, Verdict};

/// What a program logs: the thread, and the place of an operation that it has performed.
type Log = Vec<(String, String)>;

/// The log of the execution that runs.
static LOG: StdMutex<Log> = StdMutex::new(Vec::new());
/// Tests that use the log run one after the other.
static TURN: StdMutex<()> = StdMutex::new(());

fn log() -> std::sync::MutexGuard<'static, Log> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

#[track_caller]
fn passed(thread: &str) {
    let place = Location::caller();
    log().push((
        thread.to_owned(),
        format!("{}:{}", place.file(), place.line()),
    ));
}

#[derive(Clone, Copy, Debug)]
enum Statement {
    Read(usize),
    Write(usize),
    Add(usize),
    Section(usize),
    /// If the register is odd.
    IfOdd(usize),
}

const THINGS: usize = 2;

fn draw(rng: &mut Rng) -> Vec<Vec<Statement>> {
    let statement = |rng: &mut Rng| {
        let thing = rng.usize(..THINGS);
        match rng.u32(..6) {
            0 | 1 => Statement::Read(thing),
            2 => Statement::Write(thing),
            3 => Statement::Add(thing),
            4 => Statement::Section(thing),
            _ => Statement::IfOdd(thing),
        }
    };
    let threads = rng.usize(2..=3);
    (0..threads)
        .map(|_| (0..rng.usize(1..=3)).map(|_| statement(rng)).collect())
        .collect()
}

#[derive(Default)]
struct World {
    numbers: [AtomicU32; THINGS],
    locks: [Mutex<u32>; THINGS],
}

/// Each operation has a line of its own.
#[rustfmt::skip]
fn interpret(world: &World, thread: &str, statements: &[Statement]) {
    let mut register = 0;
    for statement in statements {
        match *statement {
            Statement::Read(0) => { register = world.numbers[0].load(SeqCst); passed(thread); }
            Statement::Read(it) => { register = world.numbers[it].load(SeqCst); passed(thread); }
            Statement::Write(0) => { world.numbers[0].store(register + 1, SeqCst); passed(thread); }
            Statement::Write(it) => { world.numbers[it].store(register + 1, SeqCst); passed(thread); }
            Statement::Add(0) => { register = world.numbers[0].fetch_add(1, SeqCst); passed(thread); }
            Statement::Add(it) => { register = world.numbers[it].fetch_add(1, SeqCst); passed(thread); }
            Statement::Section(it) => {
                let mut value = world.locks[it].lock().unwrap(); passed(thread);
                register = *value;
                *value += 1;
            }
            Statement::IfOdd(it) if register % 2 == 1 => { world.numbers[it].store(7, SeqCst); passed(thread); }
            Statement::IfOdd(_) => {}
        }
    }
}

fn run(threads: &[Vec<Statement>]) {
    log().clear();
    let world = Arc::new(World::default());
    let threads: Vec<_> = (1..)
        .zip(threads.iter().cloned())
        .map(|(number, statements)| {
            let world = Arc::clone(&world);
            thread::spawn(move || interpret(&world, &format!("main.{number}"), &statements))
        })
        .collect();
    threads.into_iter().for_each(|it| it.join().unwrap());
}

fn checker(strategy: Strategy) -> Checker {
    let checker = Checker::new().strategy(strategy).memory(Memory::Sc);
    checker.keep_going(true).shorten(false)
}

type Class = Vec<ClassEntry>;

/// Runs a check; returns the classes that count, and the log of each execution.
fn classes(
    checker: Checker,
    program: impl Fn() + Send + Sync,
) -> (BTreeMap<Class, Vec<Log>>, Report) {
    let mut all: BTreeMap<Class, Vec<Log>> = BTreeMap::new();
    let mut observe = |execution: &Execution| {
        all.entry(execution.class())
            .or_default()
            .push(log().clone());
    };
    let report = raddle::__private::run_observed(checker, program, &mut observe);
    (all, report)
}

/// Returns the lines of a log at some places.
fn at(log: &Log, thread: &str, places: &BTreeSet<&String>) -> Vec<String> {
    let own = log
        .iter()
        .filter(|(it, place)| it == thread && places.contains(place));
    own.map(|(_, place)| place.clone()).collect()
}

/// True when some log of a class begins with the lines of each thread. A place that the lines of a thread have is always
/// logged.
fn fits(logs: &[Log], lines: &Log) -> bool {
    let threads: BTreeSet<&String> = lines.iter().map(|(thread, _)| thread).collect();
    threads.into_iter().all(|thread| {
        let own: Vec<String> = (lines.iter())
            .filter(|(it, _)| it == thread)
            .map(|(_, place)| place.clone())
            .collect();
        let places: BTreeSet<&String> = own.iter().collect();
        at(&logs[0], thread, &places).starts_with(&own)
    })
}

/// True when the lines of a log are in this order in some schedule of the class.
fn fits_in_order(logs: &[Log], lines: &Log) -> bool {
    logs.iter().any(|log| {
        let mut counts: BTreeMap<&(String, String), usize> = BTreeMap::new();
        let mut last = None;
        lines.iter().all(|line| {
            let count = counts.entry(line).or_default();
            let place = log
                .iter()
                .enumerate()
                .filter(|(_, it)| *it == line)
                .nth(*count);
            *count += 1;
            let place = place.map(|(index, _)| index);
            let is_later = place > last;
            last = place;
            is_later
        })
    })
}

#[test]
fn pruned_searches_have_the_classes_of_a_filter_over_all() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut pruned_runs, mut all_runs, mut consistent) = (0, 0, 0);
    let mut narrow = 0;
    Suite::new(150, 5).run(draw, |threads, rng| {
        let program = || run(threads);
        let schedules = checker(Strategy::EnumeratePrivateFirst).max_executions(3_000);
        let (all, report) = classes(schedules, program);
        if report.executions >= 3_000 || all.len() < 2 {
            return Verdict::Skipped;
        }
        // A part of the log of some execution.
        let logs: Vec<&Log> = all.values().flatten().collect();
        let whole = logs[rng.usize(..logs.len())];
        let kept: BTreeSet<String> = whole
            .iter()
            .filter(|_| rng.u32(..4) > 0)
            .map(|(_, place)| place.clone())
            .collect();
        let hidden = rng.usize(..=threads.len());
        let hidden = format!("main.{hidden}");
        let mut lines: Log = whole
            .iter()
            .filter(|(thread, place)| *thread != hidden && kept.contains(place))
            .cloned()
            .collect();
        if lines.is_empty() {
            return Verdict::Skipped;
        }
        lines.truncate(rng.usize(1..=lines.len()));
        let is_ordered = rng.u32(..4) > 0;
        let mut text = lines
            .iter()
            .map(|(thread, place)| format!("{thread} {place}\n"))
            .collect::<String>();
        if is_ordered {
            text.insert_str(0, "ordered\n");
        }
        let trace: PartialTrace = text.parse().unwrap();
        let search = checker(Strategy::Exhaustive).consistent_with_trace(trace);
        let (pruned, with) = classes(search.clone(), program);
        let (filtered, without) = classes(search.without_pruning(), program);
        for report in [&with, &without] {
            assert!(report.consistency().unwrap().is_complete, "{report}");
            assert!(!report.exhausted);
        }
        let names = |of: &BTreeMap<Class, Vec<Log>>| of.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&pruned), names(&filtered), "{text}");
        assert!(
            pruned.values().all(|logs| logs.len() == 1),
            "no class twice"
        );
        let is_expected =
            |logs: &[Log]| fits(logs, &lines) && (!is_ordered || fits_in_order(logs, &lines));
        let expected: BTreeSet<Class> = all
            .iter()
            .filter(|(_, logs)| is_expected(logs))
            .map(|(class, _)| class.clone())
            .collect();
        assert_eq!(names(&pruned), expected, "{text}");
        assert!(!expected.is_empty());
        assert!(with.runs() <= without.runs());
        narrow += usize::from(expected.len() < all.len());
        pruned_runs += with.runs();
        all_runs += without.runs();
        consistent += pruned.len() as u64;
        Verdict::Agreed
    });
    println!(
        "{consistent} classes in {pruned_runs} runs with pruning, {all_runs} without; {narrow} narrow"
    );
    assert!(narrow > 0 && pruned_runs <= all_runs);
}

/// Three threads that each add to one number twice.
fn adds() {
    let number = Arc::new(AtomicU32::new(0));
    let threads = [0, 1, 2].map(|_| {
        let number = Arc::clone(&number);
        thread::spawn(move || {
            number.fetch_add(1, SeqCst);
            number.fetch_add(1, SeqCst);
        })
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
}

#[test]
fn an_order_of_additions_has_the_classes_that_are_counted() {
    let first = line_of("adds", "number.fetch_add(1");
    let runs = |threads: &[u32], expected: u64| {
        let mut log = String::from("ordered\n");
        let mut passes = [0; 4];
        for &thread in threads {
            let line = first + passes[thread as usize];
            passes[thread as usize] += 1;
            log += &format!("main.{thread} total_replay.rs:{line}\n");
        }
        let [pruned, all] = [traced(&log), traced(&log).without_pruning()].map(|it| it.run(adds));
        assert_eq!((pruned.executions, all.executions), (expected, expected));
        assert!(pruned.consistency().unwrap().is_complete);
        // Every order of six additions, two of each thread.
        assert_eq!(all.runs(), 90);
        // An addition that takes the latest one may be revisited, so no contradiction is final.
        assert_eq!(pruned.runs(), 90);
    };
    runs(&[3, 2, 1, 1, 2, 3], 1);
    runs(&[2, 3, 3], 45);
}

/// Two threads, each of which writes what it has read before, and the lines of the reads and the writes.
fn loses_an_update() {
    let number = Arc::new(AtomicU32::new(0));
    let threads = ["first", "second"].map(|name| {
        let number = Arc::clone(&number);
        let thread = thread::Builder::new().name(name.to_owned());
        thread
            .spawn(move || {
                let old = number.load(SeqCst);
                number.store(old + 1, SeqCst);
            })
            .unwrap()
    });
    threads.into_iter().for_each(|it| it.join().unwrap());
    assert_eq!(number.load(SeqCst), 2);
}

/// Returns the line of this file that contains a text in the function of that name.
fn line_of(function: &str, text: &str) -> u32 {
    let source = include_str!("total_replay.rs");
    let mut lines = (1..).zip(source.lines());
    let start = format!("fn {function}(");
    lines.find(|(_, line)| line.starts_with(&start)).unwrap();
    lines.find(|(_, line)| line.contains(text)).unwrap().0
}

fn traced(text: &str) -> Checker {
    let checker = Checker::new().memory(Memory::Sc);
    checker.consistent_with_trace(text.parse().unwrap())
}

#[test]
fn a_failure_is_reproduced_from_the_log_of_its_run() {
    let read = line_of("loses_an_update", "number.load(SeqCst)");
    let write = line_of("loses_an_update", "number.store(");
    let log = format!(
        "ordered\nfirst total_replay.rs:{read}\nsecond total_replay.rs:{read}\nfirst total_replay.rs:{write}\n"
    );
    let report = traced(&log).run(loses_an_update);
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].kind, FailureKind::Panic);
    assert!(report.to_string().starts_with("reproduced: "), "{report}");
    assert!(!report.exhausted);
    // In this order nothing is lost.
    let log = format!("ordered\nfirst total_replay.rs:{write}\nsecond total_replay.rs:{read}\n");
    let report = traced(&log).run(loses_an_update);
    let text = report.to_string();
    let start = "every behaviour that is consistent with the partial trace was run, and none fails: 1 class ";
    assert!(text.starts_with(start), "{text}");
}

fn takes_both_locks() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let other = Arc::clone(&locks);
    let thread = thread::Builder::new().name("other".to_owned());
    let thread = thread.spawn(move || {
        let _b = other.1.lock().unwrap();
        let _then_a = other.0.lock().unwrap();
    });
    let _a = locks.0.lock().unwrap();
    let _then_b = locks.1.lock().unwrap();
    drop((_a, _then_b));
    thread.unwrap().join().unwrap();
}

#[test]
fn a_deadlock_is_reproduced_from_the_stacks_of_a_core() {
    let [own, other] = ["let _then_b", "let _then_a"].map(|text| line_of("takes_both_locks", text));
    let stacks = format!("main at total_replay.rs:{own}\nother at total_replay.rs:{other} lock\n");
    let report = traced(&stacks).run(takes_both_locks);
    assert_eq!(report.failures.len(), 1, "{report}");
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock);
    // A thread that is at its first lock is at another place, in the class that deadlocks too.
    let first = line_of("takes_both_locks", "let _b");
    let before = format!("other at total_replay.rs:{first}\nother at total_replay.rs:1\n");
    let report = traced(&before).keep_going(true).run(takes_both_locks);
    assert!(report.consistency().unwrap().is_complete);
    assert_eq!(report.executions, 3, "{report}");
}

#[test]
fn a_trace_of_another_program_fits_nothing() {
    let report = traced("main elsewhere.rs:3\n").run(loses_an_update);
    assert!(report.failures.is_empty());
    let text = report.to_string();
    assert!(
        text.starts_with("no behaviour is consistent with the partial trace: none in "),
        "{text}"
    );
    // The main thread always passes the line twice at most; the search knows it before it runs every class.
    let all = Checker::new()
        .strategy(Strategy::Exhaustive)
        .memory(Memory::Sc);
    let all = all.keep_going(true).run(loses_an_update);
    assert!(report.runs() <= all.runs());
}

#[test]
fn a_part_of_the_classes_is_not_called_all() {
    let read = line_of("loses_an_update", "number.load(SeqCst)");
    let log = format!("first total_replay.rs:{read}\n");
    let checker = traced(&log).keep_going(true).max_executions(1);
    let report = checker.run(loses_an_update);
    assert!(!report.consistency().unwrap().is_complete, "{report}");

    // A cut execution hides what would have come after it.
    let log = format!("main total_replay.rs:{}\n", line!() + 4);
    let endless = traced(&log).keep_going(true).max_events(60).run(|| {
        let number = AtomicU32::new(0);
        loop {
            number.fetch_add(1, SeqCst);
            if number.load(SeqCst) == u32::MAX {
                break;
            }
        }
    });
    assert!(!endless.consistency().unwrap().is_complete, "{endless}");
}

#[test]
fn a_file_with_a_mistake_is_named_with_its_line() {
    let path = std::env::temp_dir().join(format!("raddle-partial-{}.txt", std::process::id()));
    std::fs::write(&path, "main src/lib.rs:1\nmain src/lib.rs\n").unwrap();
    let checker = Checker::new().consistent_with(&path);
    let panic = std::panic::catch_unwind(|| checker.run(|| {})).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap().clone();
    let expected = format!(
        "raddle: {}: line 2: `src/lib.rs` is not a place; ",
        path.display()
    );
    assert!(message.starts_with(&expected), "{message}");
    std::fs::remove_file(&path).unwrap();
    let checker = Checker::new().consistent_with(&path);
    let panic = std::panic::catch_unwind(|| checker.run(|| {})).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("cannot be read"), "{message}");
}

#[test]
fn lines_are_those_of_threads() {
    let text = "# log\nordered\nmain src/a.rs:3\n\"my worker\" a.rs:4:7 lock\nmain at b.rs:9\nmain at c.rs:1\n";
    let trace: PartialTrace = text.parse().unwrap();
    assert!(trace.is_ordered);
    let [main, worker] = &trace.threads[..] else {
        panic!("{trace:?}");
    };
    let lengths = (main.passed.len(), main.at.len());
    assert_eq!((&*main.thread, lengths), ("main", (1, 2)));
    assert_eq!(main.passed[0].line, 3);
    assert_eq!(worker.thread, "my worker");
    let place = &worker.passed[0].place;
    assert_eq!((place.line, place.column), (4, Some(7)));
    assert_eq!(place.operation.as_deref(), Some("lock"));
}

#[test]
fn what_is_no_line_is_named() {
    for (text, problem) in [
        ("", "there is no line of a thread"),
        ("main", "line 1: the place is missing"),
        ("\nmain a.rs", "line 2: `a.rs` is not a place"),
        ("main a.rs:0", "line 1: `a.rs:0` is not a place"),
        ("main a.rs:1 lock now", "line 1: `now` is too much"),
        ("\"main a.rs:1", "line 1: a quote is not closed"),
        (
            "main at a.rs:1\nmain a.rs:2",
            "line 2: `main` goes on after the place it was at",
        ),
    ] {
        let error = text.parse::<PartialTrace>().unwrap_err().to_string();
        assert!(error.starts_with(problem), "{error}");
    }
}

#[test]
fn files_match_by_their_last_parts() {
    let place = |text: &str| {
        let trace: PartialTrace = format!("main {text}").parse().unwrap();
        trace.threads[0].passed[0].place.clone()
    };
    let line = place("src/a.rs:3");
    assert!(line.is("src/a.rs:3:1") && line.is("crates/x/src/a.rs:3:9"));
    // The path of the compiler may be the shorter one.
    assert!(line.is("a.rs:3:1"));
    assert!(!line.is("src/a.rs:4:1") && !line.is("src/ba.rs:3:1") && !line.is("nonsense"));
    let column = place("a.rs:3:5");
    assert!(column.is("src/a.rs:3:5") && !column.is("src/a.rs:3:6"));
}
