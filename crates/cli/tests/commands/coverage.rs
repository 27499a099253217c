//! `cargo raddle coverage`.

use std::time::Duration;

use raddle_runs::{Anchor, News, RequirementKey, Run, RunsFile};

use crate::support::{Finished, Step, Workspace, finish};

const LONG: Duration = Duration::from_secs(60);

fn key(text: &str) -> String {
    let anchor = |text: &str| Anchor {
        file: "src/a.rs".to_owned(),
        text: text.to_owned(),
        number: 0,
        column: 1,
    };
    RequirementKey {
        metric: "sync-pair".to_owned(),
        first: anchor("a.lock()"),
        second: Some(anchor(text)),
    }
    .to_key()
}

fn news(run: u64, classes: &[u64]) -> News {
    News {
        shape: 1,
        run,
        so_far: Run {
            started: run,
            executions: 100,
            classes: classes.len() as u64,
            requirements: 1,
        },
        classes: classes.to_vec(),
        ..News::default()
    }
}

#[test]
fn files_are_merged_and_all_records_are_shown() {
    let workspace = Workspace::new("files_are_merged");
    let here = RunsFile::new(workspace.directory.join("kept/runs.redb"));
    let there = RunsFile::new(workspace.directory.join("there.redb"));
    let first = News {
        covered: vec![key("b.lock()")],
        stale: vec![(key("c.lock()"), 100), (key("d.lock()"), 100)],
        impossible: vec![(key("e.lock()"), "ordered by a lock".to_owned())],
        excluded: vec![key("f.lock()")],
        ..news(1, &[1, 2, 3])
    };
    let second = News {
        covered: vec![key("c.lock()")],
        ..news(2, &[3, 4])
    };
    here.add("queue tests::push", &first, LONG).unwrap();
    there.add("queue tests::push", &second, LONG).unwrap();
    there
        .add_failure("queue tests::push", "schedule", LONG)
        .unwrap();
    let other = News {
        shape: 2,
        ..news(3, &[7])
    };
    here.add("queue tests::pop", &other, LONG).unwrap();
    there.add("queue tests::pop", &news(4, &[8]), LONG).unwrap();
    let mut command = workspace.command(&["coverage", "--merge", "there.redb"]);
    command.env("RADDLE_DIR", workspace.directory.join("kept"));
    let expected = Finished {
        code: Some(0),
        stdout: "\
queue tests::pop: 1 run, 100 executions, 1 class
queue tests::push: 2 runs, 200 executions, 4 classes
  executions after each run: 100, 200
  classes after each run: 3, 4
  requirements after each run: 1, 2
  covered: sync-pair 2
  not covered:
    sync-pair src/a.rs `a.lock()` -> src/a.rs `d.lock()`: not in 100 executions
  impossible, as every behaviour was run:
    sync-pair src/a.rs `a.lock()` -> src/a.rs `f.lock()`
  estimated to be impossible:
    sync-pair src/a.rs `a.lock()` -> src/a.rs `e.lock()`: ordered by a lock
  1 failing schedule, run first by the next run
"
        .to_owned(),
        stderr: "queue tests::pop: there.redb is from another version of the program; only its \
                 failing schedules were merged\n"
            .to_owned(),
    };
    assert_eq!(finish(&mut command), expected);
    assert_eq!(workspace.calls(), "", "nothing is built");
}

#[test]
fn a_missing_file_is_an_error_with_advice() {
    let workspace = Workspace::new("nothing_is_remembered");
    let target = workspace.directory.join("target");
    let metadata = format!(
        "{{\"target_directory\":{:?}}}",
        target.display().to_string()
    );
    workspace.answer(Step::Metadata, 0, &metadata, "");
    let finished = workspace.run(&["coverage"]);
    let file = target.join("raddle/runs.redb");
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        format!(
            "error: {} contains no runs\n  help: run tests with `remember = true`, or all tests with \
             RADDLE_REMEMBER=1\n",
            file.display()
        )
    );
    let finished = workspace.run(&["coverage", "--merge", "lost.redb"]);
    assert_eq!(finished.code, Some(2));
    assert_eq!(
        finished.stderr,
        "error: lost.redb cannot be used: there is no such file\n"
    );
}
