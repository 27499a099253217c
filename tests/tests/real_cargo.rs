//! Fresh crates, built and tested with the real cargo as a user's are.

#[path = "../newcomer/support.rs"]
mod support;

mod claims;
mod lock_free;
mod mistakes;
mod newcomer;
mod round_trips;
mod since;
mod tutorial;
mod weakest;
