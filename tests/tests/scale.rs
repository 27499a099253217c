//! Much at once: ten checks in one process, a thousand threads, a million events.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicU32, Ordering::Relaxed};
use raddle::{Checker, FailureKind, Memory, Report, Strategy, thread};

/// Runs `threads` threads that take one lock.
fn queue_up(threads: u32) {
    let count = Arc::new(Mutex::new(0));
    let add = |_| {
        let count = Arc::clone(&count);
        thread::spawn(move || *count.lock().unwrap() += 1)
    };
    let all: Vec<_> = (0..threads).map(add).collect();
    all.into_iter().for_each(|one| one.join().unwrap());
    assert_eq!(*count.lock().unwrap(), threads);
}

/// Two threads that read and write a counter so often, and a read.
fn torn_increments(each: u32) -> u32 {
    let counter = Arc::new(AtomicU32::new(0));
    let add = |_| {
        let counter = Arc::clone(&counter);
        thread::spawn(move || {
            (0..each).for_each(|_| counter.store(counter.load(Relaxed) + 1, Relaxed))
        })
    };
    let both: Vec<_> = (0..2).map(add).collect();
    both.into_iter().for_each(|one| one.join().unwrap());
    counter.load(Relaxed)
}

/// What the main thread and two others do besides: begin, two spawns, two joins, a read and end; begin and
/// end of each.
const AROUND: usize = 7 + 2 * 2;

/// How many events the executions had.
fn events(checker: Checker, body: impl Fn() + Send + Sync) -> (Report, Vec<usize>) {
    let mut counts = Vec::new();
    let mut count = |execution: &raddle_engine::Execution| counts.push(execution.events.len());
    let report = raddle::__private::run_observed(checker, body, &mut count);
    (report, counts)
}

/// The failure of a schedule that is read from its text again.
fn again(report: &Report, checker: Checker, body: impl Fn() + Send + Sync) -> FailureKind {
    let schedule = report.failures[0].schedule.to_string().parse().unwrap();
    let replayed = checker.strategy(Strategy::Replay(schedule)).run(body);
    assert_eq!(replayed.failures[0].message, report.failures[0].message);
    replayed.failures[0].kind
}

#[test]
fn ten_checks_at_once_find_what_each_finds_alone() {
    let classes = std::thread::scope(|scope| {
        let check = |number: u32| {
            scope.spawn(move || {
                let checker = Checker::new().strategy(Strategy::Exhaustive);
                let report = checker.run(move || queue_up(2 + number % 3));
                assert!(report.exhausted && report.failures.is_empty());
                report.classes()
            })
        };
        let checks: Vec<_> = (0..10).map(check).collect();
        checks
            .into_iter()
            .map(|it| it.join().unwrap())
            .collect::<Vec<_>>()
    });
    // As many as there are orders.
    assert_eq!(classes, [2, 6, 24, 2, 6, 24, 2, 6, 24, 2]);
}

#[test]
fn a_thousand_threads_run_under_every_strategy() {
    let names = [
        "random",
        "pct",
        "pos",
        "urw",
        "surw",
        "history",
        "race-directed",
        "atomicity-directed",
        "deadlock-directed",
        "delay",
        "exhaustive",
        "auto",
    ];
    for name in names {
        let checker = Checker::new()
            .strategy(name.parse().unwrap())
            .max_executions(2);
        let (report, counts) = events(checker, || queue_up(1_000));
        assert!(report.failures.is_empty(), "{name}: {report}");
        // Spawns and joins, begin, lock, unlock and end of the main thread; the same of each other.
        assert_eq!(counts, [2 * 1_000 + 4 + 4 * 1_000; 2], "{name}");
    }
}

#[test]
fn a_failure_among_a_thousand_threads_is_replayed() {
    let body = || {
        queue_up(1_000);
        panic!("in the end");
    };
    let checker = || Checker::new().shorten(false);
    let report = checker().strategy(Strategy::Random).run(body);
    assert_eq!(report.executions, 1);
    assert_eq!(again(&report, checker(), body), FailureKind::Panic);
}

