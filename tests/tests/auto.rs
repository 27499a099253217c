//! What a check does that decides by itself, and what it says of that.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Guarantee, Strategy, thread};
use raddle_tests::child::ignored_test;
use raddle_tests::programs::{mutex_counter, racy_counter};
use raddle_tests::published::PROGRAMS;
use raddle_tests::test_name;

fn published(name: &str) -> (u64, fn()) {
    let mut programs = PROGRAMS.into_iter();
    let (_, classes, program) = programs.find(|it| it.0 == name).unwrap();
    (classes, program)
}

/// Time plays no part.
fn auto(executions: u64) -> Checker {
    Checker::new()
        .max_executions(executions)
        .max_time(Duration::from_secs(3_600))
        .keep_going(true)
        .shorten(false)
}

#[test]
fn a_small_program_pays_for_nothing() {
    let report = auto(100_000).run(|| mutex_counter(3, 2));
    assert_eq!(report.guarantee(), Guarantee::Exhaustive);
    assert_eq!((report.executions, report.classes()), (90, 90));
    assert_eq!(report.estimate(), None);
    assert_eq!(report.unseen(), None);
}

#[test]
fn what_fits_is_run_each_class_once() {
    let (classes, program) = published("RW-monitorSU");
    let report = auto(100_000).run(program);
    assert_eq!(report.guarantee(), Guarantee::Exhaustive);
    assert_eq!((report.executions, report.classes()), (classes, classes));
    let estimate = report.estimate().expect("it took more than a thousand");
    assert!(estimate.low <= classes && classes <= estimate.high);
    assert_eq!(report.unseen(), None, "nothing was left to chance");
}

#[test]
fn what_does_not_fit_is_sampled_and_then_run_up_to_some_preemptions() {
    // 4 threads that each take the lock 4 times: 16! / 4!^4 orders.
    let report = auto(20_000).run(|| mutex_counter(4, 4));
    let estimate = report.estimate().unwrap();
    assert!(
        estimate.low <= 63_063_000 && 63_063_000 <= estimate.high,
        "{estimate:?}"
    );
    // To run the threads one after the other takes no preemption: 4! orders.
    let Guarantee::Bounded { preemptions } = report.guarantee() else {
        panic!("{report}");
    };
    let bounded = Checker::new()
        .strategy(Strategy::Exhaustive)
        .preemptions(preemptions)
        .run(|| mutex_counter(4, 4));
    assert!(report.classes() >= bounded.classes() && bounded.classes() >= 24);
    let unseen = report.unseen().unwrap();
    assert!(unseen.share > 0.9, "almost every order is new: {unseen:?}");
    assert!(report.executions <= 20_000);
}

#[test]
fn the_same_seed_finds_the_same() {
    let of = |seed| {
        let report = auto(5_000).seed(seed).run(|| _ = racy_counter(3, 3));
        (
            report.executions,
            report.classes(),
            report.guarantee(),
            report.estimate(),
        )
    };
    assert_eq!(of(3), of(3));
}

#[test]
fn an_enormous_program_is_given_up_soon() {
    // Each of 8 threads takes 12 locks: (8!)^12 orders, and more.
    let report = auto(4_000).run(|| {
        let locks: Vec<_> = (0..12).map(|_| raddle::sync::Mutex::new(0)).collect();
        raddle_tests::programs::run_threads(8, move |_| {
            for lock in &locks {
                *lock.lock().unwrap() += 1;
            }
        });
    });
    assert_ne!(report.guarantee(), Guarantee::Exhaustive);
    assert!(report.estimate().unwrap().low > 1_000_000);
    assert!(report.executions <= 4_000);
}

/// Two threads with this many operations each, on a variable of their own.
fn apart(operations: usize) {
    let thread = thread::spawn(move || {
        let own = AtomicUsize::new(0);
        (0..operations).for_each(|_| own.store(1, SeqCst));
    });
    let own = AtomicUsize::new(0);
    (0..operations).for_each(|_| own.store(1, SeqCst));
    thread.join().unwrap();
}

#[test]
fn what_is_too_long_for_a_search_is_sampled() {
    let searched = auto(10)
        .strategy(Strategy::Exhaustive)
        .run(|| apart(60_000));
    assert_eq!(searched.failures.len(), 1);
    assert_eq!(searched.failures[0].kind, FailureKind::TooLong);
    let headline = "one execution has more than 100000 events\n";
    assert!(searched.failures[0].message.starts_with(headline));

    let report = auto(10).run(|| apart(60_000));
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.guarantee(), Guarantee::Sampled);
    // All orders are of one class.
    assert_eq!((report.classes(), report.exhausted), (1, false));
    // Executions of a known class do not count until the search is given up.
    assert_eq!(report.runs(), 10);
    assert!(report.executions <= 10);
    assert!(
        report.to_string().contains(", too long to search"),
        "{report}"
    );
}

