//! The stories under shuttle: the same files, compiled over its types.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use raddle_stories::{Facts, FailureKind, Story};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

use super::muted::Muted;

/// The types that the programs use.
mod backend {
    pub(crate) use shuttle::{sync, thread};
}

#[path = "../../../tests/stories/src/programs/mod.rs"]
mod programs;

pub(crate) use programs::all;

/// One of shuttle's schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    Random,
    /// With depth 3.
    Pct,
    Urw,
}

impl Peer {
    pub(crate) const ALL: [Peer; 3] = [Peer::Random, Peer::Pct, Peer::Urw];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Random => "shuttle_random",
            Peer::Pct => "shuttle_pct3",
            Peer::Urw => "shuttle_urw",
        }
    }

    /// Returns the execution in which the body first fails; `None` if there is none among the first
    /// `most`.
    pub(crate) fn first_failure(self, body: fn(), seed: u64, most: u64) -> Option<u64> {
        let executions = most as usize;
        match self {
            Peer::Random => run(RandomScheduler::new_from_seed(seed, executions), body),
            Peer::Pct => run(PctScheduler::new_from_seed(seed, 3, executions), body),
            Peer::Urw => run(UrwRandomScheduler::new_from_seed(seed, executions), body),
        }
    }
}

fn run(scheduler: impl Scheduler + Send + 'static, body: fn()) -> Option<u64> {
    let mut config = Config::new();
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::None;
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let muted = Muted::new();
    // On a thread of its own: after a task panics while another one unwinds, the thread's panic
    // count stays wrong.
    let checking = std::thread::spawn(move || {
        Runner::new(scheduler, config).run(move || {
            counted.fetch_add(1, Relaxed);
            body();
        })
    });
    let outcome = checking.join();
    drop(muted);
    outcome.is_err().then(|| count.load(Relaxed))
}
