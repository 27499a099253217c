//! What `cargo raddle mutants` must not claim.

use serde_json::Value;

use crate::support::{Finished, Newcomer, command_line, workspace};

/// The results in lines of JSON.
fn records(finished: &Finished) -> Vec<Value> {
    let lines = finished.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The operations and their changes.
fn changes(records: &[Value]) -> Vec<String> {
    let text = |record: &Value, name: &str| record[name].as_str().unwrap().to_owned();
    let change = |it: &Value| {
        format!(
            "{} {} -> {}",
            text(it, "file"),
            text(it, "operation"),
            text(it, "change")
        )
    };
    records.iter().map(change).collect()
}

#[test]
fn a_search_that_a_change_makes_longer_has_noticed_nothing() {
    let claims = Newcomer::new("claims_longer", "claims");
    let raddle = command_line(&claims);
    let found = records(&raddle("mutants slot --json").exits(1));
    assert_eq!(
        changes(&found),
        [
            "src/lib.rs store Release -> Relaxed",
            "src/lib.rs load Acquire -> Relaxed"
        ]
    );
    for record in found {
        // The test fails, as it requires more; but it has found nothing.
        assert_eq!(record["outcome"], "not noticed", "{record}");
        assert_eq!(record["exhaustive"], false, "{record}");
        assert_eq!(record["guarantee"], "sampled", "{record}");
    }
    let text = "not noticed  src/lib.rs:20:19: store Release -> Relaxed\n             not every behaviour was run (sampled)\n";
    assert!(raddle("mutants slot").exits(1).stdout.contains(text));
}

#[test]
fn changes_of_the_source_are_judged_under_the_memory_model_of_the_check() {
    let claims = Newcomer::new("claims_weak", "claims");
    let raddle = command_line(&claims);
    let judged = || {
        let found = records(&raddle("mutants pair --tier source --json").exits(1));
        let of_writer =
            |record: &&Value| record["operation"] == "drop-guard" && record["line"] == 39;
        let dropped: Vec<_> = found.iter().filter(of_writer).collect();
        assert_eq!(dropped.len(), 1, "{found:?}");
        dropped[0]["outcome"].as_str().unwrap().to_owned()
    };
    // Without its lock, the writer can be seen half done only if its stores can be seen in another order.
    assert_eq!(judged(), "not noticed");
    claims.replace("tests/all.rs", r#"memory = "sc""#, r#"memory = "rc11""#);
    assert_eq!(judged(), "noticed");
}

#[test]
fn code_of_tests_is_that_of_its_items_and_not_what_comes_after_one() {
    let claims = Newcomer::new("claims_tests", "claims");
    let raddle = command_line(&claims);
    let changed = changes(&records(&raddle("mutants --list --json").exits(0)));
    assert_eq!(changed.len(), 2, "{changed:?}");
    let all = changes(&records(
        &raddle("mutants --list --json --in-tests").exits(0),
    ));
    let of_tests: Vec<_> = all.iter().filter(|it| !changed.contains(it)).collect();
    assert_eq!(of_tests.len(), 4, "{all:?}");
    assert!(
        of_tests
            .iter()
            .all(|it| it.starts_with("src/names.rs fetch-add SeqCst")),
        "{all:?}"
    );
    raddle("mutants a_name")
        .exits(2)
        .says("outside their own code, and 4 in it");
}

#[test]
fn lines_that_differ_are_found_whatever_git_is_configured_to_print() {
    let claims = Newcomer::new("claims_diff", "claims");
    let git = |words: &str| {
        claims
            .shell(&format!("git -c user.name=a -c user.email=a@b {words}"))
            .exits(0)
    };
    git("init --quiet");
    git("add -A");
    git("commit --quiet -m first");
    git("config diff.mnemonicPrefix true");
    git("config diff.external true");
    let raddle = command_line(&claims);
    let listed = || {
        changes(&records(
            &raddle("mutants --list --json --in-diff HEAD").exits(0),
        ))
    };
    assert_eq!(listed().len(), 0);
    claims.replace(
        "src/lib.rs",
        "self.full.store(1, Release);",
        "self.full.store(1, Release); // full",
    );
    assert_eq!(listed(), ["src/lib.rs store Release -> Relaxed"]);
    // A file that git does not know yet.
    let moved = "self.full.load(Acquire) == 1";
    claims.replace("src/lib.rs", moved, "full::is(&self.full)");
    claims.replace("src/lib.rs", "#[cfg(test)]\n", "mod full;\n#[cfg(test)]\n");
    claims.write(
        "src/full.rs",
        "use raddle::sync::atomic::{AtomicU32, Ordering::Acquire};\npub fn is(full: &AtomicU32) -> bool {\n    \
         full.load(Acquire) == 1\n}\n",
    );
    let both = [
        "src/full.rs load Acquire -> Relaxed",
        "src/lib.rs store Release -> Relaxed",
    ];
    assert_eq!(listed(), both);
}

#[test]
fn orderings_that_somebody_chose_and_no_test_needs_may_be_gaps() {
    let claims = Newcomer::new("claims_gaps", "claims");
    let raddle = command_line(&claims);
    let found = raddle("orderings announced").exits(0);
    let book = std::fs::read_to_string(workspace().join("docs/src/mutants.md")).unwrap();
    let (_, shown) = book.split_once("weaker   src/lib.rs:20:19").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    for line in shown.lines().skip(1) {
        assert!(
            found.stdout.lines().any(|it| it == line),
            "{line}\n{}",
            found.stdout
        );
    }
    found.says("2 of them may be gaps in the tests");
}

#[test]
fn a_test_that_samples_is_run_with_the_weaker_orderings_too() {
    let claims = Newcomer::new("claims_sampled", "claims");
    // A test that reaches nothing as it is, and that no search makes whole.
    claims.replace(
        "tests/all.rs",
        "// Nothing looks at the value.",
        "#[test]\nfn announced_again() {\n    \
         if std::env::var(\"RADDLE_MUTANT\").is_ok_and(|it| it != \"list\") {\n        panic!(\"weaker\");\n    }\n}\n",
    );
    let raddle = command_line(&claims);
    raddle("orderings announced")
        .exits(2)
        .says("do not pass all tests together: ");
}
