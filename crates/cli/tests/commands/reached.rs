//! States that none of the tests of `cargo raddle test` has reached.

use serde_json::{Value, json};

use crate::events::lines;
use crate::support::{Finished, Workspace};

const SOURCE: &str = "\
fn push(&self) {
    if self.is_full() {
        raddle::reachable!(\"queue is full\");
    }
    raddle::sometimes!(self.len()==2, \"queue fills up\");
    raddle::sometimes!(self.len()>2);
}
";

/// Events of a check whose executions came to lines of the source, with the number in which the condition held.
fn passing(reached: &[(&str, u32, u64)]) -> Vec<Value> {
    let state = |&(name, line, held): &(&str, u32, u64)| {
        let place = json!({ "file": "src/lib.rs", "line": line, "column": 5 });
        json!({ "name": name, "place": place, "came": 3, "held": held })
    };
    let reached: Vec<_> = reached.iter().map(state).collect();
    vec![
        json!({ "event": "started" }),
        json!({ "event": "finished", "summary": "3 classes", "passed": true, "reached": reached }),
    ]
}

fn workspace(test: &str) -> Workspace {
    let workspace = Workspace::new(test);
    workspace.build(&["one", "two"]);
    workspace.write("src/lib.rs", SOURCE);
    // The compiler writes a condition in its own way.
    workspace.test(
        "one",
        0,
        &passing(&[("queue fills up", 5, 0), ("self.len() > 2", 6, 0)]),
        "",
    );
    workspace.test("two", 0, &passing(&[("queue fills up", 5, 2)]), "");
    workspace
}

fn list(finished: &Finished) -> &str {
    let after = finished
        .stdout
        .split_once("\nreached by none of these tests:\n");
    let (list, _) = after.map_or(("", ""), |(_, list)| list.split_once("\n\n").unwrap());
    list
}

#[test]
fn states_that_no_test_reaches_are_listed() {
    let workspace = workspace("states_are_listed");
    let finished = workspace.run(&["test", "--jobs", "1"]);
    assert_eq!(finished.code, Some(0), "a list is no failure");
    assert_eq!(
        list(&finished),
        "  src/lib.rs:3:9: queue is full (no execution came here)\n  \
           src/lib.rs:6:5: self.len()>2 (its condition was never true)"
    );
    let finished = workspace.run(&["test", "--jobs", "1", "--json"]);
    let last = lines(&finished.stdout).pop().unwrap();
    assert_eq!(
        last["unreached"],
        json!([
            { "name": "queue is full", "place": "src/lib.rs:3:9", "was_false": false },
            { "name": "self.len()>2", "place": "src/lib.rs:6:5", "was_false": true },
        ])
    );
}

/// Tests that are not selected may come to the other states. The fake binary runs all tests whatever the filter.
#[test]
fn a_selection_lists_only_what_it_came_to() {
    let workspace = workspace("a_selection_lists");
    let finished = workspace.run(&["test", "--jobs", "1", "one"]);
    assert_eq!(
        list(&finished),
        "  src/lib.rs:6:5: self.len() > 2 (its condition was never true)"
    );
}

#[test]
fn nothing_is_listed_when_every_state_is_reached() {
    let workspace = workspace("every_state_is_reached");
    let all = [("queue is full", 3, 1), ("self.len() > 2", 6, 1)];
    let mut events = passing(&all);
    events[1]["reached"][0]["place"]["column"] = 9.into();
    workspace.test("one", 0, &events, "");
    let finished = workspace.run(&["test", "--jobs", "1"]);
    assert_eq!(list(&finished), "", "{finished:?}");
}
