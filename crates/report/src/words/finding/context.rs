//! What was found, in words. Each kind of finding has a file of its own.

use raddle_engine::check::Finding;
use raddle_engine::{Execution, Record, SiteId};

use crate::data::trace::{Names, Trace};
use crate::words::finding::nondeterminism::mismatch;
use crate::words::things::Things;

/// Everything that the words are made of.
pub(crate) struct Words<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) trace: &'a Trace,
    pub(crate) things: &'a Things,
    pub(crate) names: &'a dyn Names,
}

impl Words<'_> {
    /// What happened, in a few lines.
    pub(crate) fn message(&self, finding: &Finding) -> String {
        let text = match finding {
            Finding::Panic(panic) => self.panicked(panic),
            Finding::Deadlock(blocked) => self.deadlock(blocked),
            Finding::ThreadOutlives(blocked) => self.outlives(blocked),
            Finding::Livelock { rounds, blocked } => self.livelock(rounds, blocked),
            Finding::LostWakeup { lost, blocked } => self.lost_wakeup(lost, blocked),
            Finding::LockOrder(order) => self.lock_order(order),
            Finding::TooManyEvents { limit, repeated } => self.too_many_events(*limit, repeated),
            Finding::Leak(unreceived) => self.leaks(unreceived),
            Finding::Hang { thread, limit } => self.hangs(*thread, *limit),
            Finding::DataRace(race) => self.data_race(race),
            Finding::MemoryError(error) => self.memory_error(error),
            Finding::Crash(thread) => self.crashed(*thread),
            Finding::StackOverflow(thread) => format!(
                "thread {} used more stack than it has\n\
                 help: give threads more with `stack_size`, or look for a recursion without end",
                self.trace.title(*thread)
            ),
            Finding::Nondeterminism(divergence) => match divergence.from {
                Record::EarlierRun => self.nondeterminism(divergence),
                Record::Schedule => mismatch(divergence),
                Record::Future => "the run was only an attempt".to_owned(),
            },
        };
        text + &self.stale()
    }

    /// Where in the source, as the end of a sentence; nothing if that is not known.
    pub(crate) fn at(&self, site: SiteId) -> String {
        let place = self.names.place(site);
        place.map_or(String::new(), |place| format!(" at {place}"))
    }
}
