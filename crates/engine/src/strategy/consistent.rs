//! Total replay: every class that is consistent with a partial trace of a failure.
//!
//! The exhaustive search runs, and a follower compares each execution with the trace. As soon as an execution contradicts
//! it by events that are the same in every descendant of the graph, the subtree is left out. Few contradictions are of that
//! kind, as a receive that takes the latest send may be revisited: most executions that contradict the trace are run to
//! their end, and are attempts that count for nothing.

use std::sync::Arc;

use crate::analysis::alternatives::seen;
use crate::analysis::partial::{Contradiction, Follower, MatchesPlace, PartialTrace};
use crate::base::ids::{EventId, ThreadId};
use crate::memory::Model;
use crate::model::choice::Choice;
use crate::model::ending::{Divergence, Ending, Record};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::search::Exhaustive;
use crate::world::State;
use crate::world::strategy::{Capabilities, Extent, KnownClass, Progress, Repeat, Strategy};

/// The search for all classes that are consistent with a partial trace.
#[derive(Debug)]
pub struct Consistent {
    search: Exhaustive,
    follower: Follower,
    /// True when the contradiction of the current execution was examined.
    is_known: bool,
    is_attempt: bool,
    /// True when an execution was cut, so that what descends from it is not known.
    is_cut: bool,
    /// True when subtrees are left out; false runs every class, for comparisons.
    prunes: bool,
}

impl Consistent {
    /// Creates the search under this memory model.
    pub fn new(trace: Arc<PartialTrace>, matches: MatchesPlace, model: Model) -> Self {
        Consistent {
            search: Exhaustive::new().under(model),
            follower: Follower::new(trace, matches),
            is_known: false,
            is_attempt: false,
            is_cut: false,
            prunes: true,
        }
    }

    /// Makes the search run every class and compare it afterwards.
    #[must_use]
    pub fn without_pruning(self) -> Self {
        Consistent {
            prunes: false,
            ..self
        }
    }

    /// Stops the execution if none that descends from its graph is consistent.
    fn examine(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        let execution = state.execution();
        let Some(found) = self.follower.note(execution) else {
            return Ok(());
        };
        if std::mem::replace(&mut self.is_known, true) || !self.prunes {
            return Ok(());
        }
        if !self.is_final(found, execution) {
            return Ok(());
        }
        self.search.leave_out_descendants();
        Err(Box::new(Divergence {
            from: Record::Alternative,
            after: execution.events.len(),
            thread: String::new(),
            expected: String::new(),
            expected_at: None,
            found: None,
            pending: None,
            found_at: None,
        }))
    }

    /// True when every execution that descends from the current graph has the contradiction.
    fn is_final(&self, found: Contradiction, execution: &Execution) -> bool {
        if found.needs_source {
            return self.search.is_fixed(found.event);
        }
        self.is_settled(found.event, execution)
    }

    /// True when the thread performs this operation next in every execution that descends from the current graph, if
    /// it performs another one. That depends on its earlier receives, and on the existence of the thread.
    fn is_settled(&self, event: EventId, execution: &Execution) -> bool {
        let earlier = (execution.events.iter().rev())
            .filter(|it| it.id.thread == event.thread && it.id.index < event.index);
        if let Some(last) = earlier.into_iter().find(|it| takes_something(it)) {
            return self.search.is_fixed(last.id);
        }
        let created = execution.threads[event.thread.index()].spawned_by;
        created.is_none_or(|created| self.is_settled(created, execution))
    }
}

/// True when the rest of the thread depends on the source of the event. Giving a lock back takes nothing, and the
/// beginning of a thread what its creator knows.
fn takes_something(event: &Event) -> bool {
    match event.operation {
        Operation::Begin => false,
        Operation::Call { call, .. } if call.gives_back() => false,
        _ => event.source.is_some() || seen(event).is_some(),
    }
}

impl Strategy for Consistent {
    fn begin(&mut self) -> bool {
        self.follower.reset();
        self.is_known = false;
        self.search.begin()
    }

    fn begin_again(&mut self) {
        self.follower.reset();
        self.is_known = false;
        self.search.begin_again();
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        self.examine(state)?;
        self.search.choose(state)
    }

    fn stuck(&mut self, state: &State) -> Result<(), Box<Divergence>> {
        self.search.stuck(state)
    }

    fn end(&mut self, execution: &Execution, ending: &Ending) {
        self.search.end(execution, ending);
        let is_whole = matches!(
            ending,
            Ending::Complete | Ending::Deadlock | Ending::Livelock
        );
        let is_left_out = matches!(ending, Ending::Diverged(divergence) if divergence.from == Record::Alternative);
        let is_discarded = *ending == Ending::Discarded;
        let polls = execution.left_polling || execution.polls.is_some();
        self.is_attempt = is_left_out || !self.follower.is_consistent(execution);
        self.is_cut |= !is_whole && !is_left_out && !is_discarded || polls;
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            known_class: KnownClass::NeverOccurs,
            ..self.search.capabilities()
        }
    }

    fn progress(&self) -> Progress {
        let progress = self.search.progress();
        Progress {
            is_attempt: self.is_attempt || progress.is_attempt,
            extent: match self.is_cut {
                true => Extent::Some,
                false => progress.extent,
            },
            ..progress
        }
    }

    fn repeats(&mut self, state: &State, thread: ThreadId) -> Repeat {
        self.search.repeats(state, thread)
    }

    fn is_in_vain(&mut self, thread: ThreadId) -> bool {
        self.search.is_in_vain(thread)
    }
}
