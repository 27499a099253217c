//! A semaphore: permits that threads acquire and release.
//!
//! A counting semaphore holds any number of permits, so a release never waits. A binary one holds
//! at most one: acquire and release strictly alternate, and either may wait.

use super::synchronization::Synchronization;
use super::{Exclusion, Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use crate::base::words::{Problem, Reader, Words, tables};

/// The semaphore's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Semaphore {
    permits: u32,
    binary: bool,
}

/// Calls of a semaphore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Takes a permit, after waiting for one.
    Acquire,
    /// Takes a permit if one is available.
    TryAcquire,
    /// Returns a permit; to a binary semaphore, after waiting until it has none.
    Release,
}

tables! {
    Call {
        "acquire" => Acquire,
        "try-acquire" => TryAcquire,
        "release" => Release,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Acquire => "acquire",
            Call::TryAcquire => "try-acquire",
            Call::Release => "release",
        }
    }

    fn gives_back(self) -> bool {
        self == Call::Release
    }

    fn takes(self) -> bool {
        matches!(self, Call::Acquire | Call::TryAcquire)
    }

    fn polls(self) -> bool {
        self == Call::TryAcquire
    }

    fn always_changes(self) -> bool {
        self != Call::TryAcquire
    }
}

impl Semaphore {
    /// Creates a counting semaphore with this number of permits.
    pub fn counting(permits: u32) -> Self {
        Semaphore {
            permits,
            binary: false,
        }
    }

    /// Creates a binary semaphore with or without its permit.
    pub fn binary(available: bool) -> Self {
        Semaphore {
            permits: u32::from(available),
            binary: true,
        }
    }

    pub(crate) fn is_counting(&self) -> bool {
        !self.binary
    }
}

impl Machine for Semaphore {
    type Call = Call;
    const EXCLUSION: Exclusion = Exclusion::Guard;

    fn write_initial(&self, out: &mut String) {
        (!self.binary).write(out);
        self.permits.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(match words.read()? {
            true => Semaphore::counting(words.read()?),
            false => Semaphore::binary(words.read::<u32>()? > 0),
        })
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {
            Call::Acquire => self.permits > 0,
            Call::TryAcquire => true,
            Call::Release => !self.binary || self.permits == 0,
        }
    }

    fn apply(&mut self, call: Call, _by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::TryAcquire if self.permits == 0 => Reply::grant(Grant::Refused),
            Call::Acquire | Call::TryAcquire => {
                self.permits -= 1;
                Reply::grant(Grant::Taken { poisoned: false })
            }
            Call::Release => {
                self.permits += 1;
                Reply::DONE
            }
        }
    }

    /// All earlier releases synchronize with an acquire. The release of a binary semaphore waits
    /// for the acquire of its permit, so that acquire synchronizes with it.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        let (given, taken) = (0, 1);
        match (call, self.binary) {
            (Call::Release, false) => Synchronization::release(given),
            (Call::Release, true) => Synchronization::acquire(taken).and_release(given),
            _ if reply.to_grant() == Grant::Refused => Synchronization::NONE,
            (_, false) => Synchronization::acquire(given),
            (_, true) => Synchronization::acquire(given).and_release(taken),
        }
    }
}
