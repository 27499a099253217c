//! Messages for programs that behave differently under the same schedule.

use raddle_engine::{Divergence, Operation};

use crate::words::finding::context::FindingContext;
use crate::words::number::counted;

/// Causes in Rust programs, each with the change that removes it. Which of them it is cannot be seen from outside.
const IN_RUST: &str = "the program must depend on nothing but its schedule; the usual causes:\n  \
     the order of a `HashMap` or `HashSet`: give it a fixed hasher, `HashMap<K, V, BuildHasherDefault<DefaultHasher>>`\n  \
     `std::time`: use `raddle::time`, whose `Instant` and `SystemTime` are virtual\n  \
     `rand`: use `raddle::any()` or `raddle::choose(0..n)`, which are explored, or a generator with a fixed seed\n  \
     addresses that are hashed or compared, and locks that raddle does not see\n  \
     state kept from one execution to the next, such as the contents of a lock made outside the check";
const IN_C: &str = "the program must depend on nothing but its schedule: look for the processor's own clock, memory that was never written, files and other processes, memory \
     that the program maps by itself, and libraries that keep something from one execution to the next";

/// Another possible reason, when a compare-exchange succeeds in one run and fails in another.
const REUSE: &str = "an address may have been used again in one of the runs and not in the other: install \
     `raddle::alloc::Quarantine`, with which addresses depend on the schedule alone. If that is not it, ";

/// Another possible reason, when the operations that differ are those of a destructor.
const LAST_ARC: &str = "a value was dropped at another time: when it is in a plain `Arc`, raddle does not see which \
     thread drops the last handle; if the destructor does something that other threads notice, use \
     `raddle::sync::TrackedArc`. If that is not it, ";

impl FindingContext<'_> {
    pub(crate) fn nondeterminism(&self, divergence: &Divergence) -> String {
        let Divergence {
            after,
            thread,
            expected,
            expected_at,
            found,
            pending,
            found_at,
            ..
        } = divergence;
        let path = thread.parse().ok();
        let title = match path.and_then(|path| self.execution.thread_at(&path)) {
            Some(thread) => self.trace.title(thread).to_owned(),
            None => thread.to_string(),
        };
        let at = |site: &Option<_>| site.map_or(String::new(), |site| self.at(site));
        let now = match pending {
            None => "it has ended".to_owned(),
            Some(operation) => {
                let what = self.things.describe_pending(operation, self.execution);
                // The operation is the same, so its target differs, or one of them writes.
                let same = operation.label() == expected && expected_at == found_at;
                let but = if same {
                    ", with another target or outcome"
                } else {
                    ""
                };
                format!("{what}{}{but}", at(found_at))
            }
        };
        let events = counted(*after as u64, "event", "events");
        let is_native = self.names.is_native();
        let exchanges = expected == "compare-exchange" && found.as_deref() == Some(expected);
        let dropped = pending.as_ref().is_some_and(is_drop) || is_drop_label(expected);
        format!(
            "after {events}, {title} does something else than in an earlier run\n\
             then: {expected}{}\n\
             now: {now}\n\
             help: {}{}",
            at(expected_at),
            match is_native {
                true => "",
                false if dropped => LAST_ARC,
                false if exchanges => REUSE,
                false => "",
            },
            if is_native { IN_C } else { IN_RUST },
        )
    }
}

/// Describes the step at which the program stopped following the replayed schedule.
pub(crate) fn mismatch(divergence: &Divergence) -> String {
    let Divergence {
        after,
        thread,
        expected,
        found,
        ..
    } = divergence;
    let found = match found {
        Some(operation) if operation == expected => "it cannot do that now".to_owned(),
        Some(operation) => format!("it is at `{operation}`"),
        None => "there is no such thread, or it has ended".to_owned(),
    };
    format!(
        "the schedule does not fit the program: after {}, thread {thread} should do \
         `{expected}`, but {found}\n\
         help: the program has changed since the schedule was made, or it is another test's; run \
         the test without a schedule to get a new one",
        counted(*after as u64, "step", "steps"),
    )
}

/// True for operations that destructors perform.
fn is_drop(operation: &Operation) -> bool {
    match operation {
        Operation::HangUp { .. } => true,
        Operation::Call { call, .. } => call.gives_back(),
        _ => false,
    }
}

/// As [`is_drop`], for an operation of an earlier run, of which only the label is known.
fn is_drop_label(label: &str) -> bool {
    [
        "unlock",
        "read-unlock",
        "write-unlock",
        "hang-up",
        "leave",
        "drop",
        "drop-weak",
        "exit",
        "release",
    ]
    .contains(&label)
}
