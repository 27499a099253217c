//! Classification of pairs of events: *about* a failure, or only removing it.
//!
//! A pair is about a failure if the failure depends on the order of the two events. Either a thread
//! waits for the object that they use, or some event in the backward slice of the failing events
//! (program order and reads-from) has another source when the two are exchanged. Three kinds of
//! pairs do not count although exchanging them removes a failure:
//!
//! - Both accesses of a data race remain, and only happen to be ordered by a lock or a value.
//! - Memory is used and freed outside of the critical sections of the exchanged lock.
//! - A lock was exchanged, and with it accesses outside of its critical sections.

use raddle_engine::check::Finding;
use raddle_engine::check::memory_error::{Fate, MemoryError};
use raddle_engine::minimise::{Swap, Target, changed, holds};
use raddle_engine::{Execution, SiteId, ThreadId};

/// A failing execution, and the locations and objects that a thread waits for at its end.
pub(super) struct Failing<'a> {
    execution: &'a Execution,
    finding: &'a Finding,
    waited_for: Vec<Target>,
}

impl<'a> Failing<'a> {
    pub(super) fn new(execution: &'a Execution, finding: &'a Finding) -> Self {
        let pending = execution.pending.iter().flatten();
        let pending = pending.flat_map(|(operation, _)| Target::of(execution, operation));
        Failing {
            execution,
            finding,
            waited_for: match finding.after() {
                Some(_) => Vec::new(),
                None => pending.collect(),
            },
        }
    }

    /// True when the failure is about accesses of memory, all of which must be recorded.
    pub(super) fn needs_accesses(&self) -> bool {
        matches!(self.finding, Finding::DataRace(_) | Finding::MemoryError(_))
    }

    /// True when a thread waits for one of these locations or objects.
    fn is_waited_for(&self, targets: &[Target]) -> bool {
        targets.iter().any(|it| self.waited_for.contains(it))
    }

    /// True when the pair is only the order in which threads take a lock that no thread waits for.
    pub(super) fn is_lock_order(&self, swap: &Swap) -> bool {
        swap.is_lock_order && !self.is_waited_for(&swap.targets(self.execution))
    }

    /// True when the pair, whose exchange leads to the passing execution, is about the failure.
    pub(super) fn is_about(&self, swap: &Swap, passing: &Execution) -> bool {
        let targets = swap.targets(self.execution);
        if self.is_waited_for(&targets) {
            return true;
        }
        let changed = changed(self.execution, passing, &self.roots());
        if !targets.iter().any(|it| changed.contains(it)) {
            return false;
        }
        match self.finding {
            Finding::DataRace(race) => [race.first, race.second]
                .iter()
                .any(|one| !self.is_accessed(passing, one.thread, one.site)),
            Finding::MemoryError(error) if swap.is_lock_order => {
                self.is_protected(error, &targets)
                    || !self.is_accessed(passing, error.thread, error.site)
            }
            _ => {
                let is_value = |it: &Target| matches!(it, Target::Location(_));
                !(swap.is_lock_order && swap.carries > 0 && changed.iter().any(is_value))
            }
        }
    }

    /// Returns the threads that fail, each with the number of its events until then.
    fn roots(&self) -> Vec<(ThreadId, u32)> {
        let until = |thread: ThreadId, after: usize| {
            let events = self.execution.events.iter().take(after);
            let own = events.filter(|event| event.id.thread == thread);
            (thread, own.count() as u32)
        };
        match self.finding {
            Finding::Panic(panic) => vec![until(panic.thread, panic.after)],
            Finding::DataRace(race) => [race.first, race.second]
                .map(|one| (one.thread, one.index))
                .to_vec(),
            Finding::MemoryError(error) => {
                let gone = gone(error).map(|(thread, after)| until(thread, after));
                let used = until(error.thread, error.after);
                gone.into_iter().chain([used]).collect()
            }
            _ => {
                let threads = self.execution.threads.iter().enumerate();
                let unfinished = threads.filter(|(_, thread)| thread.end.is_none());
                let unfinished = unfinished.map(|(index, _)| ThreadId::new(index));
                unfinished.map(|thread| until(thread, usize::MAX)).collect()
            }
        }
    }

    /// True when one of these locks was held at both the use and the free of the memory.
    fn is_protected(&self, error: &MemoryError, locks: &[Target]) -> bool {
        let both = gone(error).map(|gone| [gone, (error.thread, error.after)]);
        let holds = |lock, (thread, after)| holds(self.execution, thread, lock, after);
        both.is_some_and(|both| {
            locks.iter().any(|lock| match *lock {
                Target::Object(lock) => both.iter().all(|&moment| holds(lock, moment)),
                Target::Location(_) => false,
            })
        })
    }

    /// True when the thread accesses memory at this site in the passing execution as well.
    fn is_accessed(&self, passing: &Execution, thread: ThreadId, site: SiteId) -> bool {
        let thread = passing.thread_at(&self.execution.path(thread));
        let mut accesses = passing.accesses.iter();
        let mut events = passing.events.iter();
        thread.is_some_and(|thread| {
            accesses.any(|(_, access)| access.thread == thread && access.site == site)
                || events.any(|event| event.id.thread == thread && event.site == site)
        })
    }
}

/// Returns the thread that freed or dropped the memory, with the number of all events until then.
fn gone(error: &MemoryError) -> Option<(ThreadId, usize)> {
    match error.fate {
        Fate::Dropped(moment) | Fate::Freed(moment) => moment.map(|it| (it.thread, it.after)),
        Fate::NeverMade => None,
    }
}
