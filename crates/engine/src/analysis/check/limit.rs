//! Executions without end: the loop in their last events.

use crate::base::ids::{SiteId, ThreadId};
use crate::model::execution::Execution;
use crate::model::operation::Operation;

/// Number of events examined at the end of an execution; of a shorter one its second half.
const LOOKED_AT: usize = 200;
/// Maximum number of different steps of a reported loop; a longer list is not recognised as a loop
/// by a reader.
const MAX_LINES: usize = 12;

/// A step of the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    /// The thread.
    pub thread: ThreadId,
    /// The operation.
    pub operation: Operation,
    /// Its source location.
    pub site: SiteId,
}

/// Returns the steps that the last events repeat, if they are few; by thread, in the order of first
/// occurrence.
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
