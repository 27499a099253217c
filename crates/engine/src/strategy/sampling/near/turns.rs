//! The threads that run between operations near a change.

use super::super::{Turns, any};
use super::Region;
use crate::base::ids::ThreadId;
use crate::base::rng::Rng;
use crate::world::State;

/// Maximum consecutive steps of a thread that others may be waiting for in a loop.
const LONG_TURN: u64 = 200;

/// Runs threads up to their next operations near the change.
#[derive(Clone, Debug, Default)]
pub(super) struct Approach {
    turns: Turns,
    /// The thread that ran last.
    pub(super) last: Option<ThreadId>,
    /// Enabled threads that are at an operation near the change, or that let others run.
    pub(super) there: Vec<ThreadId>,
    on_their_way: Vec<ThreadId>,
}

impl Approach {
    /// Starts an execution.
    pub(super) fn begin(&mut self) {
        self.turns = Turns::default();
        self.last = None;
    }

    /// Returns a thread that has not come to an operation near the change, if there is one: the last one, if it has not.
    pub(super) fn next(
        &mut self,
        rng: &mut Rng,
        state: &State,
        region: &mut Region,
    ) -> Option<ThreadId> {
        self.there.clear();
        self.on_their_way.clear();
        for &thread in state.enabled() {
            match state.pending(thread).makes_way() || region.contains(state.pending_site(thread)) {
                true => self.there.push(thread),
                false => self.on_their_way.push(thread),
            }
        }
        if self.on_their_way.is_empty() {
            return None;
        }
        let last = self.last.filter(|last| self.on_their_way.contains(last));
        Some(last.unwrap_or_else(|| self.on_their_way[rng.below(self.on_their_way.len())]))
    }

    /// Records that a thread runs; returns another one if it has run for long.
    pub(super) fn performs(&mut self, rng: &mut Rng, state: &State, thread: ThreadId) -> ThreadId {
        let mut thread = thread;
        if self.turns.note(state, thread) > LONG_TURN {
            self.turns = Turns::default();
            thread = any(rng, state);
        }
        self.last = Some(thread);
        thread
    }
}
