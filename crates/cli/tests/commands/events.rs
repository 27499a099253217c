//! Events that the checks of fake tests write.

use serde_json::{Value, json};

/// Events of a check that passes.
pub fn passing(summary: &str) -> Vec<Value> {
    vec![
        json!({ "event": "started" }),
        json!({ "event": "finished", "summary": summary, "passed": true }),
    ]
}

/// Events of a check that fails.
pub fn failing() -> Vec<Value> {
    let mark = |column: u32, what: &str, is_primary: bool| {
        let place = json!({ "file": "src/lib.rs", "line": 2, "column": column });
        json!({ "place": place, "what": what, "is_primary": is_primary })
    };
    let failure = json!({
        "kind": "Deadlock",
        "message": "alice waits for bob\nbob waits for alice",
        "marks": [mark(5, "alice waits here", true), mark(13, "bob has taken it here", false)],
        "notes": ["found at night"],
        "replay": "RADDLE_REPLAY=r1.AAAA cargo test dinner",
    });
    let story = "deadlock after 3 executions (exhaustive)\n\n  alice waits for bob\n";
    vec![
        json!({ "event": "started" }),
        json!({ "event": "failure", "failure": failure, "story": story }),
        json!({ "event": "finished", "summary": "3 classes", "passed": false }),
    ]
}

/// Lines of JSON.
pub fn lines(text: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).expect("each line is JSON");
    text.lines().map(parse).collect()
}
