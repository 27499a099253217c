//! Finds the loops of an execution that has reached its limit of events.

use std::collections::HashMap;

use crate::base::ids::{SiteId, ThreadId};
use crate::model::endless::EndlessLoop;
use crate::model::execution::Execution;

/// Minimum number of rounds in the second half of an execution: fewer may be the end of a loop that has one.
const MIN_ROUNDS: usize = 8;

/// Returns the loops that threads are in. Each begins with an operation that its thread has performed least often in
/// the second half of the execution, without a lock: a round then has all rounds of the loops inside it. Of several
/// such operations it is the one that the thread has performed first.
pub fn loops(execution: &Execution) -> Vec<EndlessLoop> {
    let threads = (0..execution.threads.len()).map(ThreadId::new);
    let running = threads.filter(|thread| execution.threads[thread.index()].end.is_none());
    running
        .filter_map(|thread| loop_of(execution, thread))
        .collect()
}

fn loop_of(execution: &Execution, thread: ThreadId) -> Option<EndlessLoop> {
    let late = execution.events[execution.events.len() / 2..].iter();
    let late = late.filter(|event| event.id.thread == thread).count();
    let (own, _) = execution.own_events(thread);
    let from = own.len() - late;
    // By operation: the number of late ones, and the index of the first of all.
    let mut counts: HashMap<(SiteId, &'static str), (usize, usize)> = HashMap::new();
    for (index, (event, is_free)) in own.iter().enumerate() {
        if *is_free {
            let step = (event.site, event.operation.label());
            counts.entry(step).or_insert((0, index)).0 += usize::from(index >= from);
        }
    }
    counts.retain(|_, (count, _)| *count >= MIN_ROUNDS);
    // The first and the last round may be cut.
    let least = counts.values().map(|&(count, _)| count).min()? + 1;
    counts.retain(|_, (count, _)| *count <= least);
    let first = counts.into_iter().min_by_key(|&(_, (_, index))| index);
    first.map(|((site, label), _)| EndlessLoop {
        thread: execution.path(thread),
        site,
        label,
    })
}
