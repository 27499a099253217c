//! Channels with several senders and one receiver.

use std::fmt;
use std::future::poll_fn;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use raddle_check::protocol::awaits::Wait;
use raddle_engine::object::fair::Access;

use super::fair::Taken;
use super::queue::{Queue, Refused};
use crate::object::Place;

pub use real::sync::mpsc::error;

use error::{SendError, SendTimeoutError, TryRecvError, TrySendError};

/// Creates a channel with room for `buffer` messages.
///
/// # Panics
///
/// If `buffer` is 0.
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    let queue = Queue::new(Some(buffer));
    let place = Location::caller();
    let sender = Sender {
        queue: Arc::clone(&queue),
        place,
    };
    (sender, Receiver::new(queue, place))
}

/// Creates a channel with room for any number of messages.
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let queue = Queue::new(None);
    let place = Location::caller();
    let sender = UnboundedSender {
        queue: Arc::clone(&queue),
        place,
    };
    (sender, UnboundedReceiver::new(queue, place))
}

/// Sends to a bounded channel.
pub struct Sender<T> {
    queue: Arc<Queue<T>>,
    place: Place,
}

impl<T> Sender<T> {
    fn room(&self) -> &super::fair::Fair {
        self.queue.room.as_ref().expect("the channel is bounded")
    }

    /// Sends a message, after waiting for room.
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> + use<'_, T> {
        let place = Location::caller();
        let acquire = self.room().acquire(Access::Permits, 1);
        async move {
            if !acquire.await {
                return Err(SendError(value));
            }
            self.queue.reserve(1);
            self.queue.push_reserved(place, value);
            Ok(())
        }
    }

    /// Sends a message if there is room.
    #[track_caller]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let place = Location::caller();
        match self.room().try_take(place, Access::Permits, 1) {
            Taken::Yes => {
                self.queue.reserve(1);
                self.queue.push_reserved(place, value);
                Ok(())
            }
            Taken::No => Err(TrySendError::Full(value)),
            Taken::Closed => Err(TrySendError::Closed(value)),
        }
    }

    /// Sends a message, after waiting for room no longer than this.
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> + use<'_, T> {
        let reserve = crate::time::timeout(timeout, self.reserve());
        async move {
            match reserve.await {
                Ok(Ok(permit)) => {
                    permit.send(value);
                    Ok(())
                }
                Ok(Err(_)) => Err(SendTimeoutError::Closed(value)),
                Err(_) => Err(SendTimeoutError::Timeout(value)),
            }
        }
    }

    /// Sends a message from a thread that runs no task.
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        raddle::future::__block_on_thread(self.send(value))
    }

    /// Waits for room, and keeps it for one message.
    #[track_caller]
    pub fn reserve(
        &self,
    ) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> + use<'_, T> {
        let place = Location::caller();
        let acquire = self.room().acquire(Access::Permits, 1);
        async move {
            if !acquire.await {
                return Err(SendError(()));
            }
            self.queue.reserve(1);
            Ok(Permit {
                sender: self,
                place,
                is_used: false,
            })
        }
    }

    /// Keeps room for one message, if there is.
    #[track_caller]
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        let place = Location::caller();
        match self.room().try_take(place, Access::Permits, 1) {
            Taken::Yes => {
                self.queue.reserve(1);
                Ok(Permit {
                    sender: self,
                    place,
                    is_used: false,
                })
            }
            Taken::No => Err(TrySendError::Full(())),
            Taken::Closed => Err(TrySendError::Closed(())),
        }
    }

    /// Returns the room that is left.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        self.room().available(Location::caller())
    }

    /// Returns the room of the empty channel.
    pub fn max_capacity(&self) -> usize {
        self.queue.bound
    }

    /// Returns a handle that does not keep the channel open.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender {
            queue: Arc::clone(&self.queue),
        }
    }
}

/// Room for one message.
#[must_use = "the room is returned when the permit is dropped"]
pub struct Permit<'a, T> {
    sender: &'a Sender<T>,
    place: Place,
    is_used: bool,
}

impl<T> Permit<'_, T> {
    /// Sends a message.
    #[track_caller]
    pub fn send(mut self, value: T) {
        self.is_used = true;
        self.sender.queue.push_reserved(Location::caller(), value);
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        if !self.is_used {
            self.sender.queue.return_room(self.place, 1);
        }
    }
}

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

/// Sends to an unbounded channel.
pub struct UnboundedSender<T> {
    queue: Arc<Queue<T>>,
    place: Place,
}

impl<T> UnboundedSender<T> {
    /// Sends a message.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let sent = self.queue.push(Location::caller(), value);
        sent.map_err(|Refused(value)| SendError(value))
    }

    /// Returns a handle that does not keep the channel open.
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender {
            queue: Arc::clone(&self.queue),
        }
    }
}

/// A handle of a bounded channel that does not keep it open.
pub struct WeakSender<T> {
    queue: Arc<Queue<T>>,
}

/// A handle of an unbounded channel that does not keep it open.
pub struct WeakUnboundedSender<T> {
    queue: Arc<Queue<T>>,
}

