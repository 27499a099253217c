//! The message of a finding.

use raddle_engine::Record;
use raddle_engine::check::Finding;

use crate::words::finding::context::FindingContext;
use crate::words::finding::nondeterminism::mismatch;

impl FindingContext<'_> {
    /// Describes a finding in a few lines.
    pub(crate) fn message(&self, finding: &Finding) -> String {
        let text = match finding {
            Finding::Panic(panic) => self.panicked(panic),
            Finding::Deadlock(blocked) => self.deadlock(blocked),
            Finding::ThreadOutlives(blocked) => self.outlives(blocked),
            Finding::Livelock { rounds, blocked } => self.livelock(rounds, blocked),
            Finding::LostWakeup { lost, blocked } => self.lost_wakeup(lost, blocked),
            Finding::LockOrder(order) => self.lock_order(order),
            Finding::OutOfTime { limit } => self.out_of_time(*limit),
            Finding::TooManyEvents { limit, repeated } => self.too_many_events(*limit, repeated),
            Finding::Leak(leaks) => self.leaks(leaks),
            Finding::Hang { thread, limit } => self.hangs(*thread, *limit),
            Finding::DataRace(race) => self.data_race(race),
            Finding::PredictedRace {
                cell,
                first,
                second,
            } => self.predicted_race(*cell, first, second),
            Finding::KindOfRace { race, values } => self.kind_of_race(race, values.as_ref()),
            Finding::MemoryError(error) => self.memory_error(error),
            Finding::Crash(thread) => self.crashed(*thread),
            Finding::ForeignThread(used) => self.foreign_thread(used),
            Finding::IgnoredValue(value) => self.ignored_value(value),
            Finding::Property(violation) => self.violated_property(violation),
            Finding::StackOverflow(thread) => format!(
                "thread {} used more stack than it has\n\
                 help: give threads more with `stack_size`, or look for a recursion without end",
                self.trace.title(*thread)
            ),
            Finding::Nondeterminism(divergence) => match divergence.from {
                Record::EarlierRun => self.nondeterminism(divergence),
                Record::Schedule => mismatch(divergence),
                Record::Alternative => "the run was only an attempt".to_owned(),
                Record::Scheduler | Record::Discarded => divergence.expected.clone(),
            },
        };
        text + &self.stale()
    }
}