#[test]
fn an_execution_may_have_a_million_events() {
    let each = 250_000;
    let checker = |strategy: Strategy| {
        let checker = Checker::new().strategy(strategy).max_executions(1);
        // Under weak memory a read has as many values to choose from as there were writes.
        let checker = checker.memory(Memory::Sc);
        checker.max_events(1_000_000 + AROUND)
    };
    for name in ["random", "pos", "coverage", "auto"] {
        let strategy = name.parse().unwrap();
        let (report, counts) = events(checker(strategy), || {
            torn_increments(each);
        });
        assert!(report.failures.is_empty(), "{name}");
        assert_eq!(counts, [1_000_000 + AROUND], "{name}");
    }
    let fails = || assert_eq!(torn_increments(each), 0, "wrong in the end");
    let failing = || checker(Strategy::Random).max_events(1_100_000);
    let report = failing().run(fails);
    assert_eq!(report.failures[0].schedule.steps.len(), 1_000_000 + AROUND);
    assert_eq!(again(&report, failing(), fails), FailureKind::Panic);
}

#[test]
fn the_story_of_a_long_execution_is_its_end() {
    let body = |each| move || assert_eq!(torn_increments(each), 0, "counted");
    let failure = |each| {
        let checker = Checker::new().strategy(Strategy::Random).max_executions(1);
        let checker = checker.memory(Memory::Sc).shorten(false);
        let report = checker.run(body(each));
        report.failures.into_iter().next().unwrap()
    };
    let (whole, long) = (failure(24_000), failure(30_000));
    // Each increment is a load and a store; the panic is a step as well, and the main thread's end is after it.
    assert_eq!(whole.trace.steps.len(), 4 * 24_000 + AROUND);
    assert_eq!(long.trace.steps.len(), 10_001);
    assert!(
        long.notes
            .contains(&"only its last 10000 events are shown".to_owned())
    );
    for failure in [whole, long] {
        let last = failure.trace.steps.last().unwrap();
        assert_eq!((last.thread, &*last.what), (0, "panic"));
        let (read, join) = {
            let steps = failure.trace.steps.iter().rev().skip(1);
            let mut own = steps.filter(|step| step.thread == 0);
            (own.next().unwrap(), own.next().unwrap())
        };
        assert!(read.what.starts_with("load counter = "), "{}", read.what);
        assert!(join.what.starts_with("join main."), "{}", join.what);
    }
}

#[test]
fn more_events_than_are_allowed_are_a_failure() {
    let checker = Checker::new().strategy(Strategy::Random).max_executions(1);
    let limited = checker.clone().max_events(100_000);
    let report = limited.run(|| {
        torn_increments(25_000);
    });
    assert_eq!(report.failures[0].kind, FailureKind::TooLong);
    let (report, counts) = events(checker.memory(Memory::Rc11), || {
        torn_increments(10_000);
    });
    assert!(report.failures.is_empty());
    assert_eq!(counts, [40_000 + AROUND]);
}

/// A folder that cannot be, because its parent is a file; the file is gone in the end.
struct NoFolder(PathBuf);

impl NoFolder {
    fn new() -> Self {
        let file = std::env::temp_dir().join(format!("raddle-no-folder-{}", std::process::id()));
        std::fs::write(&file, "a file").unwrap();
        NoFolder(file)
    }

    fn inside(&self) -> PathBuf {
        self.0.join("folder/file")
    }
}

impl Drop for NoFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_folder_that_cannot_be_written_costs_no_result() {
    let nowhere = NoFolder::new();
    let check = |folder: &Path| {
        let checker = Checker::new().named("nothing can be written");
        let remembers = checker
            .clone()
            .strategy(Strategy::Random)
            .remember_in(folder);
        let passes = remembers.clone().max_executions(50).run(|| queue_up(2));
        assert_eq!((passes.executions, passes.failures.len()), (50, 0));
        assert_eq!(remembers.run(|| panic!("always")).failures.len(), 1);
        let search = checker.strategy(Strategy::Exhaustive).checkpoint(folder);
        let search = search.checkpoint_every_executions(1).run(|| queue_up(3));
        assert!(search.exhausted);
        assert_eq!(search.classes(), 6);
    };
    check(&nowhere.inside());
    assert_eq!(std::fs::read_to_string(&nowhere.0).unwrap(), "a file");
}
