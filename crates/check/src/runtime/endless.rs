//! The loops without end that executions of a check leave.

use std::fmt;
use std::sync::Arc;

use raddle_engine::EndlessLoop;

use super::{Context, Places};

/// The loops of a program, and the places that their sites belong to.
pub(crate) struct LearntLoops {
    pub(crate) places: Arc<Places>,
    pub(crate) loops: Vec<EndlessLoop>,
    /// Number of runs in which they were found.
    pub(crate) runs: u64,
}

impl LearntLoops {
    /// Makes the executions of a context leave the loops.
    pub(crate) fn set_in(&self, context: &Context) {
        context.share_places(&self.places);
        context.with_world(|world| world.set_endless_loops(self.loops.clone()));
    }
}

impl fmt::Debug for LearntLoops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.loops).finish()
    }
}
