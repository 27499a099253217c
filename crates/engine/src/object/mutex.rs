//! A mutual-exclusion lock: one holder; other threads wait for a grant.

use super::effect::{Effect, Mode};
use super::synchronization::Synchronization;
use super::{Exclusion, Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use crate::base::words::{Problem, Reader, Words, tables};

/// The lock's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mutex {
    holder: Option<ThreadId>,
    poisoned: bool,
}

/// Calls of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Takes the lock, after waiting while a thread holds it.
    Lock,
    /// Takes the lock if no thread holds it.
    TryLock,
    /// Releases the lock.
    Unlock {
        /// True when the holder began to panic while it held the lock.
        poison: bool,
    },
    /// Asks whether the lock is poisoned.
    IsPoisoned,
    /// Removes the poison.
    ClearPoison,
}

tables! {
    Call {
        "lock" => Lock,
        "try-lock" => TryLock,
        "unlock" => Unlock { poison },
        "is-poisoned" => IsPoisoned,
        "clear-poison" => ClearPoison,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Lock => "lock",
            Call::TryLock => "try-lock",
            Call::Unlock { .. } => "unlock",
            Call::IsPoisoned => "is-poisoned",
            Call::ClearPoison => "clear-poison",
        }
    }

    fn takes(self) -> bool {
        matches!(self, Call::Lock | Call::TryLock)
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::Unlock { .. })
    }

    fn is_tight(self) -> bool {
        matches!(self, Call::Lock | Call::Unlock { .. })
    }

    fn asks(self) -> bool {
        self == Call::IsPoisoned
    }

    fn polls(self) -> bool {
        self == Call::TryLock || self.asks()
    }

    fn intended_lock_effect(self) -> Option<Effect> {
        let take = |waits| Effect::Take {
            mode: Mode::Write,
            waits,
        };
        match self {
            Call::Lock => Some(take(true)),
            Call::TryLock => Some(take(false)),
            Call::Unlock { .. } => Some(Effect::Release),
            Call::IsPoisoned | Call::ClearPoison => None,
        }
    }

    fn poisons(self) -> bool {
        self == Call::Unlock { poison: true }
    }
}

impl Mutex {
    /// Creates a free lock.
    pub fn new(poisoned: bool) -> Self {
        Mutex {
            holder: None,
            poisoned,
        }
    }

    /// True when a holder panicked.
    pub fn poisoned(&self) -> bool {
        self.poisoned
    }
}

impl Machine for Mutex {
    type Call = Call;
    const EXCLUSION: Exclusion = Exclusion::Lock { shared: false };

    fn write_initial(&self, out: &mut String) {
        self.poisoned.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Mutex::new(words.read()?))
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {
            Call::Lock => self.holder.is_none(),
            Call::TryLock | Call::Unlock { .. } | Call::IsPoisoned | Call::ClearPoison => true,
        }
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::TryLock if self.holder.is_some() => Reply::grant(Grant::Refused),
            Call::Lock | Call::TryLock => {
                self.holder = Some(by);
                Reply::grant(Grant::Taken {
                    poisoned: self.poisoned,
                })
            }
            Call::Unlock { poison } => {
                self.holder = None;
                self.poisoned |= poison;
                Reply::DONE
            }
            Call::IsPoisoned => Reply::answer(self.poisoned),
            Call::ClearPoison => {
                self.poisoned = false;
                Reply::DONE
            }
        }
    }

    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        match call {
            Call::Lock | Call::TryLock if reply.to_grant() != Grant::Refused => {
                Synchronization::acquire(0)
            }
            Call::Unlock { .. } => Synchronization::release(0),
            _ => Synchronization::NONE,
        }
    }

    fn blocked_by(&self) -> Option<ThreadId> {
        self.holder
    }
}
