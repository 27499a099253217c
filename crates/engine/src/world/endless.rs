//! Loops without end that are left: the thread stops for good before a round whose two predecessors have the same
//! operations and accesses.
//!
//! These are the equivalent iterations of Setiadi (*Debugging and Testing Concurrent Programs with Efficient Test Case
//! Generation*, 2015): no lock is held at the end of a round, and another round adds no access manner. It may have
//! other values. Whether a thread stops depends on its own events only, so that a search of such executions is one of
//! a program with shorter loops.

use super::strategy::{Dispatch, Repeat};
use super::{Step, World};
use crate::base::ids::{SiteId, ThreadId};
use crate::model::endless::{EndlessLoop, LeftLoop};
use crate::model::operation::Operation;

impl<D: Dispatch> World<D> {
    /// Sets the loops that threads leave from now on.
    pub fn set_endless_loops(&mut self, loops: Vec<EndlessLoop>) {
        self.endless_loops = loops;
        self.is_altered = !self.changes.is_empty() || !self.endless_loops.is_empty();
    }

    /// Stops the thread instead of performing the operation, if that begins a round like the two before.
    pub(super) fn leave_loop(
        &mut self,
        thread: ThreadId,
        operation: &Operation,
        site: SiteId,
    ) -> Option<Step> {
        let execution = &self.state.execution;
        let label = operation.label();
        let mut here = self.endless_loops.iter();
        let is_here = |it: &EndlessLoop| (it.site, it.label) == (site, label);
        if !here.any(|it| is_here(it) && it.thread == execution.path(thread)) {
            return None;
        }
        let rounds = execution.repeated_rounds(thread, operation, site)?;
        let strategy = self.strategy.strategy_mut();
        if strategy.repeats(&self.state, thread) == Repeat::GoOn {
            return None;
        }
        // An operation that no other thread waits for, and that is never enabled.
        self.state.announce(thread, Operation::Yield, site);
        self.state.disable(thread);
        self.state.execution.left_loops.push(LeftLoop {
            thread,
            site,
            rounds,
        });
        Some(self.advance())
    }
}