macro_rules! senders {
    ($($sender:ident, $weak:ident;)*) => {$(
        impl<T> $sender<T> {
            /// True when the receiver was closed or dropped.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.queue.is_closed(Location::caller())
            }

            /// Waits until the receiver is closed or dropped.
            #[track_caller]
            pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
                let (place, mut wait) = (Location::caller(), Wait::new());
                poll_fn(move |context| self.queue.poll_closed(place, &mut wait, context))
            }

            /// True when both send to the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.queue, &other.queue)
            }
        }

        impl<T> Clone for $sender<T> {
            #[track_caller]
            fn clone(&self) -> Self {
                let place = Location::caller();
                self.queue.add_sender(place);
                $sender { queue: Arc::clone(&self.queue), place }
            }
        }

        impl<T> Drop for $sender<T> {
            fn drop(&mut self) {
                self.queue.remove_sender(self.place);
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender)).finish_non_exhaustive()
            }
        }

        impl<T> $weak<T> {
            /// Returns a sender, if one is left.
            #[track_caller]
            pub fn upgrade(&self) -> Option<$sender<T>> {
                let place = Location::caller();
                self.queue.upgrade(place).then(|| $sender {
                    queue: Arc::clone(&self.queue),
                    place,
                })
            }
        }

        impl<T> Clone for $weak<T> {
            fn clone(&self) -> Self {
                $weak { queue: Arc::clone(&self.queue) }
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($weak)).finish_non_exhaustive()
            }
        }
    )*};
}
senders! {
    Sender, WeakSender;
    UnboundedSender, WeakUnboundedSender;
}

/// Receives from a bounded channel.
pub struct Receiver<T> {
    queue: Arc<Queue<T>>,
    place: Place,
    wait: Wait,
}

/// Receives from an unbounded channel.
pub struct UnboundedReceiver<T> {
    queue: Arc<Queue<T>>,
    place: Place,
    wait: Wait,
}

impl<T> Receiver<T> {
    /// Returns the room that is left.
    #[track_caller]
    pub fn capacity(&self) -> usize {
        let room = self.queue.room.as_ref().expect("the channel is bounded");
        room.available(Location::caller())
    }

    /// Returns the room of the empty channel.
    pub fn max_capacity(&self) -> usize {
        self.queue.bound
    }
}

macro_rules! receivers {
    ($($receiver:ident),*) => {$(
        impl<T> $receiver<T> {
            fn new(queue: Arc<Queue<T>>, place: Place) -> Self {
                $receiver { queue, place, wait: Wait::new() }
            }

            /// Receives a message; `None` when the channel is empty and closed, or no sender is left.
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> + use<'_, T> {
                let place = Location::caller();
                let mut wait = Wait::new();
                poll_fn(move |context| self.queue.poll_pop(place, &mut wait, context))
            }

            /// Receives a message, if there is one now.
            #[track_caller]
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.queue.pop(Location::caller())
            }

            /// Receives at least one and at most `limit` messages; returns their number, 0 when the channel
            /// has ended or `limit` is 0.
            #[track_caller]
            pub fn recv_many<'a>(
                &'a mut self,
                buffer: &'a mut Vec<T>,
                limit: usize,
            ) -> impl Future<Output = usize> + use<'a, T> {
                let place = Location::caller();
                let first = (limit > 0).then(|| Wait::new());
                async move {
                    let Some(mut wait) = first else { return 0 };
                    let first = poll_fn(|context| self.queue.poll_pop(place, &mut wait, context));
                    let Some(first) = first.await else { return 0 };
                    buffer.push(first);
                    let mut received = 1;
                    while received < limit {
                        let Ok(next) = self.queue.pop(place) else { break };
                        buffer.push(next);
                        received += 1;
                    }
                    received
                }
            }

            /// Receives a message from a thread that runs no task.
            #[track_caller]
            pub fn blocking_recv(&mut self) -> Option<T> {
                raddle::future::__block_on_thread(self.recv())
            }

            /// Polls for a message.
            #[track_caller]
            pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
                self.queue.poll_pop(Location::caller(), &mut self.wait, context)
            }

            /// Refuses further messages; those that were sent or for which room was kept can be received.
            #[track_caller]
            pub fn close(&mut self) {
                self.queue.close(Location::caller());
            }

            /// True when the channel is closed, or no sender is left.
            #[track_caller]
            pub fn is_closed(&self) -> bool {
                self.queue.has_ended(Location::caller())
            }

            /// Returns the number of messages.
            #[track_caller]
            pub fn len(&self) -> usize {
                self.queue.len(Location::caller())
            }

            /// True when there is no message.
            #[track_caller]
            pub fn is_empty(&self) -> bool {
                self.queue.len(Location::caller()) == 0
            }
        }

        impl<T> Drop for $receiver<T> {
            fn drop(&mut self) {
                self.queue.leave(self.place);
            }
        }

        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($receiver)).finish_non_exhaustive()
            }
        }
    )*};
}
receivers!(Receiver, UnboundedReceiver);
