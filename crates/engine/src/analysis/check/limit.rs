//! Executions without end: what they do again and again.

use crate::base::ids::{SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// So many events at the end are looked at.
const LOOKED_AT: usize = 200;
/// More lines than this are no loop that a person would recognise.
const MAX_LINES: usize = 12;

/// What a thread does again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The thread.
    pub thread: ThreadId,
    /// What it does.
    pub operation: Operation,
    /// Where.
    pub site: SiteId,
}

/// What the last events are, if they are a few, again and again; by thread, in the order of their
/// first time.
pub fn repeated(execution: &Execution) -> Vec<Repeated> {
    let events = &execution.events;
    let last = &events[events.len() - LOOKED_AT.min(events.len() / 2)..];
    let mut found: Vec<(Repeated, usize)> = Vec::new();
    for event in last {
        let (thread, site, operation) = (event.id.thread, event.site, event.operation);
        let same = |one: &Repeated| {
            (one.thread, one.site, one.operation.label()) == (thread, site, operation.label())
        };
        if let Some((_, times)) = found.iter_mut().find(|(one, _)| same(one)) {
            *times += 1;
            continue;
        }
        if found.len() == MAX_LINES {
            return Vec::new();
        }
        let one = Repeated {
            thread,
            operation,
            site,
        };
        found.push((one, 1));
    }
    if found.iter().any(|(_, times)| *times < 2) {
        return Vec::new();
    }
    found.sort_by_key(|(one, _)| one.thread);
    found.into_iter().map(|(one, _)| one).collect()
}