#[test]
fn a_limit_that_was_asked_for_is_everybodys() {
    // Begin, end and two operations, twice; spawn and join.
    let events = 10;
    for strategy in [Strategy::Auto, Strategy::Exhaustive, Strategy::Random] {
        let run = |events| {
            auto(10)
                .strategy(strategy.clone())
                .max_events(events)
                .run(|| apart(2))
        };
        assert!(run(events).failures.is_empty(), "{strategy}");
        let report = run(events - 1);
        assert_eq!(report.failures[0].kind, FailureKind::TooLong, "{strategy}");
        let headline = "one execution has more than 9 events\n";
        assert!(report.failures[0].message.starts_with(headline), "{report}");
    }
}

#[test]
fn with_a_bound_of_the_users_own_no_other_is_looked_for() {
    let report = auto(3_000).preemptions(6).run(|| mutex_counter(4, 4));
    assert_eq!(report.guarantee(), Guarantee::Sampled);
    assert!(report.unseen().is_some());
    let report = auto(20_000).preemptions(0).run(|| mutex_counter(4, 4));
    assert_eq!(report.guarantee(), Guarantee::Bounded { preemptions: 0 });
}

#[test]
fn a_sampled_check_says_how_much_it_has_not_seen() {
    let random = |executions| {
        Checker::new()
            .strategy(Strategy::Random)
            .max_executions(executions)
            .run(|| _ = raddle::choose(0..2))
    };
    assert!(random(9).unseen().is_none(), "nobody can tell");
    assert!(random(10).unseen().is_some());
    // Both were drawn many times: nothing was seen once or twice, and the rule of three is left.
    let many = random(1_000);
    assert_eq!(
        many.unseen().map(|it| (it.share, it.at_most)),
        Some((0.0, 0.003))
    );
    let text = many.to_string();
    let (said, _how) = text.split_once(" (random, ").unwrap();
    assert_eq!(
        said,
        "not every behaviour was run: 2 classes in 1000 runs; less than 0.30 % of random runs are new; \
         stopped at 1000 runs: raise `max_executions` for more"
    );
}

const IS_CHILD: &str = "RADDLE_TESTS_CHILD";

/// A check that lasts as long as the parent says, and longer than a check waits before its first line.
#[test]
#[ignore = "run by the test of progress"]
fn takes_some_time() {
    let Ok(seconds) = std::env::var(IS_CHILD) else {
        return;
    };
    let seconds = seconds.parse().unwrap();
    let (_, program) = published("RW-monitorSC");
    Checker::new()
        .strategy(Strategy::Exhaustive)
        .max_time(Duration::from_secs(seconds))
        .run(move || {
            program();
            // The search must not end before its time is over.
            std::thread::sleep(Duration::from_millis(1));
        });
}

/// A command that runs the check for this number of seconds, with this log.
fn logging(log: Option<&str>, seconds: u64) -> Command {
    let mut command = ignored_test(&test_name!("takes_some_time"));
    command
        .env(IS_CHILD, seconds.to_string())
        .env_remove("RADDLE_LOG");
    command.envs(log.map(|log| ("RADDLE_LOG", log)));
    command
}

#[test]
fn a_log_says_how_far_a_check_is() {
    let mut child = logging(Some("progress"), 3_600)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    // The first lines may come before there is an estimate.
    let mut lines = said.lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains(" of about "));
    let line = line.expect("a check that runs on has an estimate some day");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        line.starts_with("raddle: auto::takes_some_time: "),
        "{line}"
    );
    assert!(line.contains(" a second, "), "{line}");
    let child = |log: Option<&str>| {
        let output = logging(log, 2).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (
            text(&output.stderr),
            text(&output.stdout),
            output.status.success(),
        )
    };
    for quiet in [None, Some("off")] {
        assert_eq!(child(quiet).0, "", "no terminal, and nobody asked");
    }
    let (_, told, passed) = child(Some("progres"));
    assert!(!passed);
    let problem = "RADDLE_LOG: `progres` is not one of: progress, off";
    assert!(told.contains(problem), "{told}");
}
