//! `#[raddle::test]` with its options, and how its tests are run: by one process for all of them, as
//! `cargo test` does, or by a process for each, several at once, as `cargo nextest` does.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use raddle::port::Port;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::thread;
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;

fn leave_a_message() {
    Port::asynchronous().sender().send(1);
}

#[raddle::test(leaks = "allow")]
fn messages_may_be_left() {
    leave_a_message();
}

#[raddle::test(leaks = "deny")]
#[should_panic(expected = "  Port has an unreceived message")]
fn messages_must_not_be_left() {
    leave_a_message();
}

#[raddle::test(watchdog = "0s")]
fn the_watchdog_can_be_turned_off() {}

#[raddle::test(strategy = "pct9")]
#[should_panic(
    expected = "raddle: strategy: unknown strategy `pct9`; there are: auto, exhaustive, "
)]
fn a_strategy_has_one_of_the_known_names() {}

#[raddle::test(reduce = "symmetry, releases")]
fn several_reductions_have_commas_between_them() {}

macro_rules! alike {
    ($($name:ident)*) => {
        /// The tests that are run by those below.
        const CHILDREN: &[&str] = &[$(concat!("children::", stringify!($name))),*];
        mod children {$(
            #[raddle::test]
            #[ignore = "run by others"]
            fn $name() {
                super::lose_an_update();
            }
        )*}
    };
}
alike!(first second third fourth fifth sixth seventh eighth);

fn lose_an_update() {
    let counter = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| counter.store(counter.load(SeqCst) + 1, SeqCst));
        counter.store(counter.load(SeqCst) + 1, SeqCst);
    });
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

#[raddle::test]
#[ignore = "run by others"]
fn passes_with_a_warning() {
    let (first, second) = (Mutex::new(()), Mutex::new(()));
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let _first = first.lock();
            drop(second.lock());
        });
        other.join().unwrap();
        let _second = second.lock();
        drop(first.lock());
    });
}

#[raddle::test(reduce = "symmetry")]
#[ignore = "run by others"]
fn reduced() {
    let lock = Mutex::new(());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| drop(lock.lock()));
        }
    });
}

#[raddle::test]
#[ignore = "run by others"]
fn alone() {
    assert_eq!(1 + 1, 2);
}

#[raddle::test(max_executions = 2)]
#[ignore = "run by others"]
fn sampled() {
    raddle::choose(0..4);
}

/// A process that runs one test.
struct Running(Child);

struct Ran {
    passed: bool,
    stdout: String,
    stderr: String,
}

/// As nextest does it.
fn start(test: &str, folder: &Path, variables: &[(&str, &str)]) -> Running {
    let mut command = ignored_test(&test_name!(test));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RADDLE_") {
            command.env_remove(name);
        }
    }
    let child = command
        .arg("--nocapture")
        .env("RADDLE_DIR", folder)
        .env("RUST_BACKTRACE", "0")
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running(child.spawn().unwrap())
}

