//! Programs in Rust, as they are: which of their functions are the user's, and what the standard library
//! does for them.
//!
//! The user's code is compiled for this, and with it all that is generic; the rest of the standard library
//! is as it came. A reader wants to hear of neither: a thread is spawned, a lock is taken, a message is sent.
//! So every function is put into a [kind](paths::Kind) by its path, and while a thread is inside one of the
//! standard library's, what it does there is [quiet](quiet). Where threads wait for each other, it is an operation
//! ([`sync`]).

pub(crate) mod paths;
pub(crate) mod quiet;
pub(crate) mod regions;
pub(crate) mod sync;
