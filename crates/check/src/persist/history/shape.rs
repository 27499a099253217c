//! The shape of a program: a number that edits elsewhere do not change.
//!
//! It is a hash of the operations of each thread in an execution in which threads take turns.
//! Operations are hashed without numbers, with the text of their source lines. The settings that
//! classes depend on are hashed as well.

use raddle_engine::{Execution, ThreadId};

use super::sources::Sources;
use crate::runtime::Places;
use crate::settings::checker::Checker;

/// Returns the shape of the program from one of its executions. Never 0.
pub(super) fn of(
    execution: &Execution,
    checker: &Checker,
    places: &Places,
    sources: &mut Sources,
) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    hash.add(&format!(
        "{:?} {:?} {:?}",
        checker.memory,
        checker.classes,
        checker.policy()
    ));
    let mut threads: Vec<_> = (0..execution.threads.len())
        .map(|index| (execution.path(ThreadId::new(index)), ThreadId::new(index)))
        .collect();
    threads.sort();
    for (_, thread) in threads {
        hash.add("thread");
        for event in execution.events.iter().filter(|it| it.id.thread == thread) {
            // Values may be addresses, and numbers depend on other parts of the program.
            let operation = format!("{:?}", event.operation);
            hash.add(&operation.replace(|c: char| c.is_ascii_digit(), ""));
            if let Some(place) = places.to_text(event.site) {
                let anchor = sources.anchor(&place);
                hash.add(&anchor.file);
                hash.add(&anchor.text);
            }
        }
    }
    hash.0.max(1)
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
