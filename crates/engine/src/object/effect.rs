//! Effects of calls on locks of any kind.
//!
//! A lock is a `Mutex`, an `RwLock`, one of the two that a `Fair` semaphore implements, or the
//! exclusion of a monitor; each declares its effects in its own file. A wait on a condition variable is an unlock, and later a lock at the site of the
//! wait. A thread that re-enters a monitor after a wait takes it again; the wait does not count as
//! a wait for the lock. Semaphores have no holder, and channels hold nothing.

use super::Call;

/// The mode in which a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Mode {
    /// Shared with other readers.
    Read,
    /// Exclusive.
    Write,
}

impl Mode {
    /// True when one lock can be held in both modes at once.
    pub(crate) fn goes_with(self, other: Mode) -> bool {
        self == Mode::Read && other == Mode::Read
    }
}

/// The effect of a call on a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Takes the lock.
    Take {
        /// Mode in which the lock is held then.
        mode: Mode,
        /// True when the thread waits until the lock is available.
        waits: bool,
    },
    /// Releases the lock.
    Release,
    /// Changes the mode from writing to reading.
    Downgrade,
}

impl Call {
    /// True for a call that takes a lock exclusively, if it succeeds.
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
