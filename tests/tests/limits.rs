//! Limits of a check: time, runs and interrupts hold whatever the program does, and the result says which of
//! them ended the search.
//!
//! No test measures time. Programs count their own steps and runs; a program that is not cut would come to
//! its end, or never end.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use raddle::scheduler::{Choice, View};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Condvar, Mutex};
use raddle::{
    Checker, Failure, FailureKind, Guarantee, Level, Metrics, Report, Scheduler, SearchLimit,
    Strategy, thread,
};
use raddle_tests::child::ignored_test;
use raddle_tests::programs::{mutex_counter, philosophers, racy_counter};
use raddle_tests::test_name;

/// The time that a step of a slow program takes, outside of raddle's control.
const STEP: Duration = Duration::from_millis(20);

fn slow_step() {
    std::thread::sleep(STEP);
}

/// A check whose time is over almost at once, and whose executions may be of any length.
fn short_of_time(strategy: Strategy) -> Checker {
    Checker::new()
        .strategy(strategy)
        .max_time(Duration::from_millis(1))
        .max_events(usize::MAX)
}

/// Two threads that never end, with a slow step between their operations.
fn endless() {
    let value = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&value);
    let other = thread::Builder::new().name("other".to_owned());
    let _other = other.spawn(move || {
        loop {
            slow_step();
            shared.store(1, SeqCst);
        }
    });
    loop {
        slow_step();
        value.fetch_add(1, SeqCst);
    }
}

#[test]
fn an_execution_without_end_is_cut_and_every_thread_has_a_position() {
    let strategies = [
        Strategy::Auto,
        Strategy::Random,
        Strategy::Exhaustive,
        Strategy::Enumerate,
        Strategy::Delay { bound: 1 },
        Strategy::Pct { depth: 3 },
        Strategy::Pos,
        Strategy::Surw,
        Strategy::History,
    ];
    for strategy in strategies {
        let report = short_of_time(strategy.clone()).run(endless);
        assert_eq!(report.failures.len(), 1, "{strategy}: {report}");
        let Failure { kind, message, .. } = &report.failures[0];
        assert_eq!(*kind, FailureKind::TooLong, "{strategy}");
        let headline =
            "an execution had not ended when the time of the check, 1ms, was over, after ";
        assert!(message.starts_with(headline), "{message}");
        for position in ["main is about to ", "other is about to "] {
            assert!(message.contains(position), "{strategy}: {message}");
        }
        let is_known = report.failures[0].notes[..].iter().any(|note| {
            note == "no execution was completed, so the check has neither passed nor failed"
        });
        assert!(is_known, "{report}");
        assert_eq!(report.out_of_time(), 1, "{strategy}");
        assert!(!report.exhausted, "{strategy}");
    }
}

#[test]
fn threads_at_the_same_place_are_one_line_of_the_positions() {
    let report = short_of_time(Strategy::Random).run(|| {
        let lock = Arc::new(Mutex::new(()));
        let held = lock.lock().unwrap();
        for _ in 0..40 {
            let lock = Arc::clone(&lock);
            thread::spawn(move || drop(lock.lock()));
        }
        let value = AtomicUsize::new(0);
        loop {
            slow_step();
            value.fetch_add(1, SeqCst);
            let _still = &held;
        }
    });
    let message = &report.failures[0].message;
    // Threads that have not run yet have not come to the lock.
    let lines = message
        .lines()
        .filter(|line| line.contains("other threads: each waits to lock"));
    assert!(lines.count() <= 1, "{message}");
    assert!(message.lines().count() <= 6, "{message}");
}

/// Counts the steps of a program that has 1,000 slow ones, which take 20 s.
fn steps_of_slow_program(checker: Checker) -> (u64, Report) {
    let steps = AtomicU64::new(0);
    let report = checker.run(|| {
        let value = AtomicUsize::new(0);
        for _ in 0..1_000 {
            slow_step();
            steps.fetch_add(1, Relaxed);
            value.fetch_add(1, SeqCst);
        }
    });
    (steps.into_inner(), report)
}

#[test]
fn slow_steps_do_not_make_a_check_longer() {
    for strategy in [Strategy::Auto, Strategy::Random, Strategy::Exhaustive] {
        let (steps, report) = steps_of_slow_program(short_of_time(strategy.clone()));
        assert!(steps < 1_000, "{strategy}: every step was run");
        assert_eq!(report.failures[0].kind, FailureKind::TooLong, "{report}");
        assert!(!report.exhausted);
    }
}

