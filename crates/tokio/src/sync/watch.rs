//! A channel that keeps the last value only.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use raddle::sync::{RwLock, RwLockReadGuard};
use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::Object;
use raddle_engine::object::serial::{Call, Serial};

use crate::object::{Place, Shared, State, wake_all};

/// Errors of the channel.
pub mod error {
    pub use crate::sync::errors::RecvError;
    pub use real::sync::watch::error::SendError;
}

use error::{RecvError, SendError};

struct Watched<T> {
    /// A reader blocks writers, as in tokio: a [`Ref`] that is held across `.await` can deadlock.
    value: RwLock<T>,
    shared: Shared<WatchState>,
}

struct WatchState {
    /// Number of values that were sent; changed only by a task that writes the value.
    version: u64,
    senders: usize,
    receivers: usize,
    changed: Vec<Waker>,
    closed: Vec<Waker>,
}

impl State for WatchState {
    fn object(&self) -> Object {
        Object::Serial(Serial)
    }
}

/// Creates a channel with a first value, which receivers have seen.
#[track_caller]
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let place = Location::caller();
    let sender = Sender::new(init);
    sender.watched.shared.state().receivers = 1;
    let receiver = Receiver {
        watched: Arc::clone(&sender.watched),
        seen: 0,
        place,
    };
    (sender, receiver)
}

/// A reference to the value, which keeps senders out.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

impl<T> Ref<'_, T> {
    /// True when the receiver had not seen the value.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Watched<T> {
    #[track_caller]
    fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends values.
pub struct Sender<T> {
    watched: Arc<Watched<T>>,
    place: Place,
}

impl<T> Sender<T> {
    /// Creates a sender without receivers.
    #[track_caller]
    pub fn new(init: T) -> Self {
        let state = WatchState {
            version: 0,
            senders: 1,
            receivers: 0,
            changed: Vec::new(),
            closed: Vec::new(),
        };
        Sender {
            watched: Arc::new(Watched {
                value: RwLock::new(init),
                shared: Shared::new("watch", state),
            }),
            place: Location::caller(),
        }
    }

    /// Sends a value, or returns it if there is no receiver.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.receiver_count() == 0 {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Changes the value.
    #[track_caller]
    pub fn send_modify<F: FnOnce(&mut T)>(&self, modify: F) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// Changes the value; receivers are notified if the function returns true.
    #[track_caller]
    pub fn send_if_modified<F: FnOnce(&mut T) -> bool>(&self, modify: F) -> bool {
        let place = Location::caller();
        let value = self.watched.value.write();
        let mut value = value.unwrap_or_else(PoisonError::into_inner);
        if !modify(&mut value) {
            return false;
        }
        let (mut state, _) = self.watched.shared.call(place, Call::Send);
        state.version += 1;
        let changed = std::mem::take(&mut state.changed);
        drop(state);
        drop(value);
        wake_all(changed);
        true
    }

