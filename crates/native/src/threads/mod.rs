//! The threads of the program: their beginning, waits and end.

pub(crate) mod atomics;
pub(crate) mod beginning;
pub(crate) mod failure;
pub(crate) mod futex;
pub(crate) mod guests;
pub(crate) mod heap_use;
pub(crate) mod interpose;
pub(crate) mod interrupts;
pub(crate) mod life;
pub(crate) mod queues;
pub(crate) mod requests;
pub(crate) mod signals;
pub(crate) mod time;
pub(crate) mod unwind;
pub(crate) mod unwritten_reads;
