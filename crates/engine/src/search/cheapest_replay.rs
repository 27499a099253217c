//! Replay of the class that a search ran last, in a linearization with fewer preemptions.
//!
//! A search bounded by preemptions runs a class because *some* linearization is within the bound;
//! the order of its own run need not be that one.

use super::Exhaustive;
use super::graph::Graph;
use crate::base::ids::{EventId, ThreadId};
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::search::explore::binding::Binding;
use crate::world::State;
use crate::world::strategy::{Repeat, Strategy};

/// Runs one linearization of a graph, once.
#[derive(Debug)]
pub struct CheapestReplay {
    graph: Graph,
    steps: Vec<EventId>,
    position: usize,
    binding: Binding,
    started: bool,
}

impl Exhaustive {
    /// Returns a replay of the last class in a linearization with the fewest preemptions; `None` if
    /// none is found with at most `preemptions`.
    pub fn cheapest(&self, preemptions: u32) -> Option<CheapestReplay> {
        let graph = &self.frames.last()?.graph;
        let steps = graph.cheapest_order(preemptions)?;
        Some(CheapestReplay {
            graph: graph.clone(),
            steps,
            position: 0,
            binding: Binding::default(),
            started: false,
        })
    }
}

impl Strategy for CheapestReplay {
    fn begin(&mut self) -> bool {
        self.binding.reset();
        !std::mem::replace(&mut self.started, true)
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let Some(&event) = self.steps.get(self.position) else {
            return Ok(Choice::run(state.enabled()[0]));
        };
        self.position += 1;
        self.binding.replay(&mut self.graph, state, event)
    }

    /// Decides as the search did.
    fn repeats(&mut self, _state: &State, thread: ThreadId) -> Repeat {
        let thread = self.binding.to_graph(thread);
        let left = &self.steps[self.position.min(self.steps.len())..];
        let is_known = left.iter().any(|event| event.thread == thread);
        match is_known || self.graph.is_waiting(thread) {
            true => Repeat::GoOn,
            false => Repeat::Stop,
        }
    }
}
