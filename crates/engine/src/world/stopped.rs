//! What threads do after the execution has stopped, while they are unwound: nothing of it is recorded.

use super::World;
use super::strategy::Dispatch;
use crate::base::ids::{SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::model::operation::{Operation, Ports};

impl<D: Dispatch> World<D> {
    /// After the execution stopped: a thread that is being unwound wants to do `operation`.
    /// Nothing is recorded and no strategy is asked; `None` means that the thread must wait and
    /// ask [`World::retry_after_stop`] again when others have moved.
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

    /// After the execution stopped: the thread is gone, whatever it was about to do.
    pub fn end_after_stop(&mut self, thread: ThreadId, site: SiteId) {
        self.request_after_stop(thread, Operation::End, site);
    }

    /// The thread no longer wants what it had announced.
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
