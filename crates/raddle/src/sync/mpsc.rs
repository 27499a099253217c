//! Mirrors `std::sync::mpsc`: channels from many senders to one receiver.
//!
//! Without feature `check` all items here are std's own. With it, a channel created inside a check
//! is controlled, and one created outside is std's. A channel created outside cannot be used inside
//! a check.
//!
//! The engine explores:
//!
//! - the order in which the messages of different senders arrive,
//! - the results of calls that do not wait (`try_recv`, `try_send`), or that may time out
//!   (`recv_timeout`, unless `Checker::timeouts` is off),
//! - whether an end has been dropped when the other end is used.

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

#[cfg(feature = "check")]
pub use controlled::{
    IntoIter, Iter, Receiver, Sender, SyncSender, TryIter, channel, sync_channel,
};
#[cfg(not(feature = "check"))]
pub use std::sync::mpsc::{
    IntoIter, Iter, Receiver, Sender, SyncSender, TryIter, channel, sync_channel,
};

#[cfg(feature = "check")]
mod bounded;
#[cfg(feature = "check")]
mod controlled;
#[cfg(feature = "check")]
mod receiver;
#[cfg(feature = "check")]
mod unbounded;
