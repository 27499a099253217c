//! `RADDLE_REPLAY` and saved schedules, in processes of their own: this program runs its own ignored
//! tests, with variables set.

use std::path::PathBuf;
use std::process::Command;

use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, Strategy, thread};
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;

/// Two classes, none of which fails.
fn two_additions() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
    counter.fetch_add(1, SeqCst);
    thread.join().unwrap();
}

fn lost_update() {
    let counter = Arc::new(AtomicU32::new(0));
    let other = Arc::clone(&counter);
    let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
    counter.store(counter.load(SeqCst) + 1, SeqCst);
    thread.join().unwrap();
    assert_eq!(counter.load(SeqCst), 2, "an update was lost");
}

/// Uses enough different objects that the token of its schedule is long.
fn many_counters() {
    let counters: Vec<AtomicU32> = (0..40).map(AtomicU32::new).collect();
    for (number, counter) in counters.iter().enumerate() {
        raddle::label!("counter {number}", counter);
        counter.load(SeqCst);
    }
    assert!(!raddle::any::<bool>(), "a long story");
}

#[test]
#[ignore = "run by others"]
fn three_checks() {
    for (number, program) in [two_additions, lost_update, two_additions]
        .iter()
        .enumerate()
    {
        let report = Checker::new().strategy(Strategy::Exhaustive).run(program);
        println!("check {number}: {} executions", report.executions);
        for failure in report.failures {
            println!("{failure}");
        }
    }
}

#[test]
#[ignore = "run by others"]
fn two_checks_with_names() {
    for name in ["left", "right"] {
        let checker = Checker::new().strategy(Strategy::Exhaustive).named(name);
        let report = checker.run(lost_update);
        println!("{name}: {} executions", report.executions);
        println!("{}", report.failures[0]);
    }
}

#[test]
#[ignore = "run by others"]
fn second_check_fails() {
    raddle::check(two_additions);
    raddle::check(lost_update);
}

#[raddle::test]
#[ignore = "run by others"]
fn fails_at_length() {
    many_counters();
}

#[test]
#[ignore = "run by others"]
fn keeps_going() {
    let checker = Checker::new().strategy(Strategy::Exhaustive);
    let report = checker.keep_going(true).known_schedules(true).run(|| {
        let chosen = raddle::choose(0..4);
        assert_ne!(chosen, 1);
        assert_ne!(chosen, 3);
    });
    let found = report.failures.iter();
    let found: Vec<_> = found.map(|it| (&*it.search, it.execution)).collect();
    println!("{} executions: {found:?}", report.executions);
}

/// What a test printed, and where its schedules are.
struct Ran {
    folder: PathBuf,
    text: String,
    passed: bool,
}

/// Where the tests that `caller` runs save their schedules.
fn folder(caller: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    folder.join("replaying").join(caller)
}

/// Runs an ignored test of this program, in which nothing has failed before.
fn run_first(caller: &str, test: &str) -> Ran {
    if folder(caller).exists() {
        std::fs::remove_dir_all(folder(caller)).unwrap();
    }
    run(caller, test, None)
}

/// Runs an ignored test of this program.
fn run(caller: &str, test: &str, replay: Option<&str>) -> Ran {
    let folder = folder(caller);
    let mut command = ignored_test(&test_name!(test));
    command
        .arg("--nocapture")
        .env("RADDLE_DIR", &folder)
        .env_remove("RADDLE_REPLAY");
    command.envs(replay.map(|replay| ("RADDLE_REPLAY", replay)));
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Ran {
        folder: folder.join("suite"),
        text: String::from_utf8(text).unwrap(),
        passed: output.status.success(),
    }
}

impl Ran {
    #[track_caller]
    fn says(&self, what: &str) -> &Self {
        assert!(
            self.text.contains(what),
            "`{what}` is not in\n{}",
            self.text
        );
        self
    }

