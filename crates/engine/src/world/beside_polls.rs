//! Threads that are blocked for ever while others poll.
//!
//! A thread that polls keeps an execution going up to the limit of events, although the failure, a
//! lost wake-up or a cycle of locks, came long before. So a long execution is examined at a number
//! of events that doubles each time. If the second half of its events are rounds of a few steps, and
//! every other thread is blocked, the checkers decide whether the blocked threads wait for ever. The
//! record keeps the first two rounds only.

use super::strategy::{Dispatch, Repeat};
use super::{State, Step, World};
use crate::base::ids::{SiteId, ThreadId};
use crate::model::ending::Ending;
use crate::model::execution::{Execution, Polls};
use crate::model::operation::Operation;

/// Minimum number of events of an execution that is examined. Half of them are thousands of rounds, more
/// than a thread polls that acts in the end.
const FIRST_LOOK: usize = 16_384;
/// Fraction of the maximum number of events from which on executions are examined, so that a higher
/// limit lets threads poll longer.
const SHARE_OF_LIMIT: usize = 64;
/// Maximum number of different steps of all rounds.
const MAX_STEPS: usize = 32;
/// Minimum number of times that each step occurs; one that occurs less often is not part of a round.
const MIN_ROUNDS: usize = 8;

/// A step of a round: the thread, the site and the name of the operation.
type PollStep = (ThreadId, SiteId, &'static str);

impl State {
    /// Returns the rounds at the end of the execution, if all threads that are not blocked poll.
    fn polls(&self) -> Option<Polls> {
        let events = &self.execution.events;
        let step = |position: usize| -> PollStep {
            let event = &events[position];
            (event.id.thread, event.site, event.operation.label())
        };
        let middle = events.len() / 2;
        let mut steps: Vec<(PollStep, usize)> = Vec::new();
        for (position, event) in events.iter().enumerate().skip(middle) {
            if matches!(event.operation, Operation::Spawn | Operation::End) {
                return None;
            }
            let step = step(position);
            if let Some((_, times)) = steps.iter_mut().find(|(known, _)| *known == step) {
                *times += 1;
            } else if steps.len() == MAX_STEPS {
                return None;
            } else {
                steps.push((step, 1));
            }
        }
        let polls = |thread: ThreadId| steps.iter().any(|((it, ..), _)| *it == thread);
        let threads = (0..self.threads.len()).map(ThreadId::new);
        let mut others = threads.filter(|&it| !self.has_ended(it) && !polls(it));
        if steps.iter().any(|&(_, times)| times < MIN_ROUNDS)
            || others.any(|thread| self.is_enabled(thread))
        {
            return None;
        }
        let is_part = |position: &usize| {
            let step = step(*position);
            steps.iter().any(|(known, _)| *known == step)
        };
        let before = (0..middle).rev().take_while(is_part).count();
        let from = middle - before;
        Some(Polls {
            from,
            to: from + 2 * steps.len(),
            events: events.len() - from,
        })
    }

    /// True when something is wrong with the events of the rounds themselves.
    fn is_wrong_since(&self, from: usize) -> bool {
        let Execution {
            conflict,
            memory_error,
            panics,
            ..
        } = &self.execution;
        conflict.is_some() || memory_error.is_some() || panics.iter().any(|it| it.after > from)
    }
}

impl<D: Dispatch> World<D> {
    /// Sets the checker that decides whether blocked threads wait for ever.
    pub(crate) fn judging_blocked_threads(mut self, is_blocked: fn(&Execution) -> bool) -> Self {
        self.is_blocked = is_blocked;
        self
    }

    /// Returns the number of events at which the present execution is examined first.
    #[inline]
    pub(super) fn first_look(&self) -> usize {
        let share = self.most_events / SHARE_OF_LIMIT;
        share.max(FIRST_LOOK).min(self.most_events)
    }

    /// Ends the execution if some threads are blocked for ever and the others only poll.
    pub(super) fn stop_beside_polls(&mut self) -> Option<Step> {
        self.looks_from = (2 * self.state.execution.events.len()).min(self.most_events);
        let polls = self.state.polls()?;
        if self.state.is_wrong_since(polls.from) {
            return None;
        }
        self.state.record_pending();
        let is_blocked = (self.is_blocked)(&self.state.execution);
        self.state.execution.pending.clear();
        let strategy = self.strategy.strategy_mut();
        let is_known = |&thread: &ThreadId| strategy.repeats(&self.state, thread) == Repeat::GoOn;
        if !is_blocked || self.state.enabled.iter().any(is_known) {
            return None;
        }
        self.state.execution.polls = Some(polls);
        Some(match strategy.stuck(&self.state) {
            Ok(()) => self.stop(Ending::Deadlock),
            Err(divergence) => self.stop(Ending::Diverged(*divergence)),
        })
    }
}

impl Execution {
    /// Removes all but the first two rounds of threads that poll from the record.
    pub(super) fn keep_two_rounds(&mut self) {
        if let Some(polls) = self.polls {
            self.events.truncate(polls.to);
            self.accesses.retain(|(_, access)| access.after <= polls.to);
        }
    }
}
