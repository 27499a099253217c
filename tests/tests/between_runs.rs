//! Checks that remember earlier runs.

use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use raddle::sync::Arc;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, CoverageGoal, Covered, Metric, Report, Strategy, thread};
use raddle_runs::{EXCLUDED, Remembered, RunsFile, merge};
use raddle_tests::child::ignored_test;
use raddle_tests::resumed::Scratch;
use raddle_tests::test_name;

const LONG: Duration = Duration::from_secs(60);

/// Threads that add to a counter without a lock, `rounds` times each.
fn counters(threads: u32, rounds: u32) {
    let counter = Arc::new(AtomicU32::new(0));
    let add = |counter: Arc<AtomicU32>| {
        move || {
            for _ in 0..rounds {
                counter.store(counter.load(SeqCst) + 1, SeqCst);
            }
        }
    };
    let all: Vec<_> = (0..threads)
        .map(|_| thread::spawn(add(counter.clone())))
        .collect();
    all.into_iter().for_each(|it| it.join().unwrap());
}

/// Runs a check, and collects the classes of the executions that count.
fn observed(checker: Checker, body: impl Fn() + Send + Sync) -> (Report, Vec<u64>) {
    let mut classes = Vec::new();
    let report = raddle::__private::run_observed(checker, body, &mut |execution| {
        classes.push(execution.fingerprint());
    });
    (report, classes)
}

/// In a new thread, where the first check of a name is the first, as in a new process.
fn apart<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

/// What the only check of a file remembers.
fn remembered(file: &Path) -> Remembered {
    let file = RunsFile::new(file);
    let checks = file.checks(LONG).unwrap();
    assert_eq!(checks.len(), 1, "{checks:?}");
    file.read(&checks[0], LONG).unwrap()
}

fn set(classes: &[u64]) -> HashSet<u64> {
    classes.iter().copied().collect()
}

#[test]
fn the_second_run_starts_where_the_first_stopped() {
    for strategy in [Strategy::Auto, Strategy::Random, Strategy::Pos] {
        let scratch = Scratch::new("second");
        let run = || {
            let checker = Checker::new()
                .named("counters")
                .strategy(strategy.clone())
                .max_executions(300)
                .remember_in(&scratch.0);
            apart(|| observed(checker, || counters(3, 2)))
        };
        let (first, classes) = run();
        let before = set(&classes);
        assert_eq!(first.earlier(), None, "{strategy}");
        assert_eq!(first.classes(), before.len() as u64, "{strategy}");
        let known = remembered(&scratch.0);
        assert_eq!(set(&known.classes), before, "{strategy}");
        assert_eq!(
            (known.runs.len(), known.executions()),
            (1, first.executions)
        );

        let (second, classes) = run();
        let earlier = second.earlier().unwrap();
        assert_eq!(earlier.classes, before.len() as u64, "{strategy}");
        assert_eq!((earlier.runs, earlier.executions), (1, first.executions));
        let all: HashSet<u64> = before.union(&set(&classes)).copied().collect();
        assert!(all.len() > before.len(), "{strategy}: other random choices");
        assert_eq!(second.classes(), all.len() as u64, "{strategy}");
        let known = remembered(&scratch.0);
        assert_eq!(set(&known.classes), all, "{strategy}");
        assert_eq!(known.classes.len(), all.len(), "{strategy}: each once");
        let growth = known.growth();
        assert_eq!(growth[0].classes, before.len() as u64, "{strategy}");
        assert_eq!(growth[1].classes, all.len() as u64, "{strategy}");
    }
}

#[test]
fn several_workers_remember_as_one() {
    let scratch = Scratch::new("workers");
    let run = |workers| {
        let checker = Checker::new()
            .named("counters")
            .strategy(Strategy::Random)
            .workers(workers)
            .max_executions(400)
            .remember_in(&scratch.0);
        apart(|| observed(checker, || counters(3, 2)))
    };
    let (_, first) = run(2);
    let (report, second) = run(3);
    let all: HashSet<u64> = set(&first).union(&set(&second)).copied().collect();
    let known = remembered(&scratch.0);
    assert_eq!(set(&known.classes), all);
    assert_eq!(report.classes(), all.len() as u64);
    assert_eq!((known.runs.len(), known.executions()), (2, 800));
}

