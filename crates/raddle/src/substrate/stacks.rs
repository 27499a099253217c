//! Stacks, which are used again and again.
//!
//! Native programs keep addresses of their stacks in atomics. There the first thread of every execution has the
//! same stack, and so has the second, whoever ended first in earlier ones; a stack is not used twice in one
//! execution, unless there are very many.

use corosensei::stack::{DefaultStack, Stack};

use super::native;

/// So many stacks of threads that have ended are left alone.
const MOST_ENDED: usize = 256;

#[derive(Default)]
pub(super) struct Stacks {
    /// The next one to use comes last.
    free: Vec<DefaultStack>,
    /// Those of threads that have ended in this execution.
    ended: Vec<DefaultStack>,
    /// Where all of them end, in the order in which they were made.
    made: Vec<usize>,
}

impl Stacks {
    /// One that was used before.
    pub(super) fn take(&mut self) -> Option<DefaultStack> {
        match self.free.pop() {
            None if self.ended.len() >= MOST_ENDED => self.ended.pop(),
            free => free,
        }
    }

    /// A new one is in use.
    pub(super) fn add(&mut self, stack: &DefaultStack) {
        if native::is_installed() {
            self.made.push(stack.base().get());
        }
    }

    /// Its thread has ended.
    pub(super) fn give_back(&mut self, stack: DefaultStack) {
        match native::is_installed() {
            true => self.ended.push(stack),
            false => self.free.push(stack),
        }
    }

    /// The next execution begins.
    pub(super) fn begin(&mut self) {
        if !self.ended.is_empty() {
            self.free.append(&mut self.ended);
            let made = &self.made;
            let number = |stack: &DefaultStack| {
                let base = stack.base().get();
                made.iter().position(|&made| made == base)
            };
            self.free
                .sort_by_cached_key(|stack| std::cmp::Reverse(number(stack)));
        }
    }
}
