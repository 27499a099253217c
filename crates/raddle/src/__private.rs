//! Functions that the expansion of `#[raddle::test]` and raddle's own tests call. Not for direct use.

use std::fmt::Debug;
use std::panic::Location;

use raddle_check::Checker;

pub use crate::entered::{Entered, Value, WithDebug, WithoutDebug};
pub use crate::labelled::{data_set, data_struct, label};
pub use raddle_check::runtime::LocalId;
pub use raddle_check::{reading, run_observed, with_mutant};
pub use std::thread_local as std_thread_local;

/// A type that a test function may return.
pub trait Outcome {
    /// Panics if the test failed.
    fn verify(self);
}

impl Outcome for () {
    fn verify(self) {}
}

impl<T: Outcome, E: Debug> Outcome for Result<T, E> {
    #[track_caller]
    fn verify(self) {
        match self {
            Ok(value) => value.verify(),
            Err(error) => panic!("the test returned an error: {error:?}"),
        }
    }
}

/// Runs a test many times and panics with the report of the first failure.
#[track_caller]
pub fn test<T: Outcome>(
    name: &'static str,
    configure: impl FnOnce(Checker) -> Checker,
    body: fn() -> T,
) {
    // The harness identifies tests by their path inside the crate.
    let name = name.split_once("::").map_or(name, |(_, path)| path);
    let checker = Checker::new().named(name).known_schedules(true);
    let report = configure(checker).run(move || body().verify());
    report.assert_ok();
}

/// True inside a check.
pub fn is_checked() -> bool {
    raddle_check::runtime::current().is_some()
}

/// Labels the last operation of the calling thread, if the check records labels.
pub fn label_event(text: impl FnOnce() -> String) {
    if let Some(context) = raddle_check::runtime::current() {
        context.label_event(text);
    }
}

/// Notes that the running execution came to a marked state, if there is one.
#[track_caller]
pub fn pass(name: &'static str, holds: bool) {
    if let Some(context) = raddle_check::runtime::current() {
        context.pass_state(Location::caller(), name, holds);
    }
}