/// All classes are run again by a search that comes to its end, and counted once.
#[test]
fn a_small_program_is_exhausted_as_ever() {
    let scratch = Scratch::new("small");
    let run = || {
        let checker = Checker::new().named("small").remember_in(&scratch.0);
        observed(checker, || counters(2, 1)).0
    };
    for _ in 0..2 {
        let report = apart(run);
        assert!(report.exhausted, "{report}");
        // Of two threads that load and store: each may be first, or both load before either stores,
        // and then either store comes first.
        assert_eq!((report.executions, report.classes()), (4, 4), "{report}");
    }
    assert_eq!(remembered(&scratch.0).classes.len(), 4);
}

fn locked(steps: usize) {
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    let thread = thread::spawn(move || {
        for _ in 0..steps {
            *other.lock().unwrap() += 1;
        }
    });
    *lock.lock().unwrap() += 2;
    *lock.lock().unwrap() += 3;
    thread.join().unwrap();
}

#[test]
fn what_was_covered_is_covered_in_the_next_run() {
    let scratch = Scratch::new("covered");
    let run = |executions| {
        let checker = Checker::new()
            .named("locked")
            .strategy(Strategy::Coverage {
                metric: Metric::SyncPair.into(),
            })
            .max_executions(executions)
            .remember_in(&scratch.0);
        apart(|| observed(checker, || locked(3)).0)
    };
    let first = run(60);
    let covered: HashSet<String> = first.coverage().covered_keys().collect();
    assert!(!covered.is_empty());
    let earlier = remembered(&scratch.0).covered.len();
    assert_eq!(earlier, covered.len());
    // One execution alone does not cover all that.
    let alone = Checker::new()
        .strategy(Strategy::Coverage {
            metric: Metric::SyncPair.into(),
        })
        .max_executions(1)
        .run(|| locked(3));
    assert!(alone.coverage().covered_keys().count() < covered.len());
    let second = run(1);
    assert_eq!(second.executions, 1);
    let again: HashSet<String> = second.coverage().covered_keys().collect();
    assert_eq!(again, covered, "places have the same names");
    let goal = CoverageGoal::parse(covered.iter().next().unwrap()).unwrap();
    assert!(goal.first.file.ends_with("between_runs.rs"));
    assert_eq!(second.earlier().unwrap().requirements, covered.len() as u64);
}

/// A search of every class closes what an earlier run has left open.
#[test]
fn what_no_class_covers_is_remembered_as_impossible() {
    let scratch = Scratch::new("excluded");
    let run_by = |strategy, executions| {
        let checker = Checker::new()
            .named("published")
            .strategy(strategy)
            .coverage(true)
            .max_executions(executions)
            .remember_in(&scratch.0);
        let body = || {
            let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
            let other = shared.clone();
            let thread = thread::spawn(move || {
                other.0.store(1, SeqCst);
                other.1.store(1, SeqCst);
            });
            // It reads the second only if it has read the first.
            if shared.0.load(SeqCst) == 0 && shared.1.load(SeqCst) == 1 {
                shared.0.load(SeqCst);
            }
            thread.join().unwrap();
        };
        apart(|| observed(checker, body).0)
    };
    let run = |executions| run_by(Strategy::Auto, executions);
    let excluded = || {
        let all = remembered(&scratch.0).impossible;
        all.values().filter(|reason| *reason == EXCLUDED).count()
    };
    run(1);
    let open = remembered(&scratch.0).stale;
    assert!(!open.is_empty() && excluded() == 0);
    let report = run(100);
    assert!(report.exhausted);
    assert_eq!(report.executions, 3);
    let goals = report.coverage().goals();
    let impossible = goals.filter(|(_, it)| *it == Covered::Impossible).count();
    assert!(impossible > 0, "{}", report.coverage());
    assert_eq!(excluded(), impossible);
    let still_open = remembered(&scratch.0).stale;
    assert!(
        open.keys().any(|key| !still_open.contains_key(key)),
        "{open:?}"
    );
    // A strategy that records nothing removes nothing.
    run_by(Strategy::Exhaustive, 100);
    assert_eq!(excluded(), impossible);
    // Random executions come to both places and leave it open: the program may have changed.
    let before = remembered(&scratch.0).impossible;
    assert!(!run_by(Strategy::Random, 20).exhausted);
    let open_again = remembered(&scratch.0).stale;
    let open_again = before.keys().filter(|key| open_again.contains_key(*key));
    let open_again = open_again.count();
    assert!(open_again > 0, "{before:?}");
    assert_eq!(excluded(), impossible - open_again);
}

