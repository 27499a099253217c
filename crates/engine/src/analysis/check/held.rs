//! Intervals during which threads held locks.

use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::object::effect::{Effect, Mode};

/// An interval during which a thread held a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The holder.
    pub thread: ThreadId,
    /// The lock.
    pub object: ObjectId,
    /// The acquiring event, as an index into the events of the execution.
    pub from: usize,
    /// The place of the acquiring event.
    pub at: SiteId,
    /// The releasing event; `None` if the lock was held to the end.
    pub to: Option<usize>,
    /// True when other threads may have held it at the same time.
    pub shared: bool,
}

/// Returns all intervals of an execution, in the order of acquisition.
pub fn all(execution: &Execution) -> Vec<Held> {
    let mut all: Vec<Held> = Vec::new();
    // Indexes of the intervals that are open.
    let mut open: Vec<usize> = Vec::new();
    for (position, event) in execution.events.iter().enumerate() {
        let Some((object, effect)) = event.lock_effect() else {
            continue;
        };
        let thread = event.id.thread;
        if !matches!(effect, Effect::Take { .. }) {
            let is_it = |&index: &usize| {
                let held: &Held = &all[index];
                (held.thread, held.object) == (thread, object)
            };
            if let Some(last) = open.iter().rposition(is_it) {
                all[open.remove(last)].to = Some(position);
            }
        }
        let shared = match effect {
            Effect::Take { mode, .. } => mode == Mode::Read,
            Effect::Downgrade => true,
            Effect::Release => continue,
        };
        open.push(all.len());
        all.push(Held {
            thread,
            object,
            from: position,
            at: event.site,
            to: None,
            shared,
        });
    }
    all
}
