//! From a failing execution to the shortest that fails in the same way.
//!
//! Events that do not depend on each other can be run in any order. [`tidy`] keeps what depends in
//! its order and lets each thread run as far as it can, which is how a person would tell it; and it
//! tells of stale values only where no order of events explains what was read. That is greedy, and
//! takes no run of the program. The plans of [`closer`], [`calmer`] and [`later`] go further: whether
//! the program still fails in the same way then, only a run can tell, and [`Cost`] whether that is
//! better. [`swaps`] turn two events round, to find those whose order decides.
//!
//! The method is that of dejafu (Walker) for the first part and that of CHESS and of Choi and Zeller
//! ("Isolating Failure-Inducing Thread Schedules", ISSTA 2002) for the others: remove, run again, keep
//! what still fails.

mod dependencies;
mod plans;
mod swaps;

pub use plans::{calmer, closer, later, twice_closer};
pub use swaps::{Moment, Swap, swaps};

use crate::model::choice::Planned;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use dependencies::dependencies;

/// What a story costs its reader; the first that differs decides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cost {
    /// Whether a thread sees what is no longer so, although that is not what goes wrong: no order of
    /// steps explains that.
    pub is_weak: bool,
    /// How often another thread goes on although the one that ran could have.
    pub preemptions: u32,
    /// How often something happens that nobody asked for, or another alternative than the first.
    pub chances: usize,
    /// How many accesses take a value or a place that is not the last.
    pub stale: usize,
    /// How often the thread changes.
    pub switches: usize,
    /// How many events there are up to what goes wrong.
    pub events: usize,
}

impl Cost {
    /// What this execution costs, which goes wrong after so many events, or at its end. `tells_memory`
    /// if what goes wrong is a matter of memory, so that stale values are nothing to avoid.
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

/// Whether it is a choice, and not the first alternative. Which message is received, or who meets, is
/// none.
fn is_chance(event: &Event) -> bool {
    let is_choice = matches!(
        event.operation,
        Operation::Choose { .. } | Operation::Chance { .. } | Operation::Call { .. }
    );
    event.fails_spuriously() || event.outcome > 0 && is_choice
}

/// The same execution in an order in which each thread runs as far as it can; if there is one in which
/// every read sees the latest write, such a one.
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

/// The positions of all events, in an order in which each thread runs as far as it can; `None` if
/// events need each other.
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
        // Of those who can go on, whoever goes furthest; the present thread if it can.
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

/// How many of the events, which are the rest of one thread's, can be run one after the other.
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