/// How every requirement stands, and how long those have been open that could be covered.
#[test]
fn what_was_not_covered_is_remembered_with_the_reason() {
    let scratch = Scratch::new("open");
    let run = |executions| {
        let checker = Checker::new()
            .named("locked")
            .strategy(Strategy::Random)
            .coverage(true)
            .max_executions(executions)
            .remember_in(&scratch.0);
        apart(|| observed(checker, || locked(3)).0)
    };
    let counts = |report: &Report| {
        let standing: Vec<Covered> = report.coverage().goals().map(|(_, it)| it).collect();
        let count = |of: &[Covered]| standing.iter().filter(|it| of.contains(it)).count();
        let impossible = [Covered::OrderedByLock, Covered::NeverConcurrent];
        [&[Covered::Yes][..], &[Covered::NotTried], &impossible].map(count)
    };
    let known = || {
        let known = remembered(&scratch.0);
        let kept = [
            known.covered.len(),
            known.stale.len(),
            known.impossible.len(),
        ];
        (kept, known.stale)
    };
    let first = run(1);
    let (kept, stale) = known();
    assert_eq!(kept, counts(&first));
    assert!(kept.iter().all(|&count| count > 0), "{kept:?}");
    assert!(
        stale.values().all(|&executions| executions == 1),
        "{stale:?}"
    );
    // The same execution once more: the program takes turns in the first of every run.
    let second = run(1);
    let (kept, stale) = known();
    assert_eq!(kept, counts(&second));
    assert!(
        stale.values().all(|&executions| executions == 2),
        "{stale:?}"
    );
    let third = run(200);
    let (kept, _) = known();
    assert_eq!(kept, counts(&third));
    assert!(kept[0] > counts(&first)[0] && kept[1] < counts(&first)[1]);
}

#[test]
fn another_program_of_the_same_name_starts_anew() {
    let scratch = Scratch::new("changed");
    let run = |threads| {
        let checker = Checker::new()
            .named("changed")
            .strategy(Strategy::Random)
            .max_executions(50)
            .remember_in(&scratch.0);
        apart(|| observed(checker, || counters(threads, 1)))
    };
    run(2);
    let (report, classes) = run(3);
    assert_eq!(report.earlier(), None);
    let known = remembered(&scratch.0);
    assert_eq!(set(&known.classes), set(&classes));
    assert_eq!(known.runs.len(), 1);
}

