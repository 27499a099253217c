//! Declared waits: the operations for which a task is suspended.
//!
//! A task that is suspended waits for its waker, whatever its futures wait for. A future that is
//! pending therefore declares the operation that it waits to complete. A task with one declared
//! wait is reported as blocked in that operation, so that deadlocks of tasks have the cycles, holders
//! and source locations of those of threads. Declarations have no influence on the search.

use super::World;
use super::strategy::Dispatch;
use crate::base::ids::{SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::{Call, parker};

/// Identifies a declared wait of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitId(u32);

fn parks(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Call {
            call: Call::Parker(parker::Call::Park { .. }),
            ..
        }
    )
}

/// Declared waits of an execution.
#[derive(Debug, Default)]
pub(super) struct DeclaredWaits {
    waits: Vec<DeclaredWait>,
    declared: u32,
}

#[derive(Debug)]
struct DeclaredWait {
    id: WaitId,
    thread: ThreadId,
    operation: Operation,
    site: SiteId,
}

impl DeclaredWaits {
    pub(super) fn reset(&mut self) {
        self.waits.clear();
        self.declared = 0;
    }

    /// Replaces the pending operation of each suspended task that has one declared wait, and records
    /// the waits of those that have several.
    pub(super) fn record(&self, execution: &mut Execution) {
        let Execution {
            pending, awaits, ..
        } = execution;
        awaits.clear();
        for (index, pending) in pending.iter_mut().enumerate() {
            let Some((operation, site)) = pending else {
                continue;
            };
            if !parks(operation) {
                continue;
            }
            let thread = ThreadId::new(index);
            let own = || self.waits.iter().filter(|wait| wait.thread == thread);
            match own().count() {
                1 => own().for_each(|wait| (*operation, *site) = (wait.operation, wait.site)),
                _ => awaits.extend(own().map(|wait| (thread, wait.operation, wait.site))),
            }
        }
    }
}

impl<D: Dispatch> World<D> {
    /// Declares that the thread waits for an operation to complete, or declares it again if the wait
    /// has an identifier.
    pub fn declare_wait(
        &mut self,
        id: Option<WaitId>,
        thread: ThreadId,
        operation: Operation,
        site: SiteId,
    ) -> WaitId {
        let declared = &mut self.state.declared_waits;
        let id = id.unwrap_or_else(|| {
            declared.declared += 1;
            WaitId(declared.declared)
        });
        declared.waits.retain(|wait| wait.id != id);
        declared.waits.push(DeclaredWait {
            id,
            thread,
            operation,
            site,
        });
        id
    }

    /// Removes a declared wait.
    pub fn end_wait(&mut self, id: WaitId) {
        let waits = &mut self.state.declared_waits.waits;
        waits.retain(|wait| wait.id != id);
    }
}
