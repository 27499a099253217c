//! What calls do to locks, whatever kind of lock it is.
//!
//! A lock is a `Mutex`, an `RwLock`, or a monitor from the inside. Waiting on a condition variable is
//! what the front end makes of it: an unlock, and later a lock at the place of the wait. A thread that
//! goes into a monitor again after waiting takes it again; that it waited until then is not put down to
//! the lock. Semaphores have no holder and channels hold nothing.

use super::{Call, monitor, mutex, rwlock};
use crate::base::reply::{Grant, Reply};

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Mode {
    /// With others who read.
    Read,
    /// Alone.
    Write,
}

impl Mode {
    /// Whether one lock can be held in both ways at once.
    pub(crate) fn goes_with(self, other: Mode) -> bool {
        self == Mode::Read && other == Mode::Read
    }
}

/// What a call does to a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Takes it.
    Take {
        /// How it is held then.
        mode: Mode,
        /// Whether the thread waits until it can be.
        waits: bool,
    },
    /// Gives it back.
    Release,
    /// Writes no more, and reads.
    Downgrade,
}

impl Call {
    /// What the call does to its lock, if it is one and the call succeeds.
    pub(crate) fn intended_lock_effect(self) -> Option<Effect> {
        let take = |mode, waits| Effect::Take { mode, waits };
        let effect = match self {
            Call::Mutex(mutex::Call::Lock) => take(Mode::Write, true),
            Call::Mutex(mutex::Call::TryLock) => take(Mode::Write, false),
            Call::Mutex(mutex::Call::Unlock { .. }) => Effect::Release,
            Call::RwLock(rwlock::Call::Read) => take(Mode::Read, true),
            Call::RwLock(rwlock::Call::TryRead) => take(Mode::Read, false),
            Call::RwLock(rwlock::Call::Write) => take(Mode::Write, true),
            Call::RwLock(rwlock::Call::TryWrite) => take(Mode::Write, false),
            Call::RwLock(rwlock::Call::ReadUnlock | rwlock::Call::WriteUnlock { .. }) => {
                Effect::Release
            }
            Call::RwLock(rwlock::Call::Downgrade) => Effect::Downgrade,
            Call::Monitor(monitor::Call::Enter) => take(Mode::Write, true),
            Call::Monitor(monitor::Call::Resume) => take(Mode::Write, false),
            Call::Monitor(monitor::Call::Exit | monitor::Call::Wait(_)) => Effect::Release,
            _ => return None,
        };
        Some(effect)
    }

    /// What the call, which had this reply, did to its lock, if it is one.
    #[inline]
    pub(crate) fn lock_effect(self, reply: Reply) -> Option<Effect> {
        if let Call::Monitor(monitor::Call::Signal(_)) = self {
            // Who makes way goes out.
            return reply.to_answer().then_some(Effect::Release);
        }
        let effect = self.intended_lock_effect()?;
        let is_refused = matches!(self.grant(reply), Some(Grant::Refused));
        (!is_refused).then_some(effect)
    }
}
