//! Delays threads at given points, so that they are there at the same time.
//!
//! This tests whether locks taken in different orders can deadlock, and whether two accesses can race. Every thread
//! that is about to take its second lock, or that has made its access, waits until no other thread can run. If each
//! then holds a lock that another one wants, that is a deadlock; and what another thread accesses meanwhile is not
//! ordered after the access. (DeadlockFuzzer, Joshi et al., PLDI 2009, and RaceFuzzer, Sen, PLDI 2008, do the same.)

use crate::base::ids::{SiteId, ThreadId};
use crate::base::outcome::Outcome;
use crate::base::rng::Rng;
use crate::model::access::Access;
use crate::model::choice::Choice;
use crate::model::ending::Divergence;
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::model::operation::Operation;
use crate::model::schedule::ThreadPath;
use crate::world::State;
use crate::world::strategy::Strategy;

/// A point at which threads are delayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HoldPoint {
    /// The thread; `None` stands for all threads, which are delayed at calls only.
    thread: Option<ThreadPath>,
    /// Site of the pending operation.
    at: SiteId,
}

impl HoldPoint {
    /// Returns the point before the calls at a site.
    pub fn of_calls(at: SiteId) -> Self {
        HoldPoint { thread: None, at }
    }

    /// Returns the point of one thread before its operations at a site.
    pub fn of_thread(thread: ThreadPath, at: SiteId) -> Self {
        HoldPoint {
            thread: Some(thread),
            at,
        }
    }

    /// Returns the point at which the thread of an access waits after it: before its next event.
    pub fn after(execution: &Execution, access: &Access) -> Option<Self> {
        let is_next =
            |event: &&Event| event.id.thread == access.thread && event.id.index == access.index;
        let later = &execution.events[access.after.min(execution.events.len())..];
        let next = later.iter().find(is_next)?;
        Some(HoldPoint::of_thread(
            execution.path(access.thread),
            next.site,
        ))
    }

    /// True when the thread is at the point.
    pub(super) fn holds(&self, state: &State, thread: ThreadId) -> bool {
        let is_it = || match &self.thread {
            None => matches!(state.pending(thread), Operation::Call { .. }),
            Some(path) => state.execution().path(thread) == *path,
        };
        self.at == state.pending_site(thread) && is_it()
    }
}

/// Random walks that leave given points as late as possible.
#[derive(Debug)]
pub struct Holdback {
    points: Vec<HoldPoint>,
    rng: Rng,
}

impl Holdback {
    /// Creates a strategy that delays threads at these points.
    pub fn new(points: Vec<HoldPoint>, seed: u64) -> Self {
        Holdback {
            points,
            rng: Rng::new(seed),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound > 1 { self.rng.below(bound) } else { 0 }
    }
}

impl Strategy for Holdback {
    fn begin(&mut self) -> bool {
        true
    }

    fn choose(&mut self, state: &State) -> Result<Choice, Box<Divergence>> {
        let is_held =
            |&thread: &ThreadId| self.points.iter().any(|point| point.holds(state, thread));
        let mut threads: Vec<ThreadId> = state.enabled().to_vec();
        if threads.iter().any(|thread| !is_held(thread)) {
            threads.retain(|thread| !is_held(thread));
        }
        let thread = threads[self.below(threads.len())];
        let outcome = self.below(state.outcomes(thread) as usize);
        let outcome = Outcome::nth(outcome as u32);
        Ok(match state.allows(thread, outcome) {
            true => Choice { thread, outcome },
            false => Choice::run(thread),
        })
    }
}
