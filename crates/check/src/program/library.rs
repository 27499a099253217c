//! Programs that use raddle's types.

use raddle_engine::CheckName;

use super::{Dialect, Program, RunningBinary, WorkerKind, shell_word};

/// A Rust program that uses raddle's types, in library mode.
#[derive(Clone, Copy, Debug)]
pub struct Library;

impl Program for Library {
    fn dialect(&self) -> Dialect {
        Dialect::Library
    }

    fn unwinds_threads(&self) -> bool {
        true
    }

    fn fixes_stacks(&self) -> bool {
        false
    }

    fn workers(&self) -> WorkerKind {
        WorkerKind::Threads
    }

    fn command(&self, binary: &RunningBinary, check: Option<&CheckName>) -> String {
        match (binary.is_test, check) {
            (true, Some(check)) => format!("cargo test {} -- --exact", shell_word(&check.test)),
            (true, None) => "cargo test".to_owned(),
            (false, _) => binary.name.clone(),
        }
    }
}
