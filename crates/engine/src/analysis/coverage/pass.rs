//! One pass over the events of an execution, in the order of the run.

use super::board::Board;
use super::data::Data;
use super::locks::Locks;
use super::wakes::Wakes;
use crate::base::ids::{EventId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::object::Call;

/// State of the pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    pub(crate) locks: Locks,
    pub(crate) data: Data,
    wakes: Wakes,
    sites: Sites,
    /// By thread: position of its last event, counted from 1.
    last: Vec<u32>,
    /// Number of events processed.
    seen: usize,
}

/// Source locations of events, recorded when one is asked for.
#[derive(Clone, Debug, Default)]
struct Sites {
    /// By thread.
    threads: Vec<Vec<SiteId>>,
    /// Number of events recorded.
    seen: usize,
}

impl Sites {
    fn reset(&mut self) {
        self.threads.iter_mut().for_each(Vec::clear);
        self.seen = 0;
    }

    /// Records the new events of the current execution.
    fn see(&mut self, execution: &Execution) {
        for event in &execution.events[self.seen..] {
            let index = event.id.thread.index();
            if index >= self.threads.len() {
                self.threads.resize_with(index + 1, Vec::new);
            }
            self.threads[index].push(event.site);
        }
        self.seen = execution.events.len();
    }

    fn get(&self, id: EventId) -> Option<SiteId> {
        let sites = self.threads.get(id.thread.index())?;
        sites.get(id.index as usize).copied()
    }

    /// Returns the source location of an event that may come later: under weak memory, a write may
    /// precede earlier ones in coherence order.
    #[inline(never)]
    fn find(&mut self, id: EventId, execution: &Execution) -> Option<SiteId> {
        self.see(execution);
        self.get(id)
    }
}

impl Pass {
    pub(crate) fn reset(&mut self) {
        self.locks.reset();
        self.data.reset();
        self.wakes.reset();
        self.sites.reset();
        self.last.clear();
        self.seen = 0;
    }

    /// Processes the new events of the current execution.
    #[inline]
    pub(crate) fn see(&mut self, execution: &Execution, board: &mut Board) {
        self.data.reserve(execution.locations.len());
        if execution.threads.len() > self.last.len() {
            self.last.resize(execution.threads.len(), 0);
        }
        let mut now = self.seen as u32;
        for event in &execution.events[self.seen..] {
            now += 1;
            self.see_event(event, now, execution, board);
        }
        self.seen = execution.events.len();
    }

    /// Records the source locations of the new events, for [`Pass::site`].
    pub(crate) fn see_sites(&mut self, execution: &Execution) {
        self.sites.see(execution);
    }

    /// Processes the end of the execution.
    pub(crate) fn end(&mut self, execution: &Execution, board: &mut Board) {
        if !execution.pending.is_empty() {
            let last = &self.last;
            let since = |thread: ThreadId| last.get(thread.index()).copied().unwrap_or(0);
            self.locks.end(execution, since, board);
        }
    }

    /// Returns the source location of an event that was recorded.
    pub(crate) fn site(&self, id: EventId) -> Option<SiteId> {
        self.sites.get(id)
    }

    #[inline]
    fn see_event(&mut self, event: &Event, now: u32, execution: &Execution, board: &mut Board) {
        let since = std::mem::replace(&mut self.last[event.id.thread.index()], now);
        match event.operation {
            Operation::Call { call, .. } => {
                self.locks.see(event, now, since, board);
                if !matches!(call, Call::Mutex(_) | Call::RwLock(_)) {
                    self.wakes.see(event, None, board);
                }
            }
            Operation::Load { location, .. }
            | Operation::Store { location, .. }
            | Operation::Update { location, .. }
            | Operation::HangUp { location, .. } => {
                let variable = self.data.variable(location);
                let source = match event.source {
                    Some(id) => {
                        let site = variable.site(id);
                        let site = site.or_else(|| self.sites.find(id, execution));
                        site.map(|site| (site, Some(id.thread)))
                    }
                    None => {
                        let made = execution.locations[location.index()].made;
                        made.map(|site| (site, None))
                    }
                };
                variable.see(event, source, board);
            }
            Operation::Receive { .. } => {
                let source = event.source.and_then(|id| self.sites.find(id, execution));
                self.wakes.see(event, source, board);
            }
            _ => {}
        }
    }
}
