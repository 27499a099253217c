//! Effects of calls on locks, whatever the kind of lock.
//!
//! A lock is a `Mutex`, an `RwLock`, or a monitor from the inside; each declares its effects in its
//! own file. A wait on a condition variable is an unlock, and later a lock at the place of the wait.
//! A thread that re-enters a monitor after a wait takes it again; the wait is not counted as a wait
//! for the lock. Semaphores have no holder and channels hold nothing.

use super::Call;

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
    /// True for a call that takes a lock for its thread alone, if it succeeds.
    pub fn takes_alone(&self) -> bool {
        let effect = self.intended_lock_effect();
        matches!(
            effect,
            Some(Effect::Take {
                mode: Mode::Write,
                ..
            })
        )
    }
}
