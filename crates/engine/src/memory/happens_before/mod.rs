//! Happens-before: the rules of synchronizes-with, as joins of vector clocks.
//!
//! An event has a clock `hb` of the events that happen before it, itself included. It first
//! acquires: the clocks of the events that synchronize with it are joined into `hb` of the thread.
//! Then it is complete, and its released clock is kept for other events. The functions below define
//! which clocks are joined; the implementations of their traits store clocks. `HappensBefore`
//! stores those of a running or recorded execution, `search::graph` those of a graph whose events
//! are undone, and [`DetachedAccesses`] those of atomics that are not events.
//!
//! | rule of the model (Lahav et al., PLDI 2017; release sequences of C++20) | function |
//! | --- | --- |
//! | release and acquire accesses: a release write synchronizes with the acquire read that takes it | [`load`], [`store`] |
//! | release sequence: an update continues the sequence of the write it reads from | [`update`], or [`store`] with `continued` |
//! | fences: relaxed accesses synchronize through the fences around them | [`fence`], [`AccessClocks::defer`] |
//! | acquire, release, `SeqCst` of an ordering | [`Strength`] |
//! | thread creation and join, messages and their delivery | `synchronizes_with` |
//! | calls of objects, and hang-ups of senders | `call`, `object::synchronization` |
//! | barriers: all arrivals of a group happen before each of its passes | `HappensBefore::meet`, `synchronizes_with` |
//! | every rule at the events of an execution | `HappensBefore::record` |
//! | every rule at the nodes of a graph | `Graph::set_clocks` (`search::graph::clocks`) |
//! | causality: program order and reads-from, whatever the orderings | `HappensBefore::record_causes` |
//! | coherence of one location: read and write coherence, from-reads | `memory::coherence`, `Graph::weak_coherence_floor` |
//! | from-reads under sequential consistency | `Graph::set_clocks`, `search::graph::linearise` |
//! | `psc`, the order of `SeqCst` events | `memory::psc` |
//! | data races | `memory::races` |

mod detached;
mod histories;
mod recorded;
mod strength;

pub use detached::{DetachedAccess, DetachedAccesses, ThreadClock};
pub(crate) use histories::{EveryEvent, LatestWrites};
pub(crate) use recorded::HappensBefore;
pub use recorded::{EventOrder, clock_of};
pub use strength::Strength;

use crate::base::ids::{EventId, ObjectId};
use crate::object::synchronization::{SyncClock, Synchronization};

/// The clock that a write releases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Released {
    /// `hb` of the write.
    Hb,
    /// `hb` of the last release fence of the thread.
    Fence,
}

/// Clocks that atomic accesses and fences of one thread use. The implementation stores them.
pub trait AccessClocks {
    /// Names a write, or the initial value of a location.
    type Write: Copy;

    /// Joins the release clock of a write into `hb`.
    fn acquire(&mut self, write: Self::Write);

    /// Joins the release clock of a write into the clock that the next acquire fence acquires.
    fn defer(&mut self, write: Self::Write);

    /// Joins the deferred clocks into `hb`.
    fn acquire_deferred(&mut self);

    /// Adds the event itself to `hb`, after all joins of acquired clocks.
    fn complete(&mut self);

    /// Sets the release clock of the event, which is this write. It is joined with the release
    /// clock of the write whose release sequence it continues.
    fn release(&mut self, write: Self::Write, released: Released, continued: Option<Self::Write>);

    /// Makes `hb` the clock that relaxed writes release from now on.
    fn release_at_fence(&mut self);
}

/// Applies the rules of a read of `source`, which may be the read of a failing update.
#[inline]
pub fn load<C: AccessClocks>(clocks: &mut C, source: C::Write, strength: Strength) {
    read(clocks, source, strength);
    clocks.complete();
}

/// Applies the rules of a write, which continues the release sequence of `continued` if it is that
/// of an update.
#[inline]
pub fn store<C: AccessClocks>(
    clocks: &mut C,
    write: C::Write,
    strength: Strength,
    continued: Option<C::Write>,
) {
    clocks.complete();
    let released = match strength.releases() {
        true => Released::Hb,
        false => Released::Fence,
    };
    clocks.release(write, released, continued);
}

/// Applies the rules of an update that reads `source` and writes.
#[inline]
pub fn update<C: AccessClocks>(
    clocks: &mut C,
    source: C::Write,
    write: C::Write,
    strength: Strength,
) {
    read(clocks, source, strength);
    store(clocks, write, strength, Some(source));
}

#[inline]
fn read<C: AccessClocks>(clocks: &mut C, source: C::Write, strength: Strength) {
    match strength.acquires() {
        true => clocks.acquire(source),
        false => clocks.defer(source),
    }
}

/// Applies the rules of a fence.
#[inline]
pub fn fence<C: AccessClocks>(clocks: &mut C, strength: Strength) {
    if strength.acquires() {
        clocks.acquire_deferred();
    }
    clocks.complete();
    if strength.releases() {
        clocks.release_at_fence();
    }
}

/// Clocks that all other events of one thread use.
pub(crate) trait EventClocks: AccessClocks {
    /// Joins `hb` of an event of another thread into `hb`.
    fn acquire_event(&mut self, event: EventId);

    /// Joins a clock of an object into `hb`.
    fn acquire_object(&mut self, object: ObjectId, clock: SyncClock);

    /// Joins `hb` into a clock of an object.
    fn release_object(&mut self, object: ObjectId, clock: SyncClock);

    /// Returns the event of these clocks.
    fn event(&self) -> EventId;
}

/// Applies the rules of an event that these events synchronize with: a spawn with the thread's
/// begin, the end of a thread with its join, a send with its receive, a receive with the sender's
/// wait for delivery.
#[inline]
pub(crate) fn synchronizes_with<C: EventClocks>(
    clocks: &mut C,
    sources: impl IntoIterator<Item = EventId>,
) {
    for source in sources {
        // Events of the same thread happen before it by program order.
        if source.thread != clocks.event().thread {
            clocks.acquire_event(source);
        }
    }
    clocks.complete();
}

/// Applies the rules of the completion of a call.
#[inline]
pub(crate) fn call<C: EventClocks>(
    clocks: &mut C,
    object: ObjectId,
    synchronization: Synchronization,
) {
    for clock in synchronization.acquires() {
        clocks.acquire_object(object, clock);
    }
    clocks.complete();
    if let Some(clock) = synchronization.releases() {
        clocks.release_object(object, clock);
    }
}
