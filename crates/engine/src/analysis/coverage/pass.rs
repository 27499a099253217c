//! One look at every event of an execution, in the order they were run.

use super::board::Board;
use super::data::Data;
use super::locks::Locks;
use super::wakes::Wakes;
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// What is known of the execution so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    pub(crate) locks: Locks,
    pub(crate) data: Data,
    wakes: Wakes,
    threads: Vec<Thread>,
    /// How many events were looked at.
    seen: usize,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Where its events are.
    sites: Vec<SiteId>,
    /// When its last event was, counted from 1.
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

    /// Looks at what is new in an execution that goes on.
    #[inline]
    pub(crate) fn see(&mut self, execution: &Execution, board: &mut Board) {
        while let Some(event) = execution.events.get(self.seen) {
            self.seen += 1;
            self.see_event(event, execution, board);
        }
    }

    /// The execution is over.
    pub(crate) fn end(&mut self, execution: &Execution, board: &mut Board) {
        if !execution.pending.is_empty() {
            let threads = &self.threads;
            let since = |thread: ThreadId| threads.get(thread.index()).map_or(0, |it| it.last);
            self.locks.end(execution, since, board);
        }
    }

    /// Where an event was.
    pub(crate) fn site(&self, id: EventId) -> Option<SiteId> {
        let thread = self.threads.get(id.thread.index())?;
        thread.sites.get(id.index as usize).copied()
    }

    /// Where an event was that may come later: with weak memory, a write may come before others that
    /// were there first.
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