impl Running {
    fn finish(self) -> Ran {
        let output = self.0.wait_with_output().unwrap();
        Ran {
            passed: output.status.success(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Where the children of a test save their schedules; empty at first.
fn folder(caller: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attribute");
    let folder = folder.join(caller);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn processes_at_the_same_time_have_schedules_of_their_own() {
    let folder = folder("processes");
    let run_all = || {
        let running: Vec<_> = CHILDREN
            .iter()
            .map(|test| start(test, &folder, &[]))
            .collect();
        running.into_iter().map(Running::finish)
    };
    let told = |ran: &Ran, headline: &str| {
        assert!(!ran.passed);
        assert!(ran.stderr.contains(headline), "{}", ran.stderr);
        let lines = ran.stderr.lines().map(str::trim);
        let mut replays = lines.filter_map(|line| line.strip_prefix("replay: "));
        let replay = replays.next().unwrap().to_owned();
        assert_eq!(replays.next(), None, "told once");
        replay
    };
    let found = "panic after 2 executions (auto, seed 0)\n";
    let replays: Vec<_> = run_all().map(|ran| told(&ran, found)).collect();
    let mut files: Vec<_> = std::fs::read_dir(folder.join("suite"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let with_page = |test: &&str| {
        let test = test_name!(test).replace("::", ".");
        [format!("{test}.schedule"), test]
    };
    let mut expected: Vec<_> = CHILDREN.iter().flat_map(with_page).collect();
    files.sort();
    expected.sort();
    assert_eq!(files, expected);
    // And again, from what was saved.
    let again = "panic after 1 execution (saved schedule)\n";
    for (ran, replay) in run_all().zip(&replays) {
        assert_eq!(told(&ran, again), *replay);
    }
    // And by what was printed.
    for (test, replay) in CHILDREN.iter().zip(&replays) {
        let line = replay.strip_prefix("RADDLE_REPLAY=").unwrap();
        let (token, command) = line.split_once(' ').unwrap();
        assert_eq!(
            command,
            format!("cargo test {} -- --exact", test_name!(test))
        );
        let ran = start(test, &folder, &[("RADDLE_REPLAY", token)]).finish();
        assert!(
            ran.stderr.contains("panic after 1 execution (replay)\n"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_test_that_many_run_at_once_saves_a_whole_schedule() {
    let folder = folder("one");
    for _ in 0..4 {
        let running: Vec<_> = (0..8).map(|_| start(CHILDREN[0], &folder, &[])).collect();
        for ran in running.into_iter().map(Running::finish) {
            assert!(ran.stderr.contains("an update was lost"), "{}", ran.stderr);
            assert!(!ran.stderr.contains("is not used"), "{}", ran.stderr);
            assert!(!ran.stderr.contains("could not be saved"), "{}", ran.stderr);
        }
    }
    let files = std::fs::read_dir(folder.join("suite")).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    let expected = [
        "attribute.children.first",
        "attribute.children.first.schedule",
    ];
    assert_eq!(files, expected, "nothing else is left");
    let page = std::fs::read_dir(folder.join("suite/attribute.children.first")).unwrap();
    let mut page: Vec<_> = page.map(|entry| entry.unwrap().file_name()).collect();
    page.sort();
    assert_eq!(page, ["index.html", "report.json"]);
}

/// The line that a passing test prints, without how long it took; and everything.
fn summary(test: &str) -> (String, String) {
    let ran = start(test, &folder(test), &[]).finish();
    assert!(ran.passed, "{}{}", ran.stdout, ran.stderr);
    let mut lines = ran.stderr.lines();
    let line = lines.find_map(|line| Some(&line[line.find("raddle: ")?..]));
    let line = line.unwrap_or_else(|| panic!("no summary in\n{}", ran.stderr));
    let (start, _time) = line.rsplit_once(", ").unwrap();
    (start.to_owned(), ran.stdout.clone() + &ran.stderr)
}

#[test]
fn the_summary_says_what_is_guaranteed() {
    for (test, expected) in [
        (
            "passes_with_a_warning",
            // More runs try to turn the warning into a deadlock.
            "every behaviour was run: 1 class in 3 runs (auto",
        ),
        (
            "reduced",
            "every behaviour was run that the reductions leave: 1 class (auto",
        ),
        (
            "sampled",
            "not every behaviour was run: 2 classes in 2 runs; stopped at 2 runs: raise `max_executions` for \
             more (auto",
        ),
        (
            "alone",
            "nothing to explore: the test starts no thread and uses nothing that raddle controls \
             (auto",
        ),
    ] {
        assert_eq!(
            summary(test).0,
            format!("raddle: attribute::{test}: {expected}")
        );
    }
}

#[test]
fn a_warning_is_printed_once() {
    let (_, printed) = summary("passes_with_a_warning");
    let count = |text: &str| printed.matches(text).count();
    assert_eq!(count("warning: lock order after 1 execution"), 1);
    assert_eq!(count(" takes "), 2, "{printed}");
}
