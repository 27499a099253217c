//! Vector clocks: the events of each task that happen before the present one of a task.
//!
//! A clock is computed from all events of the execution at each call, so that tests which call none pay nothing.

use std::cmp::Ordering;
use std::ops::Deref;
use std::panic::Location;

use raddle::scheduler::ThreadId;
use raddle_check::runtime;

use super::{TaskId, current_task, trace};

/// True when clocks have entries.
const HAS_CLOCKS: bool =
    cfg!(feature = "vector-clocks") && !cfg!(feature = "bench-no-vector-clocks");

/// A clock: for each task, the number of its events that happen before the present one. Empty without the feature
/// `vector-clocks`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VectorClock(Vec<u32>);

impl VectorClock {
    /// Returns the entry of a task.
    #[must_use]
    pub fn get(&self, task: usize) -> u32 {
        self.0.get(task).copied().unwrap_or(0)
    }
}

impl Deref for VectorClock {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl From<&[u32]> for VectorClock {
    fn from(clock: &[u32]) -> Self {
        VectorClock(clock.to_vec())
    }
}

impl<const N: usize> From<&[u32; N]> for VectorClock {
    fn from(clock: &[u32; N]) -> Self {
        VectorClock(clock.to_vec())
    }
}

/// A clock is less than another if no entry is greater and one is less, or is missing.
impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let lengths = self.len().cmp(&other.len());
        let mut entries = self.iter().zip(other.iter()).map(|(one, two)| one.cmp(two));
        entries.try_fold(lengths, |all, one| match (all, one) {
            (Ordering::Equal, one) => Some(one),
            (all, Ordering::Equal) => Some(all),
            (all, one) => (all == one).then_some(all),
        })
    }
}

/// Returns the clock of the calling task; an empty one outside a test.
#[track_caller]
pub fn clock() -> VectorClock {
    trace::accessed(Location::caller());
    current_task().map_or_else(VectorClock::default, of)
}

/// Returns the clock of a task; an empty one outside a test.
#[must_use]
pub fn clock_for(task: TaskId) -> VectorClock {
    of(task)
}

fn of(task: TaskId) -> VectorClock {
    let Some(context) = runtime::current().filter(|_| HAS_CLOCKS) else {
        return VectorClock::default();
    };
    let clock = context.clock_of(ThreadId::new(task.into()));
    // The first event of a task is its beginning, which shuttle does not count.
    VectorClock(
        clock
            .iter()
            .map(|events| events.saturating_sub(1))
            .collect(),
    )
}
