//! The guarantee that a check reached: the line that each check prints, and checks that require one.

use raddle::sync::atomic::{AtomicU32, Ordering::SeqCst};
use raddle::{Checker, FailureKind, Guarantee, Reduction, Strategy, thread};
use raddle_tests::child::ignored_test;
use raddle_tests::test_name;

/// Two threads that store and load: three classes, of which two need no preemption.
fn store_and_load() {
    let value = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in [1, 2] {
            let value = &value;
            scope.spawn(move || {
                value.store(number, SeqCst);
                value.load(SeqCst)
            });
        }
    });
}

/// Checks that reach each guarantee of a search.
fn checks() -> Vec<(Guarantee, Checker)> {
    let exhaustive = || Checker::new().strategy(Strategy::Exhaustive);
    let delays = |bound| Checker::new().strategy(Strategy::Delay { bound });
    vec![
        (Guarantee::Exhaustive, exhaustive()),
        (Guarantee::Reduced, exhaustive().reduce(Reduction::Symmetry)),
        (
            Guarantee::Bounded { preemptions: 0 },
            exhaustive().preemptions(0),
        ),
        (Guarantee::Delayed { delays: 0 }, delays(0)),
        (Guarantee::Delayed { delays: 1 }, delays(1)),
        (
            Guarantee::Sampled,
            Checker::new().strategy(Strategy::Random).max_executions(20),
        ),
        (Guarantee::Sampled, exhaustive().max_executions(1)),
    ]
}

#[test]
fn less_than_required_is_a_failure_of_its_own() {
    let mut required: Vec<Guarantee> = checks().into_iter().map(|(reached, _)| reached).collect();
    required.extend([1, 2].map(|preemptions| Guarantee::Bounded { preemptions }));
    let (mut met, mut missed) = (0, 0);
    for &required in &required {
        for (reached, checker) in checks() {
            let report = checker.require(required).run(store_and_load);
            assert_eq!(report.guarantee(), reached);
            assert_eq!(report.required(), Some(required));
            let kinds: Vec<FailureKind> = report.failures.iter().map(|it| it.kind).collect();
            match reached.satisfies(required) {
                true => met += usize::from(kinds.is_empty()),
                false => missed += usize::from(kinds == [FailureKind::Requirement]),
            }
        }
    }
    assert_eq!(met + missed, required.len() * checks().len());
    assert!(met > 0 && missed > 0);
}

#[test]
fn the_failure_says_what_was_reached_and_what_to_do() {
    let story = |checker: Checker, required| {
        let report = checker.page(false).require(required).run(store_and_load);
        report.failures[0].to_string()
    };
    let random = Checker::new().strategy(Strategy::Random).max_executions(1);
    assert_eq!(
        story(random, Guarantee::Bounded { preemptions: 2 }),
        "less than required after 1 execution (random)

  `bounded:2` is required, and `sampled` was reached: 1 class in 1 run
  help: `random` promises no more; use the strategy `auto` or `exhaustive`; or require no more than `sampled`
"
    );
    let bounded = Checker::new().strategy(Strategy::Exhaustive).preemptions(0);
    let story = story(bounded, Guarantee::Exhaustive);
    assert!(
        story.contains("`exhaustive` is required, and `bounded:0` was reached: "),
        "{story}"
    );
}

#[test]
fn the_help_names_the_setting_that_keeps_the_check_from_more() {
    let help = |checker: Checker, required: Guarantee| {
        let report = checker.page(false).require(required).run(store_and_load);
        let message = report.failures[0].message.clone();
        let help = message.split("help: ").nth(1).unwrap();
        help.split("; or require no more than")
            .next()
            .unwrap()
            .to_owned()
    };
    let exhaustive = || Checker::new().strategy(Strategy::Exhaustive);
    let bounded = |preemptions| Guarantee::Bounded { preemptions };
    let delayed = |delays| Guarantee::Delayed { delays };
    let delay = || Checker::new().strategy(Strategy::Delay { bound: 1 });
    assert_eq!(
        help(exhaustive().preemptions(0), Guarantee::Exhaustive),
        "leave out `preemptions`, which skips classes"
    );
    assert_eq!(
        help(exhaustive().preemptions(0), bounded(2)),
        "raise `preemptions` to 2"
    );
    assert_eq!(
        help(exhaustive().reduce(Reduction::Symmetry), bounded(2)),
        "leave out `reduce`, which skips classes"
    );
    assert_eq!(
        help(delay(), Guarantee::Exhaustive),
        "`delay:1` promises no more; use the strategy `auto` or `exhaustive`"
    );
    assert_eq!(help(delay(), delayed(2)), "use the strategy `delay:2`");
    assert_eq!(
        help(exhaustive().preemptions(0), delayed(2)),
        "use the strategy `delay:2`"
    );
    let few = || exhaustive().max_executions(1);
    assert_eq!(
        help(few(), Guarantee::Exhaustive),
        "raise `max_executions`, use more workers, or make the test smaller"
    );
    assert_eq!(
        help(few(), bounded(2)),
        "raise `max_executions`, bound the search from the start with `preemptions = 2`, use more workers, or \
         make the test smaller"
    );
}

