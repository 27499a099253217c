//! Positions of the events of each thread in an execution.
//!
//! A program that frees memory which it has accessed atomically needs the positions at every free,
//! after any number of events. So positions are recorded only on request, and once for each event.

use crate::base::ids::ThreadId;
use crate::model::event::Event;

#[derive(Default)]
pub(super) struct Positions {
    /// Number of recorded events.
    known: usize,
    threads: Vec<Vec<u32>>,
}

impl Positions {
    /// Removes all events, for the next execution.
    pub(super) fn clear(&mut self) {
        self.known = 0;
        self.threads.iter_mut().for_each(Vec::clear);
    }

    /// Records the events since the last call.
    pub(super) fn update(&mut self, events: &[Event]) {
        for (position, event) in events.iter().enumerate().skip(self.known) {
            let thread = event.id.thread.index();
            if thread >= self.threads.len() {
                self.threads.resize_with(thread + 1, Vec::new);
            }
            debug_assert_eq!(self.threads[thread].len(), event.id.index as usize);
            self.threads[thread].push(position as u32);
        }
        self.known = events.len();
    }

    /// Returns the positions of the events of a thread.
    pub(super) fn of(&self, thread: ThreadId) -> &[u32] {
        self.threads.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// Returns each thread that has events not included in the clock `seen`, with the positions of
    /// these events. An entry that the clock does not have counts as 0.
    pub(super) fn since<'a>(
        &'a self,
        seen: &'a [u32],
    ) -> impl Iterator<Item = (ThreadId, &'a [u32])> {
        let threads = self.threads.iter().enumerate();
        threads.filter_map(move |(thread, positions)| {
            let first = seen.get(thread).copied().unwrap_or(0) as usize;
            let since = positions.get(first..).filter(|since| !since.is_empty())?;
            Some((ThreadId::new(thread), since))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Positions;
    use crate::base::ids::{EventId, SiteId, ThreadId};
    use crate::base::outcome::Outcome;
    use crate::base::reply::Reply;
    use crate::model::event::Event;
    use crate::model::operation::Operation;

    /// Returns events of these threads, in this order.
    fn events(threads: &[usize]) -> Vec<Event> {
        let mut counts = [0; 4];
        let event = |&thread: &usize| {
            let index = counts[thread];
            counts[thread] += 1;
            Event {
                id: EventId {
                    thread: ThreadId::new(thread),
                    index,
                },
                operation: Operation::Yield,
                source: None,
                outcome: Outcome::FIRST,
                reply: Reply::DONE,
                site: SiteId::new(0),
            }
        };
        threads.iter().map(event).collect()
    }

    fn since(positions: &Positions, seen: &[u32]) -> Vec<(usize, Vec<u32>)> {
        let since = positions.since(seen);
        since
            .map(|(thread, positions)| (thread.index(), positions.to_vec()))
            .collect()
    }

    #[test]
    fn what_happens_between_two_questions_is_added() {
        let events = events(&[0, 1, 0, 3, 1, 0]);
        let mut positions = Positions::default();
        positions.update(&events[..3]);
        assert_eq!(positions.of(ThreadId::new(0)), [0, 2]);
        assert_eq!(positions.of(ThreadId::new(3)), [0; 0]);
        positions.update(&events);
        assert_eq!(positions.of(ThreadId::new(0)), [0, 2, 5]);
        assert_eq!(positions.of(ThreadId::new(1)), [1, 4]);
        assert_eq!(positions.of(ThreadId::new(2)), [0; 0]);
        assert_eq!(positions.of(ThreadId::new(3)), [3]);
    }

    #[test]
    fn threads_of_which_nothing_was_seen_have_all_their_events() {
        let mut positions = Positions::default();
        positions.update(&events(&[0, 1, 0, 3, 1, 0]));
        let all = [(0, vec![0, 2, 5]), (1, vec![1, 4]), (3, vec![3])];
        assert_eq!(since(&positions, &[]), all);
        let some = [(0, vec![5]), (3, vec![3])];
        assert_eq!(since(&positions, &[2, 2]), some);
        assert_eq!(since(&positions, &[4, 9, 0, 1]), []);
    }

    #[test]
    fn nothing_is_left_of_the_execution_before() {
        let mut positions = Positions::default();
        positions.update(&events(&[0, 1, 2]));
        positions.clear();
        positions.update(&events(&[0, 2]));
        assert_eq!(since(&positions, &[]), [(0, vec![0]), (2, vec![1])]);
    }
}
