//! Minimisation: from a failing execution to a simpler one that fails in the same way.
//!
//! Independent events can be run in any order. [`tidy`] keeps dependent events in order and lets
//! each thread run as far as it can, which is the easiest order to read. It keeps stale reads only
//! where no linearization explains the values. It is greedy, and needs no run of the program. The
//! plans of [`closer`], [`calmer`] and [`later`] go further: a run decides whether the program
//! still fails in the same way, and [`Cost`] whether that is simpler. [`swaps`] exchange two
//! events, to find those whose order matters, and [`changed`] decides whether the failure depends
//! on them.
//!
//! The first part follows dejafu (Walker), the others CHESS and Choi and Zeller ("Isolating
//! Failure-Inducing Thread Schedules", ISSTA 2002): remove, run again, keep the result if it still
//! fails.

mod dependencies;
mod freed;
mod plans;
mod slice;
mod swaps;

pub use dependencies::precedes;
pub use freed::{EarlyFree, EarlyFrees};
pub use plans::{calmer, closer, later, twice_closer};
pub use slice::{Target, changed, holds};
pub use swaps::{Moment, Swap, swaps};

use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use dependencies::dependencies;

/// Complexity of an execution for a reader; compared field by field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cost {
    /// True when some read is stale although the failure is not about memory, so that no
    /// linearization explains it.
    pub is_weak: bool,
    /// Number of preemptions.
    pub preemptions: u32,
    /// Number of spurious events, and of choices other than the first alternative.
    pub chances: usize,
    /// Number of accesses that take a value or a position in coherence order that is not the last.
    pub stale: usize,
    /// Number of context switches.
    pub switches: usize,
    /// Number of events up to the failure.
    pub events: usize,
}

impl Cost {
    /// Returns the cost of an execution that fails after `after` events, or at its end.
    /// `tells_memory` is true when the failure is about memory, so that stale reads belong to its
    /// explanation.
    pub fn of(execution: &Execution, after: Option<usize>, tells_memory: bool) -> Self {
        let after = after.unwrap_or(execution.events.len());
        let events = &execution.events[..after];
        let stale = events.iter().filter(|event| event.back() > 0).count();
        let pairs = events.windows(2);
        let switches = pairs.filter(|pair| pair[0].id.thread != pair[1].id.thread);
        Cost {
            is_weak: stale > 0 && !tells_memory,
            preemptions: execution.preemptions,
            chances: events.iter().filter(|event| is_chance(event)).count(),
            stale,
            switches: switches.count(),
            events: events.len(),
        }
    }
}

/// True for a choice other than the first alternative. The received message or the group at a
/// barrier is not a choice in this sense.
fn is_chance(event: &Event) -> bool {
    let is_choice = matches!(
        event.operation,
        Operation::Choose { .. } | Operation::Chance { .. } | Operation::Call { .. }
    );
    event.fails_spuriously() || !event.outcome.is_first() && is_choice
}

/// Returns a plan for the same execution in which each thread runs as far as it can, with every
/// read taking the latest write if possible.
pub fn tidy(execution: &Execution) -> Vec<Planned> {
    if let Some(order) = in_few_pieces(execution, &dependencies(execution, true)) {
        return Planned::at_last(execution, order);
    }
    let order = in_few_pieces(execution, &dependencies(execution, false));
    Planned::of(
        execution,
        order.unwrap_or((0..execution.events.len()).collect()),
    )
}

/// Returns the positions of all events in an order in which each thread runs as far as it can;
/// `None` if the dependencies are cyclic.
fn in_few_pieces(execution: &Execution, needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut of_thread = vec![Vec::new(); execution.threads.len()];
    for (position, event) in execution.events.iter().enumerate() {
        of_thread[event.id.thread.index()].push(position);
    }
    let mut next = vec![0; of_thread.len()];
    let mut done = vec![false; execution.events.len()];
    let mut order = Vec::with_capacity(execution.events.len());
    let mut current = 0;
    while order.len() < execution.events.len() {
        // The current thread if it can run, else the one that gets furthest.
        let rest = |thread: usize| {
            let events = &of_thread[thread][next[thread]..];
            reach(execution, events, needs, &done)
        };
        let furthest = (0..of_thread.len())
            .map(|thread| (rest(thread), thread))
            .max_by_key(|&(reach, thread)| (reach, std::cmp::Reverse(thread)));
        let own = rest(current);
        let (length, thread) = match furthest {
            Some((length, thread)) if own == 0 && length > 0 => (length, thread),
            _ if own > 0 => (own, current),
            _ => return None,
        };
        for &position in &of_thread[thread][next[thread]..][..length] {
            done[position] = true;
            order.push(position);
        }
        next[thread] += length;
        current = thread;
    }
    Some(order)
}

/// Returns the number of the given events, which are the rest of one thread, that can be run
/// consecutively.
fn reach(execution: &Execution, events: &[usize], needs: &[Vec<usize>], done: &[bool]) -> usize {
    let Some(&first) = events.first() else {
        return 0;
    };
    let thread = |position: usize| execution.events[position].id.thread;
    let is_own = |needed: usize| needed >= first && thread(needed) == thread(first);
    let can_run = |&&event: &&usize| {
        let mut needed = needs[event].iter();
        needed.all(|&needed| done[needed] || is_own(needed))
    };
    events.iter().take_while(can_run).count()
}