    /// Sends a value, with or without receivers; returns the one before.
    #[track_caller]
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|old| std::mem::swap(old, &mut value));
        value
    }

    /// Returns a reference to the value.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref {
            value: self.watched.read(),
            has_changed: false,
        }
    }

    /// True when there is no receiver.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// Waits until there is no receiver.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
        let (place, mut wait) = (Location::caller(), Wait::new());
        std::future::poll_fn(move |context| {
            let shared = &self.watched.shared;
            let (mut state, _) = shared.call(place, Call::Receive);
            if state.receivers == 0 {
                wait.end();
                return Poll::Ready(());
            }
            state.closed.push(context.waker().clone());
            drop(state);
            shared.declare(&mut wait, place, Call::Receive);
            Poll::Pending
        })
    }

    /// Returns a receiver that has seen the value.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        let place = Location::caller();
        let (mut state, _) = self.watched.shared.call(place, Call::Subscribe);
        state.receivers += 1;
        let seen = state.version;
        drop(state);
        Receiver {
            watched: Arc::clone(&self.watched),
            seen,
            place,
        }
    }

    /// Returns the number of receivers.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        let (state, _) = self.watched.shared.call(Location::caller(), Call::Look);
        state.receivers
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let place = Location::caller();
        self.watched.shared.call(place, Call::Clone).0.senders += 1;
        Sender {
            watched: Arc::clone(&self.watched),
            place,
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let (mut state, _) = self.watched.shared.call(self.place, Call::Drop);
        state.senders -= 1;
        let changed = match state.senders {
            0 => std::mem::take(&mut state.changed),
            _ => Vec::new(),
        };
        drop(state);
        wake_all(changed);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// Receives the last value.
pub struct Receiver<T> {
    watched: Arc<Watched<T>>,
    /// The version that was seen last.
    seen: u64,
    place: Place,
}

impl<T> Receiver<T> {
    /// Returns a reference to the value, without seeing it.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.watched.read();
        // The version changes only while the value is written.
        let version = self.watched.shared.state().version;
        Ref {
            value,
            has_changed: version != self.seen,
        }
    }

    /// Returns a reference to the value, which is seen then.
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.watched.read();
        let version = self.watched.shared.state().version;
        let seen = std::mem::replace(&mut self.seen, version);
        Ref {
            value,
            has_changed: version != seen,
        }
    }

    /// True when there is a value that was not seen.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let (state, _) = self.watched.shared.call(Location::caller(), Call::Receive);
        match state.senders {
            0 => Err(RecvError(())),
            _ => Ok(state.version != self.seen),
        }
    }

    /// Counts the value as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.seen.wrapping_sub(1);
    }

    /// Counts the value as seen.
    #[track_caller]
    pub fn mark_unchanged(&mut self) {
        let (state, _) = self.watched.shared.call(Location::caller(), Call::Look);
        let version = state.version;
        drop(state);
        self.seen = version;
    }

    /// Waits for a value that was not seen, and sees it.
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> + use<'_, T> {
        let (place, mut wait) = (Location::caller(), Wait::new());
        std::future::poll_fn(move |context| {
            Self::poll_changed(&self.watched, &mut self.seen, place, &mut wait, context)
        })
    }

    fn poll_changed(
        watched: &Watched<T>,
        seen: &mut u64,
        place: Place,
        wait: &mut Wait,
        context: &Context<'_>,
    ) -> Poll<Result<(), RecvError>> {
        let (mut state, _) = watched.shared.call(place, Call::Receive);
        if state.version != *seen {
            *seen = state.version;
            wait.end();
            return Poll::Ready(Ok(()));
        }
        if state.senders == 0 {
            wait.end();
            return Poll::Ready(Err(RecvError(())));
        }
        state.changed.push(context.waker().clone());
        drop(state);
        watched.shared.declare(wait, place, Call::Receive);
        Poll::Pending
    }

    /// Waits for a value for which the function returns true, and sees it.
    #[track_caller]
    pub fn wait_for<'a, F: FnMut(&T) -> bool>(
        &'a mut self,
        mut is_it: F,
    ) -> impl Future<Output = Result<Ref<'a, T>, RecvError>> + use<'a, T, F> {
        let place = Location::caller();
        async move {
            let Receiver { watched, seen, .. } = self;
            let watched: &'a Watched<T> = watched;
            let mut is_closed = false;
            loop {
                let value = watched.read();
                let version = watched.shared.state().version;
                let has_changed = std::mem::replace(seen, version) != version;
                if is_it(&value) {
                    return Ok(Ref { value, has_changed });
                }
                drop(value);
                if is_closed {
                    return Err(RecvError(()));
                }
                let mut wait = Wait::new();
                let changed = std::future::poll_fn(|context| {
                    Self::poll_changed(watched, seen, place, &mut wait, context)
                });
                // The last value may have come before the last sender was dropped.
                is_closed = changed.await.is_err();
            }
        }
    }

    /// True when both receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.watched, &other.watched)
    }
}

impl<T> Clone for Receiver<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let place = Location::caller();
        self.watched.shared.call(place, Call::Clone).0.receivers += 1;
        Receiver {
            watched: Arc::clone(&self.watched),
            seen: self.seen,
            place,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let (mut state, _) = self.watched.shared.call(self.place, Call::Drop);
        state.receivers -= 1;
        let closed = match state.receivers {
            0 => std::mem::take(&mut state.closed),
            _ => Vec::new(),
        };
        drop(state);
        wake_all(closed);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
