//! Finds the loops of an execution that has reached its limit of events.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::base::ids::{SiteId, ThreadId};
use crate::model::endless::EndlessLoop;
use crate::model::execution::Execution;

/// Minimum number of rounds in the second half of an execution: fewer may be the end of a loop that has one.
const MIN_ROUNDS: usize = 8;
/// Minimum number of equal rounds after which a loop is left.
const MIN_REPEATS: usize = 2;

/// Returns the loops that threads are in. Each begins with an operation that its thread has performed least often in
/// the second half of the execution, without a lock: a round then has all rounds of the loops inside it. Of several
/// such operations it is the one that the thread has performed first.
///
/// If threads `ran_alone`, one after the other, then the number of equal rounds after which a loop is left is so large
/// that all rounds of the execution come before: the thread itself decided to do something else after fewer.
pub fn loops(execution: &Execution, ran_alone: bool) -> Vec<EndlessLoop> {
    let threads = (0..execution.threads.len()).map(ThreadId::new);
    let running = threads.filter(|thread| execution.threads[thread.index()].end.is_none());
    running
        .filter_map(|thread| loop_of(execution, thread, ran_alone))
        .collect()
}

fn loop_of(execution: &Execution, thread: ThreadId, ran_alone: bool) -> Option<EndlessLoop> {
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
    let ((site, label), _) = counts.into_iter().min_by_key(|&(_, (_, index))| index)?;
    let mut found = EndlessLoop {
        thread: execution.path(thread),
        site,
        label,
        repeats: MIN_REPEATS,
    };
    if ran_alone {
        let mut rounds = execution.rounds(thread, &own, &found);
        // The last one is cut.
        rounds.pop();
        found.repeats = repeats(&rounds);
    }
    Some(found)
}

/// Returns the least number of equal rounds that is never followed by a round unlike all before.
fn repeats<R: Eq + Hash>(rounds: &[R]) -> usize {
    let mut known: HashSet<&R> = HashSet::new();
    let mut equal = 0;
    let mut repeats = MIN_REPEATS;
    for (index, round) in rounds.iter().enumerate() {
        if known.insert(round) {
            repeats = repeats.max(equal + 1);
        }
        let is_equal = index > 0 && rounds[index - 1] == *round;
        equal = if is_equal { equal + 1 } else { 1 };
    }
    repeats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_before_a_new_one_do_not_suffice() {
        assert_eq!(repeats::<u8>(&[]), 2);
        assert_eq!(repeats(b"aaaa"), 2);
        assert_eq!(repeats(b"abbb"), 2);
        assert_eq!(repeats(b"aabbb"), 3);
        assert_eq!(repeats(b"aaaaabaaa"), 6);
        // Both are known when they follow equal ones.
        assert_eq!(repeats(b"abaaabbb"), 2);
    }
}
