//! A random priority for each pending operation.

use super::Turns;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::world::State;

/// Consecutive steps of one thread after which all priorities are redrawn: a thread that busy-waits
/// for one with a low priority should not wait long.
const LONG_TURN: u64 = 100;

/// Priority of each thread's pending operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities {
    by_thread: Vec<u64>,
    turns: Turns,
}

impl Priorities {
    /// Starts an execution.
    pub(crate) fn begin(&mut self) {
        self.by_thread.clear();
        self.turns = Turns::default();
    }

    /// Draws priorities for new threads.
    #[inline]
    pub(crate) fn meet(&mut self, rng: &mut Rng, state: &State) {
        while self.by_thread.len() < state.execution().threads.len() {
            self.by_thread.push(rng.next());
        }
    }

    /// Returns the eligible enabled thread whose operation has the highest priority.
    #[inline]
    pub(crate) fn highest(
        &self,
        state: &State,
        may_go_on: impl Fn(ThreadId) -> bool,
    ) -> Option<ThreadId> {
        let enabled = state.enabled().iter().copied();
        let candidates = enabled.filter(|&thread| may_go_on(thread));
        candidates.max_by_key(|thread| self.by_thread[thread.index()])
    }

    /// True when the operation of the first thread has a higher priority.
    #[inline]
    pub(crate) fn is_above(&self, one: ThreadId, other: ThreadId) -> bool {
        self.by_thread[one.index()] > self.by_thread[other.index()]
    }

    /// Draws a new priority for the thread.
    #[inline]
    pub(crate) fn redraw(&mut self, rng: &mut Rng, thread: ThreadId) {
        self.by_thread[thread.index()] = rng.next();
    }

    /// Records a step of the thread; returns true when all priorities were redrawn because it has
    /// run for long.
    #[inline]
    pub(crate) fn performs(&mut self, rng: &mut Rng, state: &State, thread: ThreadId) -> bool {
        self.redraw(rng, thread);
        let is_long = self.turns.note(state, thread) >= LONG_TURN;
        if is_long {
            self.redraw_all(rng);
        }
        is_long
    }

    /// Draws new priorities for all threads.
    pub(crate) fn redraw_all(&mut self, rng: &mut Rng) {
        self.turns = Turns::default();
        self.by_thread.fill_with(|| rng.next());
    }
}
