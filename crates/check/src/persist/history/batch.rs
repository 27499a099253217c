//! One worker's batch: its results since its last write.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use raddle_engine::CheckName;
use raddle_engine::coverage::{Coverage, Requirement, Standing};
use raddle_report::{Covered, Failure};

use super::{History, is_kept, key};
use crate::persist::learnt;
use crate::runtime::Context;
use crate::runtime::sampled_clock::Clock;

/// Interval between writes of a worker.
const EVERY: Duration = Duration::from_millis(500);

/// The results of a worker.
pub(crate) struct Found<'a> {
    pub(crate) context: &'a Context,
    pub(crate) coverage: Option<&'a Coverage>,
    pub(crate) failures: &'a [Failure],
    /// True when there is only one worker.
    pub(crate) is_alone: bool,
}

/// The state of a worker's writes.
pub(crate) struct Batch {
    history: Arc<History>,
    clock: Clock,
    next: Instant,
    /// Number of classes that earlier runs have run.
    before: u64,
    executions: u64,
    covered: HashSet<Requirement>,
    failures: usize,
}

impl Batch {
    /// Creates a batch that has written nothing except the requirements covered before.
    pub(super) fn new(history: Arc<History>, failures: usize, covered: Vec<Requirement>) -> Self {
        Batch {
            clock: Clock::new(),
            next: Instant::now() + EVERY,
            before: history.valid().map_or(0, |it| it.classes.len() as u64),
            history,
            executions: 0,
            covered: covered.into_iter().collect(),
            failures,
        }
    }

    /// Counts the results of another worker as written.
    pub(crate) fn absorb(&mut self, executions: u64, coverage: Option<&Coverage>) {
        self.executions += executions;
        let all = coverage.into_iter().flat_map(Coverage::requirements);
        let covered = all.filter(|(_, standing)| *standing == Standing::Covered);
        self.covered
            .extend(covered.map(|(requirement, _)| requirement));
    }

    /// True when a write is due.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.clock.is_past(Some(self.next))
    }

    /// Writes new results; the last write waits longer for other processes.
    #[cold]
    pub(crate) fn write(&mut self, found: Found<'_>, check: Option<&CheckName>, is_last: bool) {
        let Found {
            context,
            coverage,
            failures,
            is_alone,
        } = found;
        let places = context.places();
        let (executions, known, classes) =
            context.with_exploration(|e| (e.executions(), e.classes(), e.take_new_classes()));
        // With several workers, the number of classes new to all is unknown.
        let new = is_alone.then(|| known.saturating_sub(self.before));
        let more = executions.saturating_sub(self.executions);
        self.executions = executions;
        let (mut covered, mut open, mut closed) = (Vec::new(), Vec::new(), Vec::new());
        let all = coverage.into_iter().flat_map(Coverage::requirements);
        for (requirement, standing) in all {
            match standing {
                Standing::Covered if self.covered.insert(requirement) => covered.push(requirement),
                Standing::NotTried if more > 0 => open.push(requirement),
                // Impossible requirements change seldom, so they are written once.
                Standing::OrderedByLock | Standing::NeverConcurrent if is_last => {
                    closed.push((requirement, Covered::from(standing).to_string()));
                }
                _ => {}
            }
        }
        let new_failures = failures.iter().skip(self.failures);
        let schedules = new_failures.filter(|it| is_kept(it)).map(|failure| {
            let mut schedule = failure.schedule.clone();
            schedule.check = check.cloned();
            learnt::with_schedule(failure, &schedule, &self.history.settings)
        });
        let schedules: Vec<String> = schedules.collect();
        self.failures = failures.len();
        self.history.write(
            |news, sources| {
                news.so_far.executions += more;
                news.so_far.classes = new.unwrap_or(news.so_far.classes + classes.len() as u64);
                news.so_far.requirements += covered.len() as u64;
                news.classes.extend(classes);
                let mut text = |one: Requirement| key(one, &places, sources);
                news.covered
                    .extend(covered.into_iter().filter_map(&mut text));
                let open = open.into_iter().filter_map(&mut text);
                news.stale.extend(open.map(|key| (key, more)));
                let closed = closed.into_iter();
                let closed = closed.filter_map(|(one, reason)| Some((text(one)?, reason)));
                news.impossible.extend(closed);
                news.failures.extend(schedules);
            },
            is_last,
        );
        self.next = Instant::now() + EVERY;
    }
}
