//! Operations of threads that are unwound after the execution has stopped; none of them is
//! recorded.

use super::World;
use super::strategy::Dispatch;
use crate::base::ids::{SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::model::execution::Execution;
use crate::model::operation::{Operation, Ports};

impl<D: Dispatch> World<D> {
    /// Announces an operation of a thread that is being unwound, after the execution stopped. No
    /// event is recorded and the strategy is not called. `None` means that the thread must wait and
    /// call [`World::retry_after_stop`] after other threads have run.
    pub fn request_after_stop(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
    ) -> Option<Reply> {
        self.state.spinners.clear();
        self.withdraw(thread);
        self.state.announce(thread, operation, site);
        self.retry_after_stop(thread)
    }

    /// Performs the pending operation of a thread that is being unwound, if it can be performed.
    pub fn retry_after_stop(&mut self, thread: ThreadId) -> Option<Reply> {
        self.state
            .is_enabled(thread)
            .then(|| self.state.perform(thread, Outcome::FIRST, false))
    }

    /// Ends the thread after the execution stopped, whatever its pending operation is.
    pub fn end_after_stop(&mut self, thread: ThreadId, site: SiteId) {
        self.request_after_stop(thread, Operation::End, site);
    }

    /// Records the pending operations of the threads that are blocked after the stop. This thread is one of them,
    /// even if it has ended: the main thread runs the destructors of statics.
    pub fn record_blocked_after_stop(&mut self, thread: ThreadId) -> &Execution {
        let state = &mut self.state;
        state.execution.pending.clear();
        state.record_pending();
        let pending = (*state.pending(thread), state.pending_site(thread));
        state.execution.pending[thread.index()] = Some(pending);
        &state.execution
    }

    /// Withdraws the pending operation of the thread.
    fn withdraw(&mut self, thread: ThreadId) {
        match *self.state.pending(thread) {
            Operation::Call { object, .. } => self.state.leave(Ports::One(object), thread),
            Operation::Receive { ports, .. } => self.state.leave(ports, thread),
            Operation::Delivered { port } => self.state.leave(Ports::One(port), thread),
            Operation::Meet { barrier } => {
                self.state.leave(Ports::One(barrier), thread);
                self.state.count_waiting(barrier);
            }
            _ => {}
        }
    }
}