#[test]
fn the_failure_counts_runs_as_the_result_does() {
    let bounded = || Checker::new().strategy(Strategy::Exhaustive).preemptions(0);
    let passing = bounded().run(store_and_load);
    let failing = bounded()
        .page(false)
        .require(Guarantee::Exhaustive)
        .run(store_and_load);
    assert!(passing.runs() > passing.executions, "no run is left out");
    let (runs, message) = (passing.runs(), &failing.failures[0].message);
    assert!(message.contains(&format!(" in {runs} runs\n")), "{message}");
}

#[test]
fn another_failure_comes_first_and_a_replay_is_exempt() {
    let fails = || {
        store_and_load();
        assert!(!raddle::any::<bool>(), "chosen");
    };
    let check = || Checker::new().strategy(Strategy::Random).max_executions(50);
    let report = check().require(Guarantee::Exhaustive).run(fails);
    let [failure] = &report.failures[..] else {
        panic!("{report}")
    };
    assert_eq!(failure.kind, FailureKind::Panic);
    let passing = "raddle schedule 2; main: begin";
    let replay = Checker::new().strategy(Strategy::Replay(passing.parse().unwrap()));
    let report = replay.require(Guarantee::Exhaustive).run(|| {});
    assert_eq!(report.guarantee(), Guarantee::Replayed);
    assert!(report.failures.is_empty(), "{report}");
}

#[raddle::test(require = "bounded:1")]
fn the_attribute_requires_a_guarantee() {
    store_and_load();
}

#[raddle::test(strategy = "random", max_executions = 5, require = "Exhaustive")]
#[should_panic(expected = "`exhaustive` is required, and `sampled` was reached: ")]
fn the_attribute_makes_less_a_failure() {
    store_and_load();
}

#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn checks_in_three_ways() {
    raddle::check(store_and_load);
    let sampled = Checker::new().strategy(Strategy::Random).max_executions(5);
    sampled.run(store_and_load).assert_ok();
    let bounded = Checker::new().strategy(Strategy::Exhaustive).preemptions(0);
    bounded.run(store_and_load).assert_ok();
}

/// The lines of raddle in the output of that test, without durations.
fn printed(variables: &[(&str, &str)]) -> (bool, Vec<String>) {
    let mut command = ignored_test(&test_name!("checks_in_three_ways"));
    command.arg("--nocapture").env_remove("RADDLE_REQUIRE");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("raddle: "));
    let lines = lines.map(|line| line.rsplit_once(", ").unwrap().0.to_owned());
    (output.status.success(), lines.collect())
}

#[test]
fn every_check_prints_a_line_with_its_guarantee() {
    let name = test_name!("checks_in_three_ways");
    let (passed, lines) = printed(&[]);
    assert!(passed);
    let [first, second, third] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert!(first.starts_with(&format!("raddle: {name}: every behaviour was run: ")));
    assert!(second.starts_with(&format!(
        "raddle: {name}, check 2: not every behaviour was run: "
    )));
    assert!(third.starts_with(&format!(
        "raddle: {name}, check 3: every behaviour up to 0 preemptions was run: "
    )));
}

#[test]
fn the_environment_requires_a_guarantee() {
    let (passed, lines) = printed(&[("RADDLE_REQUIRE", "sampled")]);
    assert!(passed);
    assert_eq!(lines.len(), 3);
    let (passed, lines) = printed(&[("RADDLE_REQUIRE", "exhaustive")]);
    assert!(!passed);
    assert_eq!(lines.len(), 1, "the second check fails");
}
