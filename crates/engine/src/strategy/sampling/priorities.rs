//! A random priority for what each thread is about to do.

use super::Turns;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::world::State;

/// After so many steps of one thread all priorities are drawn again: a thread that waits in a loop for
/// one with a low priority should not wait for long.
const LONG_TURN: u64 = 100;

/// By thread: the priority of its pending operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Priorities {
    by_thread: Vec<u64>,
    turns: Turns,
}

impl Priorities {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        self.by_thread.clear();
        self.turns = Turns::default();
    }

    /// New threads get a priority.
    #[inline]
    pub(crate) fn meet(&mut self, rng: &mut Rng, state: &State) {
        while self.by_thread.len() < state.execution().threads.len() {
            self.by_thread.push(rng.next());
        }
    }

    /// Of the enabled threads that may go on, the one whose operation has the highest priority.
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

    /// Another one, at random.
    #[inline]
    pub(crate) fn redraw(&mut self, rng: &mut Rng, thread: ThreadId) {
        self.by_thread[thread.index()] = rng.next();
    }

    /// The thread goes on. If it has done so for long, everybody gets another priority; whether they
    /// do.
    #[inline]
    pub(crate) fn performs(&mut self, rng: &mut Rng, state: &State, thread: ThreadId) -> bool {
        self.redraw(rng, thread);
        let is_long = self.turns.note(state, thread) >= LONG_TURN;
        if is_long {
            self.redraw_all(rng);
        }
        is_long
    }

    /// Everybody gets another one.
    pub(crate) fn redraw_all(&mut self, rng: &mut Rng) {
        self.turns = Turns::default();
        self.by_thread.fill_with(|| rng.next());
    }
}
