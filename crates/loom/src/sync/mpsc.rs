//! Mirrors `std::sync::mpsc`.

pub use raddle::sync::mpsc::{Receiver, Sender, channel};
