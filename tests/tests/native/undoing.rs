//! Loops whose rounds put back what they take are loops that wait: plain writes are seen in native programs, so
//! locks of any kind may be taken and released in them.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::support::{build, run};

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| build("undoing.c", "undoing"));

#[test]
fn rounds_that_put_back_what_they_take_are_looks_unless_another_thread_sees_them() {
    let check = |name, memory| {
        let settings = [
            ("RADDLE_NATIVE", "program"),
            ("RADDLE_STRATEGY", "exhaustive"),
            ("RADDLE_MAX_EVENTS", "5000"),
            ("RADDLE_MEMORY", memory),
        ];
        run(&PROGRAM, &[name], &settings)
    };
    for memory in ["sc", "rc11"] {
        for name in ["waits", "two_locks"] {
            check(name, memory)
                .exits(0)
                .says("every behaviour was run: ");
        }
        // The value that only the round has is seen.
        check("looked_at", memory).exits(1).says("failed assertion");
        // What the lock protects changes in every round.
        check("ends_by_itself", memory)
            .exits(0)
            .says("every behaviour was run: ");
    }
    // The place of a store may change under weak memory, and such a round is run again and again.
    check("waits_for_ever", "sc").exits(1).says("livelock");
    check("waits_for_ever", "rc11").says("too long");
}
