//! What each controlled type does, and how it behaves outside checks.
//!
//! One program for all of them: to build one for each would take longer than to run them.

mod barrier;
mod cell;
mod condvar;
mod elapsed;
mod foreign;
mod future;
mod message_unwinding;
mod mpsc;
mod mpsc_outside;
mod once;
mod outside;
mod parity;
mod park;
mod port;
mod rwlock;
mod statics;
mod statics_dropped;
mod std_locals;
mod time;
mod tracked_arc;
mod unwinding;
mod waiting_writers;
mod weak_cas;
