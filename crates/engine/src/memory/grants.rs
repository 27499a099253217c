//! Happens-before edges that do not come from events.
//!
//! A grant joins a clock into `hb` of all later actions of a thread, and of all actions that these
//! happen before. Long executions have very many grants. So the grants of a thread are stored in
//! order, each joined with all earlier ones: only the last one that happens before an action
//! matters.

use super::clock::{join, join_growing};
use crate::base::ids::ThreadId;

/// All grants of an execution.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// By thread, in the order of their creation.
    by_thread: Vec<Vec<Grant>>,
}

/// Happens-before edges that a thread has acquired.
#[derive(Debug)]
struct Grant {
    /// Number of events of the thread at that time.
    index: u32,
    clock: Vec<u32>,
}

impl Grants {
    pub(super) fn clear(&mut self) {
        self.by_thread.iter_mut().for_each(Vec::clear);
    }

    /// Joins a clock into `hb` of all later actions of a thread; `index` is its number of events.
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

    /// Joins into `hb` of a thread the grants of the thread and those that happen before it, transitively.
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

    /// Returns the grants of a thread with this clock, and those that happen before it.
    pub(super) fn known_to<'a>(
        &'a self,
        thread: ThreadId,
        clock: &'a [u32],
    ) -> impl Iterator<Item = &'a [u32]> {
        (0..self.by_thread.len()).filter_map(move |to| self.of(to, thread, clock))
    }

    /// Returns the joined grants of one thread that happen before the next action of another, which has this
    /// clock.
    fn of(&self, to: usize, thread: ThreadId, clock: &[u32]) -> Option<&[u32]> {
        let grants = &self.by_thread[to];
        let last = match clock.get(to) {
            _ if to == thread.index() => grants.last()?,
            Some(&events) if events > grants.first()?.index => {
                let count = grants.partition_point(|grant| grant.index < events);
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

    /// Each grant by itself, in the order of their creation.
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
    fn joined_grants_are_those_that_a_list_of_grants_has() {
        let mut rng = Rng::new(7);
        let mut effective = 0;
        for _ in 0..200 {
            let (mut grants, mut list) = (Grants::default(), List::default());
            let mut events = [0; THREADS];
            let mut hb = [[0; THREADS]; THREADS];
            for _ in 0..60 {
                let (one, other) = (rng.below(THREADS), rng.below(THREADS));
                match rng.below(4) {
                    // An event that synchronizes with another thread.
                    0 => {
                        events[one] += 1;
                        hb[one][one] = events[one];
                        let clock = hb[one];
                        join(&mut hb[other], &clock);
                    }
                    1 => {
                        events[one] += 1;
                        hb[one][one] = events[one];
                    }
                    // One thread releases, another acquires.
                    _ if one != other => {
                        let mut clock = hb[one].to_vec();
                        clock[one] = events[one] + 1;
                        list.add_to(one, &mut clock);
                        list.0.push((other, events[other], clock.clone()));
                        grants.add(ThreadId::new(other), events[other], &clock);
                    }
                    _ => {}
                }
                for (thread, hb) in hb.iter().enumerate() {
                    let (mut fast, mut slow) = (hb.to_vec(), hb.to_vec());
                    grants.add_to(ThreadId::new(thread), &mut fast);
                    list.add_to(thread, &mut slow);
                    assert_eq!(fast, slow);
                    effective += usize::from(slow != *hb);
                }
            }
        }
        assert!(
            effective > 1_000,
            "grants made a difference {effective} times"
        );
    }
}
