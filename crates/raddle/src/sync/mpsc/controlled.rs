//! The sending ends, each std's or controlled inside a check.

use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::sync::mpsc as std_mpsc;

use super::receiver::ReceiverEnd;
use super::{SendError, TrySendError, bounded, unbounded};
use crate::mailbox::check_outside;
use raddle_check::runtime::{Made, current};

pub use super::receiver::{IntoIter, Iter, Receiver, TryIter};

#[track_caller]
fn made() -> Made {
    Made {
        kind: "Channel",
        place: Location::caller(),
    }
}

/// Creates a channel whose senders never wait, as [`std::sync::mpsc::channel`].
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let made = made();
    let (end, receiver) = match current() {
        None => {
            let (sender, receiver) = std_mpsc::channel();
            (SenderEnd::Outside(sender), ReceiverEnd::Outside(receiver))
        }
        Some(context) => {
            let (sender, receiver) = unbounded::channel(context, made);
            (SenderEnd::Inside(sender), ReceiverEnd::Unbounded(receiver))
        }
    };
    (Sender { made, end }, Receiver::new(made, receiver))
}

/// Creates a channel whose senders wait while `bound` messages are waiting, or if that is 0 until
/// their message is received, as [`std::sync::mpsc::sync_channel`].
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let made = made();
    let (end, receiver) = match current() {
        None => {
            let (sender, receiver) = std_mpsc::sync_channel(bound);
            (SenderEnd::Outside(sender), ReceiverEnd::Outside(receiver))
        }
        Some(context) => {
            let (sender, receiver) = bounded::channel(context, made, bound);
            (SenderEnd::Inside(sender), ReceiverEnd::Bounded(receiver))
        }
    };
    (SyncSender { made, end }, Receiver::new(made, receiver))
}

/// An end that was created outside or inside a check.
enum SenderEnd<O, I> {
    Outside(O),
    Inside(I),
}

/// The sending end, as [`std::sync::mpsc::Sender`].
pub struct Sender<T> {
    made: Made,
    end: SenderEnd<std_mpsc::Sender<T>, unbounded::Sender<T>>,
}

impl<T> Sender<T> {
    /// Sends a message; returns an error if the receiver was dropped.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        match &self.end {
            SenderEnd::Outside(sender) => {
                check_outside(self.made);
                sender.send(t)
            }
            SenderEnd::Inside(sender) => sender.send(t, Location::caller()),
        }
    }
}

/// The sending end of a bounded channel, as [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T> {
    made: Made,
    end: SenderEnd<std_mpsc::SyncSender<T>, bounded::Sender<T>>,
}

impl<T> SyncSender<T> {
    /// Sends a message, after waiting for room, or for the receiver if there is no buffer; returns
    /// an error if the receiver was dropped.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        match &self.end {
            SenderEnd::Outside(sender) => {
                check_outside(self.made);
                sender.send(t)
            }
            SenderEnd::Inside(sender) => sender.send(t, Location::caller()),
        }
    }

    /// Sends a message if no wait is needed; returns an error if one is, or if the receiver was
    /// dropped.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        match &self.end {
            SenderEnd::Outside(sender) => {
                check_outside(self.made);
                sender.try_send(t)
            }
            SenderEnd::Inside(sender) => sender.try_send(t, Location::caller()),
        }
    }
}

// As in std: no thread observes a channel that is half changed.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let end = match &self.end {
            SenderEnd::Outside(sender) => SenderEnd::Outside(sender.clone()),
            SenderEnd::Inside(sender) => SenderEnd::Inside(sender.clone(Location::caller())),
        };
        let made = self.made;
        Sender { made, end }
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        let end = match &self.end {
            SenderEnd::Outside(sender) => SenderEnd::Outside(sender.clone()),
            SenderEnd::Inside(sender) => SenderEnd::Inside(sender.clone(Location::caller())),
        };
        let made = self.made;
        SyncSender { made, end }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}