/// Fails if the second thread stores between the load and the store of the first.
fn lost_update(is_checked: bool) {
    let counter = Arc::new(AtomicU32::new(0));
    let other = counter.clone();
    let thread = thread::spawn(move || {
        other.store(other.load(SeqCst) + 1, SeqCst);
    });
    counter.store(counter.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    if is_checked {
        assert_eq!(counter.load(SeqCst), 2, "an update was lost");
    }
}

#[test]
fn what_has_failed_runs_first() {
    let scratch = Scratch::new("failed");
    let run = |strategy: Strategy, is_checked| {
        let checker = Checker::new()
            .named("lost update")
            .strategy(strategy)
            .max_executions(1_000)
            .remember_in(&scratch.0);
        apart(|| observed(checker, || lost_update(is_checked)).0)
    };
    let first = run(Strategy::Random, true);
    assert_eq!(first.failures[0].search.split(',').next(), Some("random"));
    // Whatever strategy follows.
    for strategy in [Strategy::Random, Strategy::Auto, Strategy::Exhaustive] {
        let second = run(strategy, true);
        assert_eq!(second.executions, 1);
        assert_eq!(second.failures[0].search, "remembered schedule");
        assert_eq!(second.failures[0].schedule, first.failures[0].schedule);
    }
    assert_eq!(remembered(&scratch.0).failures.len(), 1);
    let mended = run(Strategy::Random, false);
    assert!(mended.failures.is_empty());
    assert!(
        remembered(&scratch.0).failures.is_empty(),
        "it does not fail"
    );
}

/// A class that is remembered to be good is looked at all the same: the code between the operations
/// may have changed, which no shape can see.
#[test]
fn memory_hides_no_failure() {
    let scratch = Scratch::new("hidden");
    let run = |is_checked: bool| {
        let checker = Checker::new().named("lost update").remember_in(&scratch.0);
        let body = move || {
            let counter = Arc::new(AtomicU32::new(0));
            let other = counter.clone();
            let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
            counter.store(counter.load(SeqCst) + 1, SeqCst);
            thread.join().unwrap();
            let value = counter.load(SeqCst);
            assert!(!is_checked || value == 2, "an update was lost");
        };
        apart(|| observed(checker, body).0)
    };
    let first = run(false);
    assert!(first.exhausted && first.failures.is_empty());
    let second = run(true);
    assert_eq!(second.failures.len(), 1, "{second}");
}

#[test]
fn a_file_that_is_none_is_set_aside() {
    let scratch = Scratch::new("broken");
    std::fs::write(&scratch.0, "nonsense").unwrap();
    let checker = Checker::new()
        .named("broken")
        .strategy(Strategy::Random)
        .max_executions(20)
        .remember_in(&scratch.0);
    let report = checker.run(|| counters(2, 1));
    assert_eq!(report.executions, 20);
    let mut aside = scratch.0.clone().into_os_string();
    aside.push(".unreadable");
    let aside = Scratch(PathBuf::from(aside));
    assert_eq!(std::fs::read(&aside.0).unwrap(), b"nonsense");
    assert_eq!(remembered(&scratch.0).executions(), 20);
}

#[test]
fn a_folder_that_cannot_be_written_does_no_harm() {
    let checker = Checker::new()
        .named("nowhere")
        .strategy(Strategy::Random)
        .max_executions(20)
        .remember_in("/dev/null/runs.redb");
    assert_eq!(checker.run(|| counters(2, 1)).executions, 20);
}

#[test]
fn files_of_two_machines_are_one() {
    let (one, two) = (Scratch::new("one"), Scratch::new("two"));
    let run = |file: &Scratch, seed| {
        let checker = Checker::new()
            .named("counters")
            .strategy(Strategy::Random)
            .seed(seed)
            .max_executions(200)
            .remember_in(&file.0);
        apart(|| observed(checker, || counters(3, 2)).1)
    };
    let (here, there) = (set(&run(&one, 1)), set(&run(&two, 2)));
    merge(&RunsFile::new(&one.0), &RunsFile::given(&two.0), LONG).unwrap();
    let all: HashSet<u64> = here.union(&there).copied().collect();
    assert!(all.len() > here.len() && all.len() > there.len());
    let known = remembered(&one.0);
    assert_eq!(set(&known.classes), all);
    assert_eq!((known.runs.len(), known.executions()), (2, 400));
}

/// Only the parent sets it: where the child remembers.
const FILE: &str = "RADDLE_TESTS_FILE";

/// A check that runs until it is killed.
#[test]
#[ignore = "run by the tests of this file"]
fn child() {
    let Some(file) = std::env::var_os(FILE).map(PathBuf::from) else {
        return;
    };
    Checker::new()
        .named("killed")
        .strategy(Strategy::Random)
        .max_executions(u64::MAX)
        .max_time(Duration::from_secs(3_600))
        .remember_in(&file)
        .run(|| {
            counters(4, 3);
        });
}

/// How many classes are remembered of the check that is killed; none before it has written.
fn known(file: &Path) -> usize {
    let runs = RunsFile::new(file);
    let is_there = file.exists() && !runs.checks(LONG).unwrap().is_empty();
    if is_there {
        remembered(file).classes.len()
    } else {
        0
    }
}

/// Runs a check until it has written twice, and kills it; how many classes are remembered.
fn killed(file: &Path) -> usize {
    let mut child = ignored_test(&test_name!("child"))
        .arg("--nocapture")
        .env(FILE, file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut seen = known(file);
    for _ in 0..2 {
        let before = seen;
        while seen == before {
            assert_eq!(
                child.try_wait().unwrap(),
                None,
                "it runs until it is killed"
            );
            std::thread::sleep(Duration::from_millis(20));
            seen = known(file);
        }
    }
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let kept = known(file);
    assert!(kept >= seen, "what was written is kept");
    kept
}

/// A check writes what it has run while it runs, and not only at its end.
#[test]
fn who_is_killed_keeps_what_was_written_before() {
    let file = Scratch::new("killed");
    let first = killed(&file.0);
    // The file is as good as any other.
    assert!(killed(&file.0) > first);
    assert_eq!(remembered(&file.0).runs.len(), 2);
}
