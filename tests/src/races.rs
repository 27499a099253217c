//! Programs that race and programs that do not.

use std::collections::HashMap;

use raddle::cell::UnsafeCell;
use raddle::sync::Arc;
use raddle::{Checker, FailureKind, Memory, Strategy, thread};

/// A cell that threads share.
#[derive(Default)]
pub struct Shared(pub UnsafeCell<u32>);

// SAFETY: `Sync` needs exclusion between OS threads: one runs everything. Races of modelled threads
// are the subject of the test.
unsafe impl Sync for Shared {}

impl Shared {
    /// Increments the value.
    #[track_caller]
    pub fn write(&self) {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    /// Returns the value.
    #[track_caller]
    pub fn read(&self) -> u32 {
        // SAFETY: one OS thread runs everything, so no other access happens during this one.
        self.0.with(|value| unsafe { *value })
    }
}

/// Returns a checker without spurious wake-ups, spurious failures and time-outs.
pub fn checker() -> Checker {
    Checker::new()
        .spurious_wakeups(false)
        .timeouts(false)
        .weak_cas(false)
}

/// Returns the number of classes with a race and of all classes, under both models; the same by the
/// search and by running all schedules.
pub fn races_in(checker: &Checker, program: impl Fn() + Send + Sync) -> [(usize, usize); 2] {
    [Memory::Sc, Memory::Rc11].map(|memory| {
        let count = |strategy| {
            let mut classes = HashMap::new();
            let checker = checker.clone().memory(memory).strategy(strategy);
            let checker = checker.keep_going(true).shorten(false);
            let report = raddle::__private::run_observed(checker, &program, &mut |execution| {
                let racy = execution.conflict.is_some();
                let known = classes.insert(execution.class(), racy);
                assert!(known.is_none_or(|known| known == racy));
            });
            assert!(report.exhausted, "{report}");
            let kinds = report.failures.iter().map(|failure| failure.kind);
            for kind in kinds {
                assert_eq!(kind, FailureKind::DataRace, "{report}");
            }
            let racy = classes.values().filter(|&&racy| racy).count();
            (racy, classes.len())
        };
        let found = count(Strategy::Exhaustive);
        assert_eq!(found, count(Strategy::EnumeratePrivateFirst), "{memory:?}");
        found
    })
}

/// Asserts that there is a race, under both models.
#[track_caller]
pub fn is_racy(program: impl Fn() + Send + Sync) {
    let found = races_in(&checker(), program);
    assert!(found.iter().all(|(racy, _)| *racy > 0), "{found:?}");
}

/// Asserts that there is no race, under both models.
#[track_caller]
pub fn is_clean(program: impl Fn() + Send + Sync) {
    let found = races_in(&checker(), program);
    assert!(found.iter().all(|(racy, _)| *racy == 0), "{found:?}");
}

/// Runs a cell and a shared default value with main and another thread.
pub fn two<S: Default + Send + Sync + 'static>(
    first: impl FnOnce(&Shared, &S) + Send + 'static,
    second: impl FnOnce(&Shared, &S),
) {
    two_with(S::default(), first, second);
}

/// As [`two`], with a shared value made by the caller.
pub fn two_with<S: Send + Sync + 'static>(
    with: S,
    first: impl FnOnce(&Shared, &S) + Send + 'static,
    second: impl FnOnce(&Shared, &S),
) {
    let shared = Arc::new((Shared::default(), with));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || first(&other.0, &other.1));
    second(&shared.0, &shared.1);
    thread.join().unwrap();
    shared.0.write();
}
