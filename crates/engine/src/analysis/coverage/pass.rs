//! One pass over the events of an execution, in the order of the run.

use super::board::Board;
use super::data::Data;
use super::locks::Locks;
use super::wakes::Wakes;
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// State of the pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    pub(crate) locks: Locks,
    pub(crate) data: Data,
    wakes: Wakes,
    threads: Vec<Thread>,
    /// Number of events processed.
    seen: usize,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Source locations of its events.
    sites: Vec<SiteId>,
    /// Position of its last event, counted from 1.
    last: u32,
}

impl Pass {
    pub(crate) fn reset(&mut self) {
        self.locks.reset();
        self.data.reset();
        self.wakes.reset();
        for thread in &mut self.threads {
            thread.sites.clear();
            thread.last = 0;
        }
        self.seen = 0;
    }

    /// Processes the new events of the current execution.
    #[inline]
    pub(crate) fn see(&mut self, execution: &Execution, board: &mut Board) {
        while let Some(event) = execution.events.get(self.seen) {
            self.seen += 1;
            self.see_event(event, execution, board);
        }
    }

    /// Processes the end of the execution.
    pub(crate) fn end(&mut self, execution: &Execution, board: &mut Board) {
        if !execution.pending.is_empty() {
            let threads = &self.threads;
            let since = |thread: ThreadId| threads.get(thread.index()).map_or(0, |it| it.last);
            self.locks.end(execution, since, board);
        }
    }

    /// Returns the source location of an event.
    pub(crate) fn site(&self, id: EventId) -> Option<SiteId> {
        let thread = self.threads.get(id.thread.index())?;
        thread.sites.get(id.index as usize).copied()
    }

    /// Returns the source location of an event that may come later: under weak memory, a write may
    /// precede earlier ones in coherence order.
    #[inline]
    fn find(&self, id: EventId, execution: &Execution) -> Option<SiteId> {
        self.site(id).or_else(|| {
            let mut later = execution.events[self.seen..].iter();
            later.find(|event| event.id == id).map(|event| event.site)
        })
    }

    #[inline]
    fn see_event(&mut self, event: &Event, execution: &Execution, board: &mut Board) {
        let now = self.seen as u32;
        let index = event.id.thread.index();
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, Thread::default);
        }
        let thread = &mut self.threads[index];
        thread.sites.push(event.site);
        let since = std::mem::replace(&mut thread.last, now);
        match event.operation {
            Operation::Call { .. } => {
                self.locks.see(event, now, since, board);
                self.wakes.see(event, None, board);
            }
            Operation::Load { location, .. }
            | Operation::Store { location, .. }
            | Operation::Update { location, .. }
            | Operation::HangUp { location, .. } => {
                let source = match event.source {
                    Some(id) => self.find(id, execution).map(|site| (site, Some(id.thread))),
                    None => {
                        let made = execution.locations[location.index()].made;
                        made.map(|site| (site, None))
                    }
                };
                self.data.see(event, location, source, board);
            }
            Operation::Receive { .. } => {
                let source = event.source.and_then(|id| self.find(id, execution));
                self.wakes.see(event, source, board);
            }
            _ => {}
        }
    }
}