    /// What to replay, as printed.
    fn values(&self) -> Vec<String> {
        let lines = self.text.lines().map(str::trim);
        let values = lines.filter_map(|line| line.strip_prefix("replay: RADDLE_REPLAY="));
        values
            .map(|line| line.split(' ').next().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn of_several_checks_only_one_is_replayed() {
    let ran = run_first("several", "three_checks");
    ran.says("check 0: 2 executions")
        .says("check 1: 2 executions");
    assert!(
        ran.folder
            .join("replaying.three_checks.2.schedule")
            .is_file()
    );
    let again = run("several", "three_checks", Some(&ran.values()[0]));
    again
        .says("check 0: 2 executions")
        .says("check 1: 1 executions\npanic after 1 execution (replay)\n")
        .says("check 2: 2 executions")
        .says(
            "raddle: `replaying::three_checks` runs as usual, because RADDLE_REPLAY is of check 2 of \
             `replaying::three_checks`\n",
        )
        .says("raddle: check 3 of `replaying::three_checks` runs as usual");
    assert!(again.passed);
}

#[test]
fn of_several_names_only_one_is_replayed() {
    let ran = run_first("names", "two_checks_with_names");
    let values = ran.values();
    assert_ne!(values[0], values[1], "the schedules know their checks");
    run("names", "two_checks_with_names", Some(&values[1]))
        .says("raddle: `left` runs as usual, because RADDLE_REPLAY is of `right`\n")
        .says("left: 2 executions\npanic after 2 executions (exhaustive)\n")
        .says("right: 1 executions\npanic after 1 execution (replay)\n");
}

#[test]
fn a_schedule_of_another_test_is_refused() {
    let ran = run_first("another", "three_checks");
    let refused = run("another", "second_check_fails", Some(&ran.values()[0]));
    refused.says(
        "raddle: RADDLE_REPLAY: the schedule is of check 2 of `replaying::three_checks`, and this is \
         `replaying::second_check_fails`; run that test alone: cargo test replaying::three_checks \
         -- --exact",
    );
    assert!(!refused.passed);
}

#[test]
fn the_second_check_of_a_test_has_a_saved_schedule_of_its_own() {
    let first = run_first("second", "second_check_fails");
    first.says("panic after 2 executions (auto, seed 0)\n");
    let file = first.folder.join("replaying.second_check_fails.2.schedule");
    let text = std::fs::read_to_string(&file).unwrap();
    let (schedule, learnt) = text.split_once("# learnt ").expect("an explanation");
    assert!(learnt.contains("\n# learnt pair 4 7 about fails when main.1 loads counter "));
    assert_eq!(
        schedule,
        "raddle schedule 2\n\
         check replaying::second_check_fails 2\n\
         main: begin, spawn main.1, load AtomicU32\n\
         main.1: begin, load AtomicU32, store AtomicU32, end\n\
         main: store AtomicU32, join main.1, load AtomicU32\n"
    );
    let again = run("second", "second_check_fails", None);
    again
        .says("panic after 1 execution (saved schedule)\n")
        .says(&format!(
            "note: found again by the saved schedule {}\n",
            file.display()
        ));
    assert_eq!(again.values(), first.values());
    // A schedule that does not fail is no use.
    let passes = "raddle schedule 2
        main: begin, spawn main.1, load AtomicU32, store AtomicU32
        main.1: begin, load AtomicU32, store AtomicU32, end
        main: join main.1, load AtomicU32, end";
    std::fs::write(&file, passes).unwrap();
    run("second", "second_check_fails", None)
        .says("panic after 2 executions (auto, seed 0)\n")
        .says(" was removed: it no longer fails\n");
    std::fs::write(&file, "raddle schedule 2; main: begin, lock Mutex").unwrap();
    run("second", "second_check_fails", None)
        .says("panic after 2 executions (auto, seed 0)\n")
        .says(
            " was removed: the schedule does not fit the program: after 1 step, thread main \
             should do `lock Mutex`, but it is at `spawn`\n",
        );
    // One that cannot be read is left alone until there is a new one.
    std::fs::write(&file, "raddle schedule 1\nmain: begin\n").unwrap();
    run("second", "second_check_fails", None)
        .says("panic after 2 executions (auto, seed 0)\n")
        .says(" is not used: a schedule of version 1, which an older raddle wrote");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_long_schedule_is_replayed_from_its_file() {
    let ran = run_first("long", "fails_at_length");
    let file = ran.folder.join("replaying.fails_at_length.schedule");
    assert_eq!(ran.values(), [file.display().to_string()]);
    run("long", "fails_at_length", Some(&ran.values()[0]))
        .says("panic after 1 execution (replay)\n")
        .says("a long story");
}

#[test]
fn a_search_that_keeps_going_goes_on_after_the_saved_schedule() {
    run_first("going", "keeps_going")
        .says(r#"4 executions: [("exhaustive", 2), ("exhaustive", 4)]"#);
    run("going", "keeps_going", None)
        .says(r#"4 executions: [("saved schedule", 1), ("exhaustive", 4)]"#);
}

/// Runs a test that may write at most `blocks` blocks of a file, which simulates a full disk.
#[cfg(unix)]
fn run_with_a_limit(caller: &str, test: &str, blocks: u32) -> Ran {
    let folder = folder(caller);
    let program = std::env::current_exe().unwrap();
    // Without the signal, to write more is an error.
    let line = format!(
        "trap '' XFSZ; ulimit -f {blocks}; exec '{}' {} --exact --ignored",
        program.display(),
        test_name!(test)
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).env("RADDLE_DIR", &folder);
    let output = command.env_remove("RADDLE_REPLAY").output().unwrap();
    Ran {
        folder: folder.join("suite"),
        text: String::from_utf8([output.stdout, output.stderr].concat()).unwrap(),
        passed: output.status.success(),
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_costs_the_file_and_nothing_else() {
    let ran = run_first("full", "second_check_fails");
    let file = ran.folder.join("replaying.second_check_fails.2.schedule");
    let before = std::fs::read_to_string(&file).unwrap();
    let page = ran.folder.join("replaying.second_check_fails.2");
    let full = run_with_a_limit("full", "second_check_fails", 0);
    full.says("panic after 1 execution (saved schedule)\n")
        .says("an update was lost")
        .says(&format!(
            "\n\n  note: the schedule could not be saved as {file:?}: File too large (os error \
             27)\n\n  note: the page could not be written to {page:?}: File too large (os error \
             27)\n\n  why:    fails when "
        ))
        .says("\n  replay: RADDLE_REPLAY=r1.");
    assert!(!full.passed);
    assert_eq!(full.values(), ran.values());
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        before,
        "what was there is still there"
    );
    let files = std::fs::read_dir(&ran.folder).unwrap();
    assert_eq!(files.count(), 2, "nothing else is left");
    let files = std::fs::read_dir(&page).unwrap();
    assert_eq!(files.count(), 2, "the page is still there, and its data");
    // A long token is printed all the same.
    let long = run_first("full_long", "fails_at_length");
    std::fs::remove_dir_all(&long.folder).unwrap();
    let full = run_with_a_limit("full_long", "fails_at_length", 0);
    full.says("a long story")
        .says("note: the schedule could not be saved as ");
    let token = &full.values()[0];
    assert!(token.starts_with("r1.") && token.len() > 200, "{token}");
    run("full_long", "fails_at_length", Some(token))
        .says("panic after 1 execution (replay)\n")
        .says("a long story");
}
