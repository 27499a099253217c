//! Searches that are killed, interrupted, or saved in files that were changed afterwards.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Guarantee, Report, Strategy, thread};
use raddle_tests::child::ignored_test;
use raddle_tests::programs::{philosophers, racy_counter};
use raddle_tests::published::readers_and_writers_continuing;
use raddle_tests::resumed::Scratch;
use raddle_tests::test_name;

/// Only the parent sets it: where the child writes what it has run.
const LOG: &str = "RADDLE_TESTS_LOG";
/// How many workers the child has.
const WORKERS: &str = "RADDLE_TESTS_WORKERS";
/// Set where the child is to wait after two intervals for the parent's permission.
const PAUSES: &str = "RADDLE_TESTS_PAUSES";
/// How many classes RW-monitorSC has.
const CLASSES: u64 = 61_716;
/// Executions between two checkpoints.
const INTERVAL: u64 = 1_500;

/// A whole search, whose classes are written down as they are run.
#[test]
#[ignore = "run by the tests of this file"]
fn child() {
    let Some(log) = std::env::var_os(LOG).map(PathBuf::from) else {
        return;
    };
    let workers = std::env::var(WORKERS).unwrap().parse().unwrap();
    let file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(&log);
    let mut file = file.unwrap();
    let checker = Checker::new()
        .strategy(Strategy::Exhaustive)
        .workers(workers)
        .checkpoint(log.with_extension("frontier"))
        .checkpoint_every_executions(INTERVAL)
        .resume(true);
    let program = readers_and_writers_continuing;
    let pauses = std::env::var_os(PAUSES).is_some();
    let report = raddle::__private::run_observed(checker, program, &mut |execution| {
        file.write_all(&execution.fingerprint().to_le_bytes())
            .unwrap();
        while pauses && length(&log) >= 2 * INTERVAL && !go(&log).exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    assert!(report.exhausted, "{report}");
    let counts = (report.executions, report.classes(), report.discarded);
    println!("finished {counts:?}");
}

/// The file that permits a child that waits to go on.
fn go(log: &Path) -> PathBuf {
    log.with_extension("go")
}

fn start(log: &Path, workers: usize) -> Child {
    start_with(log, workers, &[])
}

/// Starts a child that Ctrl-C ends, even if this process runs in the background of a script, where it is
/// ignored.
fn start_with(log: &Path, workers: usize, variables: &[(&str, &str)]) -> Child {
    let test = ignored_test(&test_name!("child"));
    Command::new("env")
        .arg("--default-signal=INT")
        .arg(test.get_program())
        .args(test.get_args())
        .arg("--nocapture")
        .envs(variables.iter().copied())
        .env(LOG, log)
        .env(WORKERS, workers.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn length(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |data| data.len() / 8)
}

/// Waits until the child has run this number of classes more; `false` if it ended before that.
fn runs(child: &mut Child, log: &Path, classes: u64) -> bool {
    reaches(child, log, length(log) + classes)
}

/// Waits until this number of classes was run; `false` if the child ended before that.
fn reaches(child: &mut Child, log: &Path, until: u64) -> bool {
    let start = Instant::now();
    while length(log) < until {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(start.elapsed() < Duration::from_secs(600), "it hangs");
        std::thread::sleep(Duration::from_micros(200));
    }
    true
}

/// Kills the search ten times and lets it come to its end; how many executions were run again.
fn killed_ten_times(workers: usize, seed: u64) -> u64 {
    let mut rng = Rng::with_seed(seed);
    let log = Scratch::new("killed");
    let frontier = Scratch(log.0.with_extension("frontier"));
    for _ in 0..10 {
        let mut child = start(&log.0, workers);
        assert!(
            runs(&mut child, &log.0, rng.u64(1..6_500)),
            "it ended too early"
        );
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
    let output = start(&log.0, workers).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let finished = format!("finished ({CLASSES}, {CLASSES}, 0)");
    assert!(text.contains(&finished), "{text}");
    assert!(!frontier.0.exists(), "what has come to its end is not kept");
    let bytes = std::fs::read(&log.0).unwrap();
    let run = bytes
        .chunks_exact(8)
        .map(|class| u64::from_le_bytes(class.try_into().unwrap()));
    let classes: HashSet<u64> = run.collect();
    assert_eq!(classes.len() as u64, CLASSES);
    length(&log.0) - CLASSES
}

#[test]
fn a_search_that_is_killed_ten_times_loses_nothing() {
    let again = killed_ten_times(1, 1);
    assert!(again <= 10 * INTERVAL, "{again} executions were run again");
    println!("{again} executions were run again");
}

/// The others go on while one puts down its part, and for how long is up to the machine.
#[test]
fn so_does_one_of_several_workers() {
    let again = killed_ten_times(3, 2);
    println!("{again} executions were run again");
}

/// True while no thread of the process has taken the signal of Ctrl-C.
fn is_interrupt_pending(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = u64::from_str_radix(pending.unwrap().trim(), 16).unwrap();
    pending & 1 << (2 - 1) != 0
}

#[test]
fn ctrl_c_saves_the_search_and_ends_the_process() {
    let log = Scratch::new("interrupted");
    let frontier = Scratch(log.0.with_extension("frontier"));
    let go = Scratch(go(&log.0));
    let mut child = start_with(&log.0, 2, &[(PAUSES, "1")]);
    assert!(reaches(&mut child, &log.0, 2 * INTERVAL));
    let mut kill = Command::new("kill");
    kill.args(["-INT", &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
    while is_interrupt_pending(child.id()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // The search waits, so it has most of its classes before it when the signal comes.
    std::fs::write(&go.0, "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    let classes = length(&log.0);
    let expected = format!(
        "\nraddle: interrupted after {classes} classes; continue with RADDLE_RESUME=1 cargo test \
         resume::child -- --exact\n"
    );
    assert!(said.contains(&expected), "{said}");
    assert!(frontier.0.exists());
    let output = start(&log.0, 2).wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(length(&log.0), CLASSES, "nothing was run again");
}

/// A search that goes on with what is in the file.
fn resuming(file: &Scratch) -> Checker {
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .checkpoint(&file.0)
        .checkpoint_every_executions(u64::MAX)
        .resume(true)
        .keep_going(true)
        .shorten(false)
}

fn racy(checker: Checker) -> Report {
    checker.run(|| {
        racy_counter(2, 2);
    })
}

#[test]
fn the_report_says_how_to_go_on() {
    let file = Scratch::new("report");
    let report = racy(resuming(&file).max_executions(10));
    assert!(!report.exhausted);
    let command = "RADDLE_RESUME=1 cargo test resume::the_report_says_how_to_go_on -- --exact";
    assert_eq!(report.resume.as_deref(), Some(command));
    let text = report.to_string();
    let expected = format!("\ninterrupted after 10 classes; continue with {command}");
    assert!(text.ends_with(&expected), "{text}");
    let report = racy(resuming(&file));
    assert!(report.exhausted);
    assert_eq!((report.classes(), report.resume), (34, None));
}

#[test]
fn without_resume_a_search_starts_anew() {
    let file = Scratch::new("anew");
    racy(resuming(&file).max_executions(10));
    let report = racy(resuming(&file).resume(false).max_executions(3));
    assert_eq!(report.executions, 3);
}

#[test]
fn failures_are_found_again() {
    let file = Scratch::new("failures");
    let whole = resuming(&file).run(|| philosophers(5));
    assert_eq!(whole.failures.len(), 1);
    let mut runs = 0;
    let report = loop {
        let report = resuming(&file).max_executions(1).run(|| philosophers(5));
        runs += 1;
        if report.exhausted {
            break report;
        }
    };
    assert_eq!((runs, report.classes()), (31, 31));
    let [failure] = &report.failures[..] else {
        panic!("{report}");
    };
    assert_eq!(failure.gist(), whole.failures[0].gist());
    assert_eq!(failure.schedule.steps, whole.failures[0].schedule.steps);
    assert_eq!(failure.execution, whole.failures[0].execution);
    assert_eq!(failure.search, "exhaustive");
}

#[test]
fn a_bounded_search_goes_on_within_its_bound() {
    for preemptions in 0..4 {
        let bounded = |checker: Checker| {
            let mut classes = Vec::new();
            let checker = checker.preemptions(preemptions);
            let program = || _ = racy_counter(3, 2);
            let report = raddle::__private::run_observed(checker, program, &mut |execution| {
                classes.push(execution.fingerprint());
            });
            (classes, report)
        };
        let file = Scratch::new("bounded");
        let (whole, expected) = bounded(resuming(&file));
        assert_eq!(expected.guarantee(), Guarantee::Bounded { preemptions });
        let (mut pieces, mut runs) = (Vec::new(), 0);
        let report = loop {
            let (classes, report) = bounded(resuming(&file).max_executions(20));
            pieces.extend(classes);
            runs += 1;
            if report.resume.is_none() {
                break report;
            }
        };
        assert!(runs * 20 >= whole.len(), "{runs} runs");
        assert_eq!(report.guarantee(), expected.guarantee());
        assert_eq!(report.classes(), expected.classes());
        assert_eq!(pieces.len(), whole.len(), "none was run twice");
        let set = |classes: Vec<u64>| classes.into_iter().collect::<HashSet<u64>>();
        assert!(set(pieces) == set(whole));
    }
}

#[test]
fn a_damaged_file_is_set_aside() {
    let file = Scratch::new("damaged");
    let aside = Scratch(file.0.with_extension("unreadable"));
    for change in [
        |text: String| text.replacen("read", "reed", 1),
        |text: String| text.replacen("frontier 1", "frontier 2", 1),
        |text: String| text[..text.len() / 2].to_owned(),
        |_| String::new(),
    ] {
        racy(resuming(&file).max_executions(10));
        let text = std::fs::read_to_string(&file.0).unwrap();
        let changed = change(text);
        std::fs::write(&file.0, &changed).unwrap();
        let report = racy(resuming(&file));
        assert_eq!((report.exhausted, report.classes()), (true, 34));
        assert_eq!(std::fs::read_to_string(&aside.0).unwrap(), changed);
    }
}

#[test]
fn another_search_is_not_continued() {
    let file = Scratch::new("another");
    racy(resuming(&file).max_executions(10));
    let refused = |checker: Checker| {
        let refused = std::panic::catch_unwind(|| racy(checker)).unwrap_err();
        let text = refused.downcast::<String>().unwrap();
        assert!(file.0.exists(), "the file is kept");
        text.replace(&*file.0.to_string_lossy(), "FILE")
    };
    let start = "raddle: the search saved in FILE cannot be continued: ";
    let end = "; remove the file, or run without RADDLE_RESUME";
    assert_eq!(
        refused(resuming(&file).weak_cas(false)),
        format!("{start}its setting `weak_cas` is true, and here it is false{end}")
    );
    let text = std::fs::read_to_string(&file.0).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("setting program "));
    let changed = text.replace(line.unwrap(), "setting program 0123456789abcdef");
    std::fs::write(&file.0, with_checksum(&changed)).unwrap();
    assert_eq!(
        refused(resuming(&file)),
        format!("{start}the program has been built anew since then{end}")
    );
}

/// The text with the sum that belongs to it: FNV-1a of all lines before the last.
fn with_checksum(text: &str) -> String {
    let end = text.rfind("checksum").unwrap();
    let sum = text[..end]
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{}checksum {sum:016x}\n", &text[..end])
}

/// Whether the first thing it does is a store or a load depends on how often it was run.
fn changes_its_mind(runs: &std::sync::atomic::AtomicU32, from: u32) {
    let value = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&value);
    let thread = thread::spawn(move || other.store(1, SeqCst));
    match runs.fetch_add(1, SeqCst) < from {
        true => value.store(2, SeqCst),
        false => drop(value.load(SeqCst)),
    }
    value.store(3, SeqCst);
    thread.join().unwrap();
}

#[test]
fn a_program_that_changes_between_two_parts_is_noticed() {
    let file = Scratch::new("changed");
    let runs = std::sync::atomic::AtomicU32::new(0);
    let run = |checker: Checker| checker.run(|| changes_its_mind(&runs, 1));
    let report = run(resuming(&file).max_executions(1));
    assert!(report.failures.is_empty(), "{report}");
    let report = run(resuming(&file));
    let [failure] = &report.failures[..] else {
        panic!("{report}");
    };
    assert_eq!(failure.kind, FailureKind::Nondeterminism);
    let lines: Vec<&str> = failure.message.lines().take(3).collect();
    let [first, then, now] = lines[..] else {
        panic!("{failure}");
    };
    assert!(
        first.ends_with("main does something else than in an earlier run"),
        "{first}"
    );
    assert!(
        then.starts_with("then: store at tests/tests/resume.rs:"),
        "{then}"
    );
    assert!(
        now.starts_with("now: load value at tests/tests/resume.rs:"),
        "{now}"
    );
    assert!(!report.exhausted);
}
