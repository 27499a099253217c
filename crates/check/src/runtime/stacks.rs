//! Stacks, which are reused.
//!
//! Native programs keep addresses of their stacks in atomics, so there a thread has the same stack
//! in every execution, identified by the thread's place in the tree of creations, whatever the
//! schedule.

use std::collections::BTreeMap;

use corosensei::stack::DefaultStack;
use raddle_engine::ThreadId;

use super::Context;

/// Maximum number of stacks kept for threads of later executions.
const MOST_KEPT: usize = 4096;

#[derive(Default)]
pub(super) struct Stacks {
    free: Vec<DefaultStack>,
    /// Stacks of native programs, by the path of the thread.
    kept: BTreeMap<u64, DefaultStack>,
}

impl Context {
    /// Returns a stack that was used before.
    #[inline]
    pub(super) fn take_stack(&self, thread: ThreadId) -> Option<DefaultStack> {
        let mut stacks = self.stacks.borrow_mut();
        if !self.fixes_stacks {
            return stacks.free.pop();
        }
        let own = stacks.kept.remove(&self.owner(thread));
        own.or_else(|| match stacks.kept.len() < MOST_KEPT {
            true => None,
            false => stacks.kept.pop_first().map(|(_, stack)| stack),
        })
    }

    /// Takes back the stack of a thread that has ended.
    #[inline]
    pub(super) fn give_stack_back(&self, thread: ThreadId, stack: DefaultStack) {
        let mut stacks = self.stacks.borrow_mut();
        match self.fixes_stacks {
            true => drop(stacks.kept.insert(self.owner(thread), stack)),
            false => stacks.free.push(stack),
        }
    }

    fn owner(&self, thread: ThreadId) -> u64 {
        self.with_world(|world| world.state().fingerprint(thread))
    }
}
