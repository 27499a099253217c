//! The strategies under comparison: raddle's, and shuttle's schedulers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use raddle::{Checker, Strategy};
use raddle_stories::Story;

use super::peer::Peer;

/// No time limit: the number of executions limits a check.
const NO_LIMIT: Duration = Duration::from_secs(1_000_000);

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Contender {
    Raddle(Strategy),
    Shuttle(Peer),
}

impl Contender {
    pub(crate) fn name(&self) -> String {
        match self {
            Contender::Raddle(strategy) => strategy.to_string().replace(':', "_"),
            Contender::Shuttle(peer) => peer.name().to_owned(),
        }
    }

    pub(crate) fn is_auto(&self) -> bool {
        *self == Contender::Raddle(Strategy::Auto)
    }

    /// Returns the execution in which the story first fails; `None` if there is none among the
    /// first `most`. Every run of the body counts, whatever its purpose.
    pub(crate) fn first_failure(&self, story: &Subject, seed: u64, most: u64) -> Option<u64> {
        match self {
            Contender::Raddle(strategy) => first_failure(strategy, story.raddle.buggy, seed, most),
            Contender::Shuttle(peer) => peer.first_failure(story.shuttle.buggy, seed, most),
        }
    }

    /// True when the twin of the story fails, which would be a mistake of the story or the checker.
    pub(crate) fn twin_fails(&self, story: &Subject, seed: u64, most: u64) -> bool {
        let failure = match self {
            Contender::Raddle(strategy) => {
                first_failure(strategy, story.raddle.correct, seed, most)
            }
            Contender::Shuttle(peer) => peer.first_failure(story.shuttle.correct, seed, most),
        };
        failure.is_some()
    }
}

/// A story in the form for both checkers.
pub(crate) struct Subject {
    pub(crate) raddle: Story,
    pub(crate) shuttle: Story,
}

fn first_failure(strategy: &Strategy, body: fn(), seed: u64, most: u64) -> Option<u64> {
    let count = AtomicU64::new(0);
    let report = Checker::new()
        .strategy(strategy.clone())
        .seed(seed)
        .max_executions(most)
        .max_time(NO_LIMIT)
        .shorten(false)
        .checkpoint_every(Duration::ZERO)
        .run(|| {
            count.fetch_add(1, Relaxed);
            body();
        });
    // An estimate may take a few more runs than requested.
    let executions = count.load(Relaxed);
    (!report.failures.is_empty() && executions <= most).then_some(executions)
}
