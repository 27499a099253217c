//! Ports: messages from many senders to one receiver, and a selection among several ports.
//!
//! A [`Port`] is created for one receiver, which has the port itself; [`Port::sender`] returns
//! sending ends. The wait of a sender is chosen when the port is created: none
//! ([`Port::asynchronous`]), until its message has been received ([`Port::synchronous`]), or for
//! room ([`Port::bounded`]). [`select!`](crate::select) waits at several ports at once.
//!
//! Ports are never closed: a receive without a send waits for ever, and so does a synchronous send
//! without a receive. Inside a check that is reported as a deadlock. Messages that no thread
//! receives are dropped with the last end of the port. Where the end of a conversation matters, use
//! [`sync::mpsc`](crate::sync::mpsc).
//!
//! ```
//! use raddle::port::Port;
//!
//! let (deposit, withdraw) = (Port::synchronous(), Port::synchronous());
//! let (depositor, withdrawer) = (deposit.sender(), withdraw.sender());
//! std::thread::scope(|scope| {
//!     scope.spawn(move || [1, 2, 3].map(|coin: u32| depositor.send(coin)));
//!     scope.spawn(move || (0..3).for_each(|_| withdrawer.send(())));
//!     let mut purse = Vec::new();
//!     for _ in 0..6 {
//!         raddle::select! {
//!             coin = deposit.receive(), when purse.len() < 2 => purse.push(coin),
//!             () = withdraw.receive(), when !purse.is_empty() => drop(purse.pop()),
//!         }
//!     }
//!     assert!(purse.is_empty());
//! });
//! ```
//!
//! # Order
//!
//! The messages of one thread to one port are received in the order of their sends. Those of
//! different threads may overtake each other, as on a network. Inside a check the order is one of
//! the choices that the engine explores, so that no test passes by an order that is not guaranteed.
//! Outside one, the message that arrived first is received first.

#[doc(hidden)]
#[path = "port/select.rs"]
pub mod __select;
#[cfg(feature = "check")]
mod controlled;

#[cfg(not(feature = "check"))]
pub use crate::plain::port::{Port, Sender};
pub use crate::select;
#[cfg(feature = "check")]
pub use controlled::{Port, Sender};

#[cfg(test)]
mod tests;
