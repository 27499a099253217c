//! POSIX threads and their synchronisation. Each function is an operation if a guest calls it, and the C
//! library's own otherwise.

pub(crate) mod attributes;
mod barrier;
mod c11;
pub(crate) mod cancel;
mod condvar;
mod guard;
pub(crate) mod keys;
pub(crate) mod mutex;
pub(crate) mod object_life;
mod once;
mod rwlock;
mod semaphore;
mod spin;
mod thread;
