//! The end of a program whose last destructors are checked too.
//!
//! When all threads but the detached ones have ended, the program is over. Its detached threads are cancelled, then
//! copies of statics are dropped. Where the front end asks for it, these destructors are code of the program: a panic,
//! a deadlock or an endless loop in one of them is a failure of the check. The operations are performed as for other
//! threads that are left ([`super::abandon`]).

use std::cell::Cell;

use raddle_engine::check::{Finding, deadlock};
use raddle_engine::{Ending, ThreadId, World};

use super::Context;

/// Maximum operations of all destructors after one execution; fewer if the check allows fewer events.
const MAX_OPERATIONS: usize = 1_000_000;

/// Note of a failure that was found after the end of the program.
pub const FOUND_AT_END: &str = "this happened after the end of the program, while the threads that it had left \
                                were dropped";

/// Threads that the program has detached, and findings about their destructors.
#[derive(Default)]
pub(super) struct Leftovers {
    /// True when failures of the last destructors are findings.
    is_checked: Cell<bool>,
    /// True while destructors run whose failures are findings.
    counts: Cell<bool>,
    /// Operations after the execution has stopped.
    operations: Cell<usize>,
    /// True when a stack was dropped without unwinding.
    has_lost_stack: Cell<bool>,
    finding: Cell<Option<Box<Finding>>>,
    /// Called when all threads are gone, before copies of statics are dropped.
    last: Cell<Option<fn()>>,
    /// True when the finding of the execution is one about a destructor.
    has_failed: Cell<bool>,
}

impl Leftovers {
    /// Prepares for the next execution. All else is prepared where the front end asks for it, because short
    /// executions would pay for it.
    #[inline]
    pub(super) fn begin(&self) {
        self.is_checked.set(false);
    }

    /// Returns the function to call when all threads are gone.
    pub(super) fn take_last(&self) -> Option<fn()> {
        self.last.take()
    }

    pub(super) fn has_last(&self) -> bool {
        self.last.get().is_some()
    }

    pub(super) fn lose_stack(&self) {
        self.has_lost_stack.set(true);
    }

    pub(super) fn count_operation(&self) {
        self.operations.update(|count| count + 1);
    }
}

impl Context {
    /// Makes failures of the destructors that run after the end of this execution findings. Called when it begins.
    pub fn check_last_destructors(&self) {
        let leftovers = &self.leftovers;
        leftovers.is_checked.set(true);
        leftovers.operations.set(0);
        leftovers.has_lost_stack.set(false);
        leftovers.has_failed.set(false);
        leftovers.last.set(None);
    }

    /// Sets a function that drops values which the front end keeps for the threads of this execution. It runs as the
    /// main thread, when all threads are gone. Called after [`Context::check_last_destructors`].
    pub fn call_at_end(&self, last: fn()) {
        self.leftovers.last.set(Some(last));
    }

    /// Returns the number of operations that destructors have performed after the execution stopped.
    pub fn operations_after_stop(&self) -> usize {
        self.leftovers.operations.get()
    }

    /// Runs the destructors of all that an execution without a finding has left. Returns the first failure of one.
    #[inline]
    pub(crate) fn end_program(&self) -> Option<Box<Finding>> {
        if self.leftovers.is_checked.get() {
            return self.end_checked();
        }
        self.sweep().map(|panic| Box::new(Finding::Panic(panic)))
    }

    #[cold]
    fn end_checked(&self) -> Option<Box<Finding>> {
        let (is_over, before) = self.with_execution(|it, _| (it.is_over, it.panics.len()));
        let is_complete = self.with_exploration(|it| *it.ending() == Ending::Complete);
        if is_over || is_complete {
            self.leftovers.counts.set(true);
            self.unwind_threads();
        }
        self.sweep();
        self.leftovers.counts.set(false);
        let panic = self.with_execution(|execution, _| execution.panics.get(before).cloned());
        let finding = self.leftovers.finding.take();
        let finding = panic.map(|it| Box::new(Finding::Panic(it))).or(finding);
        self.leftovers.has_failed.set(finding.is_some());
        finding
    }

    /// True when the finding of the execution is one about a destructor that ran after its end.
    pub(crate) fn has_failed_at_end(&self) -> bool {
        self.leftovers.is_checked.get() && self.leftovers.has_failed.get()
    }

    /// Notes that destructors wait for each other, one of them in this thread, unless a stack was lost that may have held what they wait for.
    pub(super) fn note_deadlock_at_end(&self, thread: ThreadId) {
        if self.leftovers.has_lost_stack.get() {
            return;
        }
        self.note_at_end(|world| {
            let execution = world.record_blocked_after_stop(thread);
            Finding::Deadlock(deadlock::blocked(execution))
        });
    }

    /// True when destructors have performed too many operations, which is noted.
    pub(super) fn is_at_limit_at_end(&self) -> bool {
        if !self.leftovers.counts.get() {
            return false;
        }
        let limit = self.with_world(|world| world.most_events().min(MAX_OPERATIONS));
        let is_at_limit = self.leftovers.operations.get() > limit;
        if is_at_limit {
            let repeated = Vec::new();
            self.note_at_end(|_| Finding::TooManyEvents { limit, repeated });
        }
        is_at_limit
    }

    /// True while destructors run whose failures are findings.
    pub(super) fn counts_destructors(&self) -> bool {
        self.leftovers.counts.get()
    }

    fn note_at_end(&self, finding: impl FnOnce(&mut World) -> Finding) {
        if !self.leftovers.counts.get() {
            return;
        }
        let noted = self.leftovers.finding.take();
        let noted = noted.or_else(|| Some(Box::new(self.with_world(finding))));
        self.leftovers.finding.set(noted);
    }
}
