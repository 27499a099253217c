//! Tests that were written for loom: raddle's version is loom's by search and replace, and passes.

use raddle_tests::ported::{queue, ring};

/// What the guide for those who come from loom says to replace, in this order.
const REPLACED: [(&str, &str); 2] = [("loom::model(", "raddle::check("), ("loom::", "raddle::")];

fn is_ported(original: &str, ported: &str) {
    let mut text = original.to_owned();
    for (from, to) in REPLACED {
        text = text.replace(from, to);
    }
    assert_eq!(text, ported);
}

#[test]
fn search_and_replace_is_all_it_takes() {
    is_ported(
        include_str!("../ported/ring.rs"),
        include_str!("../src/ported/ring.rs"),
    );
    is_ported(
        include_str!("../ported/queue.rs"),
        include_str!("../src/ported/queue.rs"),
    );
    let guide = include_str!("../../docs/src/from-loom.md");
    for (from, to) in REPLACED {
        assert!(guide.contains(&format!("| `{from}` | `{to}` |")), "{from}");
    }
}

#[test]
fn a_ring_buffer() {
    ring::test();
}

#[test]
fn a_queue_with_turns() {
    queue::test();
}
