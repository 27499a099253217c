//! Wait/notify pairs: waits, and the events that unblocked them.
//!
//! `wait-notify(l1, l2)`: the event at l1 unblocks a thread that waits, or could wait, at l2:
//!
//! - a condition variable: the notification at l1 reached the thread that waits at l2. A wait that
//!   timed out or ended spuriously has none;
//! - a monitor: the signal at l1 reached the thread that waited at l2;
//! - `park`: the token taken at l2 was left at l1, by the last `unpark` before it;
//! - a semaphore: a release at l1 was the last operation on it before the permit was taken at l2;
//! - messages: the message received at l2 was sent at l1, in a channel or a port.
//!
//! Barriers and `Once` unblock threads too, but always from one source location.

use super::board::{Board, Interaction};
use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::base::reply::{Exchange, Grant, Received};
use crate::model::event::Event;
use crate::model::operation::Operation;
use crate::object::{Call, channel, condvar, monitor, parker, semaphore};

/// A thread that waits for a condition, and the source location of its notification.
type Waiter = (ThreadId, u32, Option<SiteId>);

#[derive(Clone, Debug, Default)]
struct WaitPoint {
    waiters: Vec<Waiter>,
    /// Source location of the last release or token, if nothing has been taken since.
    left: Option<SiteId>,
    /// Source locations of sends, by message number.
    sent: Vec<SiteId>,
}

/// Waiting threads of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakes {
    /// By object.
    places: Vec<WaitPoint>,
}

impl Wakes {
    pub(crate) fn reset(&mut self) {
        for place in &mut self.places {
            place.waiters.clear();
            place.left = None;
            place.sent.clear();
        }
    }

    fn place(&mut self, object: ObjectId) -> &mut WaitPoint {
        if object.index() >= self.places.len() {
            self.places
                .resize_with(object.index() + 1, WaitPoint::default);
        }
        &mut self.places[object.index()]
    }

    /// Records a call or a receive, with the source location of its source.
    #[inline]
    pub(crate) fn see(&mut self, event: &Event, source: Option<SiteId>, board: &mut Board) {
        match event.operation {
            Operation::Call { object, call } => match call {
                Call::Condvar(call) => self.place(object).condvar(call, event, board),
                Call::Monitor(call) => self.place(object).monitor(call, event, board),
                Call::Parker(call) => self.place(object).parker(call, event, board),
                Call::Semaphore(call) => self.place(object).semaphore(call, event, board),
                Call::Channel(call) => self.place(object).channel(call, event, board),
                _ => {}
            },
            Operation::Receive { .. } => {
                if let (Received::Message { .. }, Some(sent)) = (event.reply.to_received(), source)
                {
                    board.cover(Interaction::Wakes, sent, event.site);
                }
            }
            _ => {}
        }
    }
}

impl WaitPoint {
    fn condvar(&mut self, call: condvar::Call, event: &Event, board: &mut Board) {
        let thread = event.id.thread;
        match call {
            condvar::Call::Wait { .. } => {
                self.waiters.retain(|waiter| waiter.0 != thread);
                if !event.reply.to_answer() {
                    self.waiters.push((thread, 0, None));
                }
            }
            condvar::Call::Wake { .. } => self.resume(event, board),
            condvar::Call::NotifyOne => self.notify(0, event.outcome.waiter(), event.site),
            condvar::Call::NotifyAll => self.notify_all(0, event.site),
        }
    }

    fn monitor(&mut self, call: monitor::Call, event: &Event, board: &mut Board) {
        match call {
            monitor::Call::Wait(condition) => {
                self.waiters.push((event.id.thread, condition, None));
            }
            monitor::Call::Resume => self.resume(event, board),
            monitor::Call::Signal(condition) => self.notify(condition, 0, event.site),
            monitor::Call::SignalAll(condition) => self.notify_all(condition, event.site),
            monitor::Call::Enter | monitor::Call::Exit | monitor::Call::Waiting(_) => {}
        }
    }

    /// Notifies one of the threads that wait and have not been notified.
    fn notify(&mut self, condition: u32, which: usize, site: SiteId) {
        let mut waiting = self.not_notified(condition);
        if let Some(waiter) = waiting.nth(which) {
            waiter.2 = Some(site);
        }
    }

    fn notify_all(&mut self, condition: u32, site: SiteId) {
        self.not_notified(condition)
            .for_each(|waiter| waiter.2 = Some(site));
    }

    fn not_notified(&mut self, condition: u32) -> impl Iterator<Item = &mut Waiter> {
        let waiters = self.waiters.iter_mut();
        waiters.filter(move |waiter| waiter.1 == condition && waiter.2.is_none())
    }

    fn resume(&mut self, event: &Event, board: &mut Board) {
        let mut waiters = self.waiters.iter();
        if let Some(one) = waiters.position(|waiter| waiter.0 == event.id.thread) {
            let (_, _, notified) = self.waiters.remove(one);
            if let Some(site) = notified {
                board.cover(Interaction::Wakes, site, event.site);
            }
        }
    }

    fn parker(&mut self, call: parker::Call, event: &Event, board: &mut Board) {
        match call {
            parker::Call::Unpark => self.left = Some(event.site),
            parker::Call::Park { .. } => {
                if !event.reply.to_answer() {
                    self.take_left(event, board);
                }
            }
        }
    }

    fn semaphore(&mut self, call: semaphore::Call, event: &Event, board: &mut Board) {
        let refused = matches!(
            Call::Semaphore(call).grant(event.reply),
            Some(Grant::Refused)
        );
        match call {
            semaphore::Call::Release => self.left = Some(event.site),
            _ if refused => {}
            _ => self.take_left(event, board),
        }
    }

    fn take_left(&mut self, event: &Event, board: &mut Board) {
        if let Some(site) = self.left.take() {
            board.cover(Interaction::Wakes, site, event.site);
        }
    }

    fn channel(&mut self, call: channel::Call, event: &Event, board: &mut Board) {
        let Some(answer) = event.reply.as_exchange() else {
            return;
        };
        match (call, answer) {
            (
                channel::Call::Send | channel::Call::TrySend,
                Exchange::Message(number) | Exchange::Offered(number),
            ) => {
                debug_assert_eq!(number as usize, self.sent.len());
                self.sent.push(event.site);
            }
            (
                channel::Call::Receive | channel::Call::Accept { .. } | channel::Call::TryReceive,
                Exchange::Message(number),
            ) => {
                if let Some(&sent) = self.sent.get(number as usize) {
                    board.cover(Interaction::Wakes, sent, event.site);
                }
            }
            _ => {}
        }
    }
}