#[test]
fn a_clock_that_was_read_seldom_while_executions_were_short_does_not_hide_the_end_of_the_time() {
    // Short executions first: the check looks at the clock less and less often. Then long ones.
    let (runs, slow) = (AtomicU64::new(0), AtomicU64::new(0));
    let checker = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(60_000)
        .max_time(Duration::from_millis(500));
    let report = checker.run(|| {
        if runs.fetch_add(1, Relaxed) >= 5_000 {
            slow.fetch_add(1, Relaxed);
            slow_step();
        }
    });
    let slow = slow.into_inner();
    assert!(slow < 40, "{slow} runs of {STEP:?} in half a second");
    assert!(
        matches!(report.limit(), Some(SearchLimit::Time { .. })),
        "{report}"
    );
}

#[test]
fn an_execution_without_end_after_others_lowers_the_claim_and_is_shown() {
    // Enough for the first execution on a busy machine.
    let report = short_of_time(Strategy::Exhaustive)
        .max_time(Duration::from_secs(1))
        .run(|| {
            let value = AtomicUsize::new(0);
            if raddle::choose(0..2) == 1 {
                loop {
                    slow_step();
                    value.fetch_add(1, SeqCst);
                }
            }
        });
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(
        (report.guarantee(), report.exhausted),
        (Guarantee::Sampled, false)
    );
    assert_eq!((report.executions, report.out_of_time()), (2, 1));
    assert_eq!(report.warnings.len(), 1);
    assert_eq!(report.warnings[0].kind, FailureKind::TooLong);
    let text = report.summary().to_string();
    assert!(
        text.contains(", 1 run cut when the time was over"),
        "{text}"
    );
    assert!(
        text.contains("; stopped after 1s: raise `max_time` for more"),
        "{text}"
    );
}

