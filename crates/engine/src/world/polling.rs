//! Threads that outlive the program and poll: they repeatedly wait with a time limit, sleep or
//! yield, and check for work.
//!
//! A real process ends with its program, even while other threads run. An execution lets them
//! finish their work, and would never end if one of them polls for ever. So waits are counted from
//! the end of the program on. A thread polls when it has waited several times at one site, and has
//! had no more events since than between those waits. When every enabled thread polls, the
//! execution is over.
//!
//! Loops that change nothing are found [before that](super::spin), without loss of classes. Threads
//! stopped here might have done more, so such an execution is marked.

use super::strategy::{Dispatch, Repeat};
use super::{State, Step, Thread, World};
use crate::base::ids::{SiteId, ThreadId};
use crate::model::ending::Ending;
use crate::model::event::Event;
use crate::model::operation::Operation;
use crate::object::{Call, condvar};

/// Waits at one site after the end of the program from which on a thread counts as polling. The
/// first round finds the remaining work, the second may differ from later ones, and each further
/// one multiplies the classes of programs with several such threads.
const POLLS: u32 = 3;
/// The same limit with waits before the end of the program included. A search moves the end behind
/// ever more of them, and would never finish without this limit.
const POLLS_IN_ALL: u32 = 12;

/// The waits of one thread at one site.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waits {
    thread: ThreadId,
    site: SiteId,
    /// Number of waits since the end of the program, and in total.
    count: u32,
    in_all: u32,
    /// Number of events of the thread at the last of these waits.
    last: u32,
    /// Largest number of events from one of these waits to the next.
    round: u32,
}

/// True for a sleep, a yield, or a wait that timed out.
fn is_wait(event: &Event) -> bool {
    let timed_out = || match event.operation {
        Operation::Call { call, .. } => {
            matches!(call, Call::Condvar(condvar::Call::Wake { timeout: true }))
                && event.reply.to_answer()
        }
        _ => false,
    };
    event.operation.makes_way() || timed_out()
}

impl State {
    /// True when the thread has only polled since the end of the program.
    pub(crate) fn is_polling(&self, thread: ThreadId) -> bool {
        let events = self.threads[thread.index()].events;
        self.polls.iter().any(|one| {
            let is_enough = one.count >= POLLS || one.in_all >= POLLS_IN_ALL;
            one.thread == thread && is_enough && events - one.last <= one.round
        })
    }

    /// True when the last event is a wait, sleep or yield of this thread.
    pub(crate) fn has_just_waited(&self, thread: ThreadId) -> bool {
        let last = self.execution.events.last();
        last.is_some_and(|event| event.id.thread == thread && is_wait(event))
    }

    /// Counts a wait, sleep or yield: the last of the thread's first `events` events.
    fn add_wait(&mut self, (thread, events): (ThreadId, u32), site: SiteId, count: u32) {
        let mut known = self.polls.iter_mut();
        match known.find(|one| (one.thread, one.site) == (thread, site)) {
            // The same wait, reported twice: a sleep is an event and also a time-out.
            Some(one) if one.last == events => {}
            Some(one) => {
                one.round = one.round.max(events - one.last);
                one.last = events;
                one.count += count;
                one.in_all += 1;
            }
            None => self.polls.push(Waits {
                thread,
                site,
                count,
                in_all: 1,
                last: events,
                round: 0,
            }),
        }
    }
}

impl<D: Dispatch> World<D> {
    /// Marks the end of the program, whether or not its other threads have ended. A second end changes nothing.
    pub fn end_program(&mut self) {
        if std::mem::replace(&mut self.state.execution.is_over, true) {
            return;
        }
        self.looks_from = 0;
        let events = self.state.execution.events.iter();
        let waits: Vec<_> = events.filter(|event| is_wait(event)).copied().collect();
        for Event { id, site, .. } in waits {
            self.state.add_wait((id.thread, id.index + 1), site, 0);
        }
    }

    /// Counts a time-out of the running thread.
    #[inline]
    pub fn note_wait(&mut self, thread: ThreadId) {
        if self.state.execution.is_over {
            let Thread { events, site, .. } = self.state.threads[thread.index()];
            self.state.add_wait((thread, events), site, 1);
        }
    }

    /// Ends the execution if it has too many events, or if only polling threads are enabled after
    /// the end of the program.
    #[cold]
    #[inline(never)]
    pub(super) fn is_at_limit(&mut self) -> Option<Step> {
        if self.state.execution.events.len() >= self.most_events {
            return Some(self.stop(Ending::TooManyEvents));
        }
        if !self.state.execution.is_over {
            return self.stop_beside_polls();
        }
        let last = self.state.execution.events.last().copied();
        if let Some(Event { id, site, .. }) = last.filter(is_wait) {
            self.state.add_wait((id.thread, id.index + 1), site, 1);
        }
        let enabled = &self.state.enabled;
        if !enabled.iter().all(|&thread| self.state.is_polling(thread)) {
            return None;
        }
        let strategy = self.strategy.strategy_mut();
        let is_known = |&thread: &ThreadId| strategy.repeats(&self.state, thread) == Repeat::GoOn;
        if self.state.enabled.iter().any(is_known) {
            return None;
        }
        self.state.execution.left_polling = true;
        Some(match strategy.stuck(&self.state) {
            Ok(()) if self.state.is_discarded() => self.stop(Ending::Discarded),
            Ok(()) => self.stop(self.state.stuck()),
            Err(divergence) => self.stop(Ending::Diverged(*divergence)),
        })
    }
}
