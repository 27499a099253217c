//! Limits of checks of native programs: the functions of `tests/native/limits.c` run beyond all of them.

use super::support::{build, run};

/// A budget that is over soon; neither events nor executions end the check.
const BUDGET: [(&str, &str); 3] = [
    ("RADDLE_MAX_TIME", "200ms"),
    ("RADDLE_MAX_EVENTS", "1000000000"),
    ("RADDLE_MAX_EXECUTIONS", "1000000000"),
];

#[test]
fn an_execution_without_end_is_cut_and_every_thread_has_a_position() {
    let program = build("limits.c", "limits_endless");
    for strategy in ["auto", "random", "exhaustive"] {
        for name in [
            "endless_updates",
            "endless_yields",
            "endless_sleeps",
            "endless_lock",
            "polling",
        ] {
            let settings = [&BUDGET[..], &[("RADDLE_STRATEGY", strategy)]].concat();
            let finished = run(&program, &[name], &settings);
            // A thread that only waits may be left with a deadlock or livelock, which is found at once.
            finished.exits(3);
            let headline =
                "an execution had not ended when the time of the check, 200ms, was over, after ";
            finished.says(headline).says("raise `--budget`");
            let is_position = |line: &&str| {
                let line = line.trim_start();
                let is_thread = line.starts_with("main ") || line.starts_with("1 ");
                is_thread && (line.contains(" is about to ") || line.contains(" waits to "))
            };
            let positions = finished.text.lines().filter(is_position).count();
            assert!(positions >= 1, "{strategy} {name}: {}", finished.text);
        }
    }
}

#[test]
fn a_failure_of_a_long_execution_is_printed_although_the_time_is_over() {
    let program = build("limits.c", "limits_fails");
    let finished = run(&program, &["fails_late"], &BUDGET);
    finished.exits(1).says("failed assertion");
    let finished = run(
        &program,
        &["fails_long"],
        &[BUDGET[1], BUDGET[2], ("RADDLE_MAX_TIME", "20s")],
    );
    finished.exits(1).says("failed assertion");
}

#[test]
fn runs_before_a_search_begins_again_are_counted() {
    let program = build("limits.c", "limits_promoted");
    let run = |settings: &[(&str, &str)]| {
        let plain = [
            ("RADDLE_PLAIN", "promote"),
            ("RADDLE_STRATEGY", "exhaustive"),
        ];
        run(&program, &["races"], &[&plain, settings].concat())
    };
    // The first search stops at the race. In the second the two accesses of each thread are operations: of
    // six orders, the two threads one after the other make two, and the four others lose an update; each
    // access reads the initial value or the other's, which makes four classes.
    let finished = run(&[]);
    finished
        .exits(0)
        .says("every behaviour was run: 4 classes in 5 runs (exhaustive, ");
    // One run for the race, and three are left.
    let finished = run(&[("RADDLE_MAX_EXECUTIONS", "4")]);
    finished
        .exits(0)
        .says(" in 4 runs; stopped at 4 runs: raise `--max-executions` for more (exhaustive, ");
}