#[test]
fn what_a_cut_execution_has_shown_is_a_failure() {
    // The two deadlock, for which there is enough time on a busy machine, and the main thread goes on for ever.
    let checker = short_of_time(Strategy::Random).max_time(Duration::from_secs(1));
    let report = checker.run(|| {
        let (one, two) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        for (first, second) in [(&one, &two), (&two, &one)] {
            let (first, second) = (Arc::clone(first), Arc::clone(second));
            thread::spawn(move || {
                let _first = first.lock().unwrap();
                for _ in 0..20 {
                    thread::yield_now();
                }
                let _second = second.lock().unwrap();
            });
        }
        let value = AtomicUsize::new(0);
        for step in 0_u64.. {
            if step > 1_000 {
                slow_step();
            }
            value.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(report.failures[0].kind, FailureKind::Deadlock, "{report}");
}

#[test]
fn a_failure_is_printed_although_no_time_is_left_to_explain_it() {
    let runs = AtomicU64::new(0);
    let report = short_of_time(Strategy::Random).run(|| {
        runs.fetch_add(1, Relaxed);
        slow_step();
        let value = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&value);
        let thread = thread::spawn(move || {
            for _ in 0..6 {
                shared.fetch_add(1, SeqCst);
            }
        });
        for _ in 0..6 {
            value.fetch_add(1, SeqCst);
        }
        thread.join().unwrap();
        panic!("found");
    });
    let runs = runs.into_inner();
    assert_eq!(report.failures.len(), 1, "{report}");
    assert!(report.failures[0].message.contains("found"));
    // 20 runs of 20 ms are the moment that an explanation has after the end of the time; with its own limit of
    // five seconds there would be 250.
    assert!(runs <= 100, "{runs} runs");
}

#[test]
fn a_lock_order_is_confirmed_within_the_limits() {
    // The inner blocks keep the two threads apart, so that no execution deadlocks; each execution is slow.
    let runs = AtomicU64::new(0);
    let checker = Checker::new()
        .strategy(Strategy::Random)
        .max_executions(3)
        .lock_order(Level::Warn)
        .shorten(false);
    let report = checker.run(|| {
        runs.fetch_add(1, Relaxed);
        let (one, two) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let pair = (Arc::clone(&one), Arc::clone(&two));
        let other = thread::spawn(move || {
            let _first = pair.0.lock().unwrap();
            let _second = pair.1.lock().unwrap();
        });
        other.join().unwrap();
        let _first = two.lock().unwrap();
        let _second = one.lock().unwrap();
    });
    assert_eq!((runs.into_inner(), report.runs()), (3, 3), "{report}");
}

#[test]
fn a_replay_that_does_not_end_has_not_passed() {
    let fails = |waits: bool| {
        let value = AtomicUsize::new(0);
        for _ in 0..1_000 {
            if waits {
                slow_step();
            }
            value.fetch_add(1, SeqCst);
        }
        panic!("at the end");
    };
    let found = Checker::new().shorten(false).run(|| fails(false));
    let schedule = found.failures[0].schedule.clone();
    let report = short_of_time(Strategy::Replay(schedule)).run(|| fails(true));
    assert_eq!(report.failures[0].kind, FailureKind::TooLong, "{report}");
}

#[test]
fn polling_with_a_time_out_does_not_outlive_the_time() {
    let polls = AtomicU64::new(0);
    let report = short_of_time(Strategy::Random).run(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let mut ready = pair.0.lock().unwrap();
        while !*ready {
            slow_step();
            assert!(polls.fetch_add(1, Relaxed) < 1_000, "it polls on");
            let waited = pair.1.wait_timeout(ready, Duration::from_secs(1));
            ready = waited.unwrap().0;
        }
    });
    assert_eq!(report.failures[0].kind, FailureKind::TooLong, "{report}");
}

#[test]
fn a_time_that_is_over_at_once_leaves_one_execution() {
    let strategies = [
        Strategy::Auto,
        Strategy::Random,
        Strategy::Exhaustive,
        Strategy::Enumerate,
        Strategy::Delay { bound: 1 },
        Strategy::Pct { depth: 3 },
        Strategy::History,
        Strategy::Coverage {
            metric: Metrics::USUAL,
        },
    ];
    for strategy in strategies {
        for workers in [1, 2] {
            let checker = || {
                Checker::new()
                    .strategy(strategy.clone())
                    .max_time(Duration::ZERO)
                    .workers(workers)
            };
            let report = checker().run(|| _ = racy_counter(2, 1));
            assert!(report.executions > 0, "{strategy}, {workers}: {report}");
            let report = checker().max_events(usize::MAX).run(endless);
            assert_eq!(report.failures.len(), 1, "{strategy}, {workers}: {report}");
            assert_eq!(report.failures[0].kind, FailureKind::TooLong, "{strategy}");
        }
    }
}

/// Runs a program under a check and counts its runs, which the report must say.
fn count_runs(checker: Checker, program: fn()) -> (u64, Report) {
    let runs = AtomicU64::new(0);
    let report = checker.keep_going(true).shorten(false).run(|| {
        runs.fetch_add(1, Relaxed);
        program();
    });
    (runs.into_inner(), report)
}

const PROGRAMS: [(&str, fn()); 5] = [
    ("one thread", || _ = AtomicUsize::new(0).load(SeqCst)),
    ("3 × 2 lock", || mutex_counter(3, 2)),
    ("4 × 4 lock", || mutex_counter(4, 4)),
    ("3 × 3 racy", || _ = racy_counter(3, 3)),
    ("3 philosophers", || philosophers(3)),
];

#[test]
fn every_run_is_counted_and_none_is_run_beyond_the_limit() {
    let strategies = [
        Strategy::Auto,
        Strategy::Exhaustive,
        Strategy::Enumerate,
        Strategy::Random,
        Strategy::Pct { depth: 3 },
        Strategy::Surw,
        Strategy::Delay { bound: 2 },
        Strategy::Coverage {
            metric: Metrics::USUAL,
        },
    ];
    for (name, program) in PROGRAMS {
        for strategy in &strategies {
            for (limit, workers) in [(1, 1), (10, 2), (300, 1), (5_000, 1), (5_000, 2)] {
                let checker = Checker::new()
                    .strategy(strategy.clone())
                    .max_executions(limit)
                    .max_time(Duration::from_secs(3_600))
                    .workers(workers);
                let (runs, report) = count_runs(checker, program);
                let case = format!("{name}, {strategy}, {limit}, {workers}: {report}");
                assert_eq!(report.runs(), runs, "{case}");
                assert!(runs <= limit, "{case}");
                assert!(report.executions <= runs, "{case}");
                let is_at_limit = matches!(report.limit(), Some(SearchLimit::Runs { .. }));
                assert!(is_at_limit || runs < limit || report.exhausted, "{case}");
            }
        }
    }
}

#[test]
fn several_workers_use_every_run_when_behaviours_are_left() {
    let strategies = [
        Strategy::Auto,
        Strategy::Exhaustive,
        Strategy::Random,
        Strategy::Pct { depth: 3 },
        Strategy::Coverage {
            metric: Metrics::USUAL,
        },
    ];
    let programs: [(&str, fn()); 2] = [
        ("4 × 4 lock", || mutex_counter(4, 4)),
        // With warnings of lock orders, for which runs are reserved.
        ("5 philosophers", || philosophers(5)),
    ];
    for (name, program) in programs {
        for strategy in &strategies {
            for workers in 1..=3 {
                let checker = Checker::new()
                    .strategy(strategy.clone())
                    .max_executions(2_000)
                    .max_time(Duration::from_secs(3_600))
                    .workers(workers);
                let (runs, report) = count_runs(checker, program);
                let case = format!("{name}, {strategy}, {workers}: {report}");
                // The search of the philosophers ends.
                assert!(report.exhausted || runs == 2_000, "{case}");
                assert_eq!(report.runs(), runs, "{case}");
            }
        }
    }
}

#[test]
fn a_bounded_search_and_its_attempts_are_counted() {
    for (name, program) in [PROGRAMS[0], PROGRAMS[1], PROGRAMS[4]] {
        for preemptions in 0..3 {
            let checker = Checker::new()
                .strategy(Strategy::Exhaustive)
                .preemptions(preemptions);
            let (runs, report) = count_runs(checker, program);
            assert_eq!(report.runs(), runs, "{name}, {preemptions}");
        }
    }
}

#[test]
fn an_estimate_runs_no_more_than_it_may() {
    // The first tree samples learn how large subtrees are, and ten of the second round are an estimate.
    for limit in [2, 50, 300, 1_000, 4_000] {
        let runs = AtomicU64::new(0);
        let report = Checker::new().max_executions(limit).estimate(|| {
            runs.fetch_add(1, Relaxed);
            mutex_counter(4, 4);
        });
        let runs = runs.into_inner();
        assert_eq!(report.runs(), runs, "{limit}");
        assert!(runs <= limit, "{runs} of {limit}");
        assert_eq!(
            report.estimate().is_some(),
            limit >= 300,
            "{limit}: {report}"
        );
    }
}

#[test]
fn auto_spends_the_whole_budget_when_behaviours_are_left() {
    // 4 threads that each take the lock 4 times: 16! / 4!^4 orders.
    let auto = |executions: u64| {
        let checker = Checker::new()
            .max_executions(executions)
            .max_time(Duration::from_secs(3_600));
        let (runs, report) = count_runs(checker, || mutex_counter(4, 4));
        assert_eq!((runs, report.runs()), (executions, executions), "{report}");
        let limit =
            format!("; stopped at {executions} runs: raise `max_executions` for more (auto, ");
        assert!(report.summary().to_string().contains(&limit), "{report}");
        report
    };
    auto(500);
    auto(6_000);
    // The bounded search has room, and ends before the budget does.
    let report = auto(20_000);
    let Guarantee::Bounded { preemptions } = report.guarantee() else {
        panic!("{report}");
    };
    let most = match preemptions {
        1 => "1 preemption".to_owned(),
        more => format!("{more} preemptions"),
    };
    let claim = format!("every behaviour up to {most} was run: ");
    assert!(report.summary().to_string().starts_with(&claim), "{report}");
}

#[test]
fn the_result_names_the_limit_that_ended_the_search() {
    let random = |checker: Checker| {
        let report = checker
            .strategy(Strategy::Random)
            .run(|| _ = raddle::choose(0..2));
        report.summary().to_string()
    };
    // A slow machine comes to the default time first.
    let said = random(Checker::new());
    let defaults = [
        "; stopped at 100000 runs, the default: raise `max_executions` for more (random, ",
        "; stopped after 10s, the default: raise `max_time` for more (random, ",
    ];
    assert!(defaults.iter().any(|it| said.contains(it)), "{said}");
    let hour = Duration::from_secs(3_600);
    let said = random(Checker::new().max_time(hour).max_executions(7));
    assert!(
        said.contains("; stopped at 7 runs: raise `max_executions` for more (random, "),
        "{said}"
    );
    let exhaustive = Checker::new().strategy(Strategy::Exhaustive);
    let report = exhaustive.run(|| _ = raddle::choose(0..2));
    assert_eq!(report.limit(), None);
    let failing = Checker::new().run(|| panic!("at once"));
    assert_eq!(failing.limit(), None, "a failure has ended it");
}

/// Ends the check itself, after more executions than are allowed by default.
struct Ends(u64);

impl Scheduler for Ends {
    fn begin(&mut self) -> bool {
        self.0 += 1;
        self.0 <= 100_010
    }

    fn choose(&mut self, view: &View<'_>) -> Choice {
        view.enabled().next().unwrap().run()
    }
}

/// A check that chooses executions by their coverage.
fn by_coverage() -> Checker {
    Checker::new().strategy(Strategy::Coverage {
        metric: Metrics::USUAL,
    })
}

#[test]
fn a_check_by_coverage_stops_when_nothing_new_is_covered() {
    let (runs, report) = count_runs(by_coverage(), || mutex_counter(2, 1));
    assert_eq!(report.classes(), 2);
    assert_eq!(runs, 1_280, "all is covered in the first 256");
    let text = report.to_string();
    let reason = "stopped because the last 1024 runs covered nothing new: set `max_executions` or `max_time`";
    assert!(text.contains(reason), "{text}");
    assert!(text.starts_with("not every behaviour"), "{text}");
}

#[test]
fn a_limit_of_the_users_own_is_used_whole_by_coverage() {
    for checker in [
        by_coverage().max_executions(5_000),
        by_coverage().max_executions(5_000).workers(2),
        by_coverage()
            .max_executions(5_000)
            .max_time(Duration::from_secs(3_600)),
    ] {
        let (runs, report) = count_runs(checker, || mutex_counter(2, 1));
        assert_eq!(runs, 5_000, "{report}");
        assert!(!report.to_string().contains("nothing new"), "{report}");
    }
}

#[test]
fn a_late_find_keeps_a_check_by_coverage_going() {
    let runs = AtomicU64::new(0);
    let report = by_coverage().run(|| {
        let run = runs.fetch_add(1, Relaxed);
        // Stands for something that few runs cover.
        if run == 1_100 {
            racy_counter(2, 1);
        } else {
            mutex_counter(2, 1);
        }
    });
    let all = runs.load(Relaxed);
    assert!(
        all >= 2_200,
        "stopped {all} runs after something new at 1,100"
    );
    drop(report);
}

/// The default number of executions cut a time limit short that the user had set.
#[test]
fn a_time_limit_of_the_users_own_is_used_whole() {
    let hour = Duration::from_secs(3_600);
    let checker = Checker::new().scheduler(|_, _| Ends(0)).max_time(hour);
    let report = checker.clone().run(|| {});
    assert_eq!(report.runs(), 100_010, "{report}");
    assert_eq!(report.limit(), None);
    let report = checker.max_executions(100_000).run(|| {});
    assert_eq!(report.runs(), 100_000, "a number of executions still holds");
}

const IS_CHILD: &str = "RADDLE_TESTS_CHILD";

/// A check that is interrupted in the middle of an execution that does not end.
#[test]
#[ignore = "run by the test of interrupts"]
fn is_interrupted() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let report = Checker::new()
        .strategy(Strategy::Random)
        .max_time(Duration::from_secs(36_000))
        .run(|| {
            let value = AtomicUsize::new(0);
            for step in 0_u64.. {
                slow_step();
                if step == 2 {
                    let own = std::process::id().to_string();
                    Command::new("kill").args(["-INT", &own]).status().unwrap();
                }
                value.fetch_add(1, SeqCst);
            }
        });
    // The process ends with the signal, after the events of the check.
    unreachable!("{report}");
}

#[test]
fn an_interrupt_cuts_an_execution_that_does_not_end() {
    let events = std::env::temp_dir().join(format!("raddle-limits-{}", std::process::id()));
    let test = ignored_test(&test_name!("is_interrupted"));
    // Ctrl-C is ignored in the background of a script.
    let output = Command::new("env")
        .arg("--default-signal=INT")
        .arg(test.get_program())
        .args(test.get_args())
        .env(IS_CHILD, "1")
        .env("RADDLE_EVENTS", &events)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&events).unwrap_or_default();
    let _ = std::fs::remove_file(&events);
    assert!(!output.status.success());
    let last = text.lines().last().unwrap_or_default();
    assert!(last.contains(r#""event":"finished""#), "{text}");
    assert!(last.contains(r#""interrupted":true"#), "{text}");
    assert!(
        text.contains("an execution had not ended when the check was stopped, after "),
        "{text}"
    );
    assert!(text.contains("main is about to "), "{text}");
}
