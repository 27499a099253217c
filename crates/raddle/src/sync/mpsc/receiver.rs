//! The receiving end, std's or controlled inside a check, and its iterators.

use std::cell::Cell;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use super::{RecvError, RecvTimeoutError, TryRecvError, bounded, unbounded};
use crate::labelled::{Labelled, Thing};
use crate::mailbox::{Messages, check_outside};
use raddle_check::protocol::channel::Polled;
use raddle_check::runtime::{Made, current};

/// The receiving end, as [`std::sync::mpsc::Receiver`].
pub struct Receiver<T> {
    made: Made,
    end: ReceiverEnd<T>,
}

/// The end, created outside or inside a check.
pub(super) enum ReceiverEnd<T> {
    Outside(std_mpsc::Receiver<T>),
    Unbounded(unbounded::Receiver<T>),
    Bounded(bounded::Receiver<T>),
}

impl<T> Receiver<T> {
    pub(super) fn new(made: Made, end: ReceiverEnd<T>) -> Self {
        Receiver { made, end }
    }

    /// Receives the next message, after waiting for one; returns an error if all senders were
    /// dropped.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let place = Location::caller();
        match &self.end {
            ReceiverEnd::Outside(receiver) => {
                check_outside(self.made);
                receiver.recv()
            }
            ReceiverEnd::Unbounded(receiver) => receiver.receive(place),
            ReceiverEnd::Bounded(receiver) => receiver.receive(place),
        }
    }

    /// Receives the next message if there is one; returns an error if there is none, or if all
    /// senders were dropped.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let place = Location::caller();
        match &self.end {
            ReceiverEnd::Outside(receiver) => {
                check_outside(self.made);
                receiver.try_recv()
            }
            ReceiverEnd::Unbounded(receiver) => receiver.try_receive(place),
            ReceiverEnd::Bounded(receiver) => receiver.try_receive(place),
        }
    }

    /// Receives the next message, waiting for `timeout` at most; returns an error if there is none
    /// by then, or if all senders were dropped.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let place = Location::caller();
        let received = match &self.end {
            ReceiverEnd::Outside(receiver) => {
                check_outside(self.made);
                return receiver.recv_timeout(timeout);
            }
            ReceiverEnd::Unbounded(receiver) => receiver.receive_timeout(place),
            ReceiverEnd::Bounded(receiver) => receiver.receive_timeout(place),
        };
        if let (Err(RecvTimeoutError::Timeout), Some(context)) = (&received, current()) {
            context.apart(|| context.pass_time(timeout));
        }
        received
    }

    /// Returns an iterator over the messages, which waits for each, until all senders were dropped.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// Returns an iterator over the messages that need no wait.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

/// Returns the message of a receive, or the reason why there is none; records that the channel is
/// disconnected.
pub(super) fn received<T>(
    polled: Polled,
    messages: &Messages<T>,
    disconnected: &Cell<bool>,
) -> Result<T, TryRecvError> {
    match polled {
        Polled::Message(number) => Ok(messages.take(number)),
        Polled::Empty => Err(TryRecvError::Empty),
        Polled::Disconnected => {
            disconnected.set(true);
            Err(TryRecvError::Disconnected)
        }
    }
}

/// Returns the error of a receive that timed out, given the error of one that does not wait.
pub(super) fn without_wait(error: TryRecvError) -> RecvTimeoutError {
    match error {
        TryRecvError::Empty => RecvTimeoutError::Timeout,
        TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
    }
}

/// An iterator over messages, as [`std::sync::mpsc::Iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// An iterator over the messages that need no wait, as [`std::sync::mpsc::TryIter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// An iterator over messages that owns the receiver, as [`std::sync::mpsc::IntoIter`].
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}

// As in std: no thread observes a channel that is half changed.
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

/// Names the channel.
impl<T> Labelled for Receiver<T> {
    fn thing(&self) -> Thing<'_> {
        match &self.end {
            ReceiverEnd::Outside(_) => Thing::elsewhere(),
            ReceiverEnd::Unbounded(receiver) => receiver.thing(),
            ReceiverEnd::Bounded(receiver) => receiver.thing(),
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}
