//! Metrics about locks.
//!
//! σ is the execution as the list of its events. A *hold* is an event that takes a lock m, its
//! *release* the event that gives it back. A thread *arrives* at the source location of its hold
//! directly after its previous event, and *stands* there until the hold: during that time its
//! request may be made. (There is no event for the request alone: a blocked thread is not run, so
//! all moments of standing there are equivalent.) A deadlocked thread stands there to the end.
//! `last(j, m)` is the last hold of m before σ\[j\].
//!
//! - `blocked-pair(l1, l2)`: a hold of m at l1 by t' such that t ≠ t' stands at l2, which requests
//!   m, at some moment between that hold and its release.
//! - `blocked(l)`: some `blocked-pair(l1, l)`; `blocking(l)`: some `blocked-pair(l, l2)`.
//! - `sync-pair(l1, l2)`: σ\[j\] is a hold of m at l2, and `last(j, m)` is at l1.
//! - `follows(l1, l2)`: the same, with different threads.
//! - `lock-order(l1, l2)`: σ\[j\] is a hold at l2 by a thread that then holds another lock, which
//!   it took at l1.
//!
//! A refused attempt is not a hold, and a successful one has requested nothing: `try_lock` blocks
//! others, and is never blocked. Readers of an `RwLock` do not block readers, and their mutual
//! order is irrelevant: `last(j, m)` of a reader is the last *writer*, that of a writer the last
//! hold of any kind. A downgrade ends the hold of the writer and begins one of a reader. A thread
//! never takes a lock twice that it holds (that is a deadlock, or a recursive read).
//!
//! From Hong, *Effective and Efficient Test Generation for Multithreaded Programs Using Concurrency
//! Coverage Metrics* (KAIST, 2015), appendix A, with the corrections that its prose asks for.

use super::board::{Board, Interaction};
use crate::base::ids::{ObjectId, SiteId, ThreadId};
use crate::model::event::Event;
use crate::model::execution::Execution;
use crate::object::effect::{Effect, Mode};

/// A hold: thread, source location and mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) thread: ThreadId,
    pub(crate) site: SiteId,
    pub(crate) mode: Mode,
}

#[derive(Clone, Debug, Default)]
struct Lock {
    /// The last hold of any kind, and the last of a writer.
    last: Option<Hold>,
    last_writer: Option<Hold>,
    holders: Vec<Hold>,
    /// Released holds with the time of the release, in that order.
    past: Vec<(Hold, u32)>,
}

/// Holds of the locks of an execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    /// By object.
    locks: Vec<Lock>,
    /// By thread: its held locks.
    held: Vec<Vec<(ObjectId, SiteId)>>,
}

impl Locks {
    pub(crate) fn reset(&mut self) {
        for lock in &mut self.locks {
            lock.last = None;
            lock.last_writer = None;
            lock.holders.clear();
            lock.past.clear();
        }
        self.held.iter_mut().for_each(Vec::clear);
    }

    /// Returns the hold that one in this mode would follow.
    pub(crate) fn last(&self, object: ObjectId, mode: Mode) -> Option<Hold> {
        let lock = self.locks.get(object.index())?;
        lock.last(mode)
    }

    /// Returns the locks that a thread holds, with the source location of each hold.
    pub(crate) fn held(&self, thread: ThreadId) -> &[(ObjectId, SiteId)] {
        self.held.get(thread.index()).map_or(&[], Vec::as_slice)
    }

    /// Records an event at time `now`, of a thread that arrived there at time `since`.
    #[inline]
    pub(crate) fn see(&mut self, event: &Event, now: u32, since: u32, board: &mut Board) {
        let Some((object, effect)) = event.lock_effect() else {
            return;
        };
        let thread = event.id.thread;
        if object.index() >= self.locks.len() {
            self.locks.resize_with(object.index() + 1, Lock::default);
        }
        if thread.index() >= self.held.len() {
            self.held.resize_with(thread.index() + 1, Vec::new);
        }
        let lock = &mut self.locks[object.index()];
        let held = &mut self.held[thread.index()];
        match effect {
            Effect::Take { mode, waits } => {
                let hold = Hold {
                    thread,
                    site: event.site,
                    mode,
                };
                if waits {
                    lock.waited(hold, since, board);
                }
                if let Some(last) = lock.last(mode) {
                    let interaction = match last.thread == thread {
                        true => Interaction::FollowsOwn,
                        false => Interaction::FollowsOther,
                    };
                    board.cover(interaction, last.site, hold.site);
                }
                for &(other, site) in held.iter() {
                    if other != object {
                        board.cover(Interaction::Nests, site, hold.site);
                    }
                }
                lock.take(hold);
                held.push((object, hold.site));
            }
            Effect::Release => {
                lock.release(thread, now);
                if let Some(one) = held.iter().rposition(|(other, _)| *other == object) {
                    held.remove(one);
                }
            }
            Effect::Downgrade => lock.downgrade(thread, now),
        }
    }

    /// Records threads that are blocked forever, at the end of an execution.
    pub(crate) fn end(
        &mut self,
        execution: &Execution,
        since: impl Fn(ThreadId) -> u32,
        board: &mut Board,
    ) {
        for (index, pending) in execution.pending.iter().enumerate() {
            let Some((operation, site)) = pending else {
                continue;
            };
            let thread = ThreadId::new(index);
            if let Some((object, Effect::Take { mode, waits: true })) = operation.lock_effect()
                && let Some(lock) = self.locks.get(object.index())
            {
                let hold = Hold {
                    thread,
                    site: *site,
                    mode,
                };
                lock.waited(hold, since(thread), board);
                for holder in &lock.holders {
                    waits_for(hold, *holder, board);
                }
            }
        }
    }
}

impl Lock {
    #[inline]
    fn last(&self, mode: Mode) -> Option<Hold> {
        match mode {
            Mode::Write => self.last,
            Mode::Read => self.last_writer,
        }
    }

    fn take(&mut self, hold: Hold) {
        self.last = Some(hold);
        if hold.mode == Mode::Write {
            self.last_writer = Some(hold);
        }
        self.holders.push(hold);
    }

    fn release(&mut self, thread: ThreadId, now: u32) {
        let mut holders = self.holders.iter();
        if let Some(one) = holders.rposition(|hold| hold.thread == thread) {
            self.past.push((self.holders.swap_remove(one), now));
        }
    }

    /// Ends the exclusive hold of the thread and begins a shared one.
    fn downgrade(&mut self, thread: ThreadId, now: u32) {
        let mut holders = self.holders.iter_mut();
        if let Some(hold) = holders.find(|hold| hold.thread == thread) {
            self.past.push((*hold, now));
            hold.mode = Mode::Read;
        }
    }

    /// Records the holders of the lock while the thread stood there.
    #[inline]
    fn waited(&self, hold: Hold, since: u32, board: &mut Board) {
        let meanwhile = self.past.iter().rev();
        for (past, _) in meanwhile.take_while(|(_, until)| *until > since) {
            waits_for(hold, *past, board);
        }
    }
}

fn waits_for(hold: Hold, holder: Hold, board: &mut Board) {
    if holder.thread != hold.thread && !holder.mode.goes_with(hold.mode) {
        board.cover(Interaction::Blocks, holder.site, hold.site);
    }
}
