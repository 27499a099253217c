//! What threads come after in ways that are no events.
//!
//! A grant says that from some point on a thread, and whoever hears of it, comes after what a clock
//! counts. Long executions have very many, so those of a thread are kept in order, each with all that was
//! granted to the thread before: only the last one that somebody has seen matters.

use super::clock::{join, join_growing};
use crate::base::ids::ThreadId;

/// All grants of an execution.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// By thread, in the order in which they were made.
    by_thread: Vec<Vec<Grant>>,
}

/// What a thread comes after that has had so many events, and has not had them when it was made.
#[derive(Debug)]
struct Grant {
    index: u32,
    clock: Vec<u32>,
}

impl Grants {
    pub(super) fn clear(&mut self) {
        self.by_thread.iter_mut().for_each(Vec::clear);
    }

    /// What the clock counts comes before what a thread does from now on, which has had so many events.
    pub(super) fn add(&mut self, to: ThreadId, index: u32, clock: &[u32]) {
        if self.by_thread.len() <= to.index() {
            self.by_thread.resize_with(to.index() + 1, Vec::new);
        }
        let own = &mut self.by_thread[to.index()];
        let is_new = own.last().is_none_or(|last| last.index != index);
        if is_new {
            let clock = own.last().map_or(Vec::new(), |last| last.clock.clone());
            own.push(Grant { index, clock });
        }
        let last = own.last_mut().expect("there is one now");
        join_growing(&mut last.clock, clock);
    }

    /// Adds to a clock of a thread what it was granted, and what those were whom it has heard of.
    pub(super) fn add_to(&self, thread: ThreadId, clock: &mut [u32]) {
        let mut grows = true;
        while grows {
            grows = false;
            for to in 0..self.by_thread.len() {
                if let Some(granted) = self.of(to, thread, clock)
                    && clock
                        .iter()
                        .zip(granted)
                        .any(|(own, granted)| own < granted)
                {
                    join(clock, granted);
                    grows = true;
                }
            }
        }
    }

    /// What was granted to a thread with this clock, and to those whom it has heard of.
    pub(super) fn seen<'a>(
        &'a self,
        thread: ThreadId,
        clock: &'a [u32],
    ) -> impl Iterator<Item = &'a [u32]> {
        (0..self.by_thread.len()).filter_map(move |to| self.of(to, thread, clock))
    }

    /// All that was granted to one thread, as far as another with this clock has heard of it.
    fn of(&self, to: usize, thread: ThreadId, clock: &[u32]) -> Option<&[u32]> {
        let grants = &self.by_thread[to];
        let last = match clock.get(to) {
            _ if to == thread.index() => grants.last()?,
            Some(&seen) if seen > grants.first()?.index => {
                let count = grants.partition_point(|grant| grant.index < seen);
                &grants[count - 1]
            }
            _ => return None,
        };
        Some(&last.clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    const THREADS: usize = 4;

    /// Every grant by itself, in the order in which they were made.
    #[derive(Default)]
    struct List(Vec<(usize, u32, Vec<u32>)>);

    impl List {
        fn add_to(&self, thread: usize, clock: &mut [u32]) {
            for (to, index, granted) in &self.0 {
                if *to == thread || clock[*to] > *index {
                    join(clock, granted);
                }
            }
        }
    }

    #[test]
    fn what_is_seen_is_what_looking_at_each_grant_finds() {
        let mut rng = Rng::new(7);
        let mut heard = 0;
        for _ in 0..200 {
            let (mut grants, mut list) = (Grants::default(), List::default());
            let mut events = [0; THREADS];
            let mut seen = [[0; THREADS]; THREADS];
            for _ in 0..60 {
                let (one, other) = (rng.below(THREADS), rng.below(THREADS));
                match rng.below(4) {
                    // An event, of which another thread hears.
                    0 => {
                        events[one] += 1;
                        seen[one][one] = events[one];
                        let clock = seen[one];
                        join(&mut seen[other], &clock);
                    }
                    1 => {
                        events[one] += 1;
                        seen[one][one] = events[one];
                    }
                    // One passes on what it knows, another takes it on.
                    _ if one != other => {
                        let mut clock = seen[one].to_vec();
                        clock[one] = events[one] + 1;
                        list.add_to(one, &mut clock);
                        list.0.push((other, events[other], clock.clone()));
                        grants.add(ThreadId::new(other), events[other], &clock);
                    }
                    _ => {}
                }
                for (thread, seen) in seen.iter().enumerate() {
                    let (mut fast, mut slow) = (seen.to_vec(), seen.to_vec());
                    grants.add_to(ThreadId::new(thread), &mut fast);
                    list.add_to(thread, &mut slow);
                    assert_eq!(fast, slow);
                    heard += usize::from(slow != *seen);
                }
            }
        }
        assert!(heard > 1_000, "grants made a difference {heard} times");
    }
}
