//! The execution that a search has run last once more, in an order with fewer preemptions.
//!
//! A search that is bounded by preemptions runs a class because *some* order of its events is within
//! the bound, and the order in which it was run need not be that one.

use super::Exhaustive;
use super::graph::Graph;
use crate::base::ids::{EventId, ThreadId};
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::search::explore::binding::Binding;
use crate::world::State;
use crate::world::strategy::{Repeat, Strategy};

/// One execution along the events of a graph.
#[derive(Debug)]
pub struct CheapestReplay {
    graph: Graph,
    steps: Vec<EventId>,
    position: usize,
    binding: Binding,
    started: bool,
}

impl Exhaustive {
    /// The class that was run last, in an order with as few preemptions as can be; `None` if no order
    /// is found with at most so many.
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
        self.binding.replay(&self.graph, state, event)
    }

    /// As the search did.
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
