//! Notifications of tasks.

use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::serial::{Call, Serial};

use crate::object::{Place, Shared, State, set_waker, wake_all};

/// Notifies one task or all that wait, as `tokio::sync::Notify`.
pub struct Notify(Shared<NotifyState>);

struct NotifyState {
    has_permit: bool,
    /// Number of notifications of all waiters.
    rounds: u64,
    waiters: u64,
    queue: VecDeque<Waiter>,
    /// Waiters that one notification each has reached, and that have not been polled since.
    notified: Vec<(u64, Order)>,
}

struct Waiter {
    number: u64,
    waker: Option<Waker>,
}

/// The end of the queue from which a notification took a waiter.
#[derive(Clone, Copy)]
enum Order {
    First,
    Last,
}

impl State for NotifyState {
    fn object(&self) -> Object {
        Object::Serial(Serial)
    }
}

impl NotifyState {
    const fn new() -> Self {
        NotifyState {
            has_permit: false,
            rounds: 0,
            waiters: 0,
            queue: VecDeque::new(),
            notified: Vec::new(),
        }
    }

    fn notify(&mut self, order: Order) -> Option<Waker> {
        let waiter = match order {
            Order::First => self.queue.pop_front(),
            Order::Last => self.queue.pop_back(),
        };
        match waiter {
            Some(waiter) => {
                self.notified.push((waiter.number, order));
                waiter.waker
            }
            None => {
                self.has_permit = true;
                None
            }
        }
    }
}

impl Notify {
    /// Creates one without a permit.
    #[track_caller]
    pub fn new() -> Self {
        Notify(Shared::new("Notify", NotifyState::new()))
    }

    /// Creates one in a constant; a check refuses it.
    #[track_caller]
    pub const fn const_new() -> Self {
        Notify(Shared::new_const("Notify", NotifyState::new()))
    }

    /// Returns a future that waits for a notification. It receives `notify_waiters` from now on, and has a
    /// place in the queue once it was polled or [enabled](Notified::enable).
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        let place = Location::caller();
        let rounds = self.0.call(place, Call::Subscribe).0.rounds;
        Notified {
            notify: self,
            place,
            rounds,
            progress: Progress::New,
            wait: Wait::new(),
        }
    }

    /// Notifies the first waiter; without one, the next task that waits.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify_from(Order::First, Location::caller());
    }

    /// Notifies the last waiter; without one, the next task that waits.
    #[track_caller]
    pub fn notify_last(&self) {
        self.notify_from(Order::Last, Location::caller());
    }

    fn notify_from(&self, order: Order, place: Place) {
        let (mut state, _) = self.0.call(place, Call::NotifyOne);
        let waker = state.notify(order);
        drop(state);
        wake_all(waker);
    }

    /// Notifies all waiters, and no later one.
    #[track_caller]
    pub fn notify_waiters(&self) {
        let (mut state, _) = self.0.call(Location::caller(), Call::NotifyAll);
        state.rounds += 1;
        let waiters = std::mem::take(&mut state.queue);
        drop(state);
        wake_all(waiters.into_iter().filter_map(|waiter| waiter.waker));
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

/// The future of [`Notify::notified`].
#[must_use = "futures do nothing unless they are awaited or polled"]
pub struct Notified<'a> {
    notify: &'a Notify,
    place: Place,
    /// Number of notifications of all waiters when the future was made.
    rounds: u64,
    progress: Progress,
    wait: Wait,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    New,
    Queued(u64),
    Done,
}

impl Notified<'_> {
    /// Becomes a waiter without waiting; true if a notification has come.
    pub fn enable(self: Pin<&mut Self>) -> bool {
        self.get_mut().look(None)
    }

    /// Looks for a notification, and becomes a waiter if there is none.
    fn look(&mut self, waker: Option<&Waker>) -> bool {
        if self.progress == Progress::Done {
            return true;
        }
        let (mut state, _) = self.notify.0.call(self.place, Call::Wait);
        let is_notified = match self.progress {
            _ if state.rounds != self.rounds => true,
            Progress::New => std::mem::take(&mut state.has_permit),
            Progress::Queued(number) => state
                .notified
                .iter()
                .any(|(notified, _)| *notified == number),
            Progress::Done => true,
        };
        if is_notified {
            if let Progress::Queued(number) = self.progress {
                state.notified.retain(|(notified, _)| *notified != number);
            }
            self.progress = Progress::Done;
            return true;
        }
        let number = match self.progress {
            Progress::Queued(number) => number,
            _ => {
                let number = state.waiters;
                state.waiters += 1;
                state.queue.push_back(Waiter {
                    number,
                    waker: None,
                });
                number
            }
        };
        self.progress = Progress::Queued(number);
        if let Some(waker) = waker {
            let waiter = state.queue.iter_mut().find(|one| one.number == number);
            set_waker(&mut waiter.expect("it waits").waker, waker);
        }
        false
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.look(Some(context.waker())) {
            this.wait.end();
            return Poll::Ready(());
        }
        this.notify
            .0
            .declare(&mut this.wait, this.place, Call::Wait);
        Poll::Pending
    }
}

/// A waiter that a single notification has reached passes it on.
impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Progress::Queued(number) = self.progress else {
            return;
        };
        let (mut state, _) = self.notify.0.call(self.place, Call::Cancel);
        state.queue.retain(|waiter| waiter.number != number);
        let reached = state.notified.iter().position(|(one, _)| *one == number);
        let waker = reached.and_then(|index| {
            let (_, order) = state.notified.remove(index);
            state.notify(order)
        });
        drop(state);
        wake_all(waker);
    }
}
