//! Which locks threads held, and from when to when.

use crate::base::ids::{ObjectId, ThreadId};
use crate::model::execution::Execution;
use crate::object::effect::{Effect, Mode};

/// A lock that a thread held for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Who held it.
    pub thread: ThreadId,
    /// Which lock.
    pub object: ObjectId,
    /// The event that took it, as an index into the events of the execution.
    pub from: usize,
    /// The event that gave it back; nothing if it was held to the end.
    pub to: Option<usize>,
    /// Whether others may have held it at the same time.
    pub shared: bool,
}

/// Everything that was held in an execution, in the order in which it was taken.
pub fn all(execution: &Execution) -> Vec<Held> {
    let mut all: Vec<Held> = Vec::new();
    // Those that are held now, as indexes.
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
            to: None,
            shared,
        });
    }
    all
}
