//! Stacks, which are reused.
//!
//! Native programs keep addresses of their stacks in atomics. So there a thread has the same stack
//! in every execution. It is identified by the thread's place in the tree of creations, which does
//! not depend on the schedule.

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
        match self.fixes_stacks {
            true => self.take_own_stack(thread),
            false => self.stacks.borrow_mut().free.pop(),
        }
    }

    /// Takes back the stack of a thread that has ended.
    #[inline]
    pub(super) fn give_stack_back(&self, thread: ThreadId, stack: DefaultStack) {
        match self.fixes_stacks {
            true => self.keep_own_stack(thread, stack),
            false => self.stacks.borrow_mut().free.push(stack),
        }
    }

    /// Frees all stacks that no thread uses: new ones are empty.
    #[cold]
    pub(super) fn forget_stacks(&self) {
        self.stacks.borrow_mut().free.clear();
    }

    #[inline(never)]
    fn take_own_stack(&self, thread: ThreadId) -> Option<DefaultStack> {
        let kept = &mut self.stacks.borrow_mut().kept;
        let own = kept.remove(&self.owner(thread));
        own.or_else(|| match kept.len() < MOST_KEPT {
            true => None,
            false => kept.pop_first().map(|(_, stack)| stack),
        })
    }

    #[inline(never)]
    fn keep_own_stack(&self, thread: ThreadId, stack: DefaultStack) {
        let owner = self.owner(thread);
        drop(self.stacks.borrow_mut().kept.insert(owner, stack));
    }

    fn owner(&self, thread: ThreadId) -> u64 {
        self.with_world(|world| world.state().fingerprint(thread))
    }
}
