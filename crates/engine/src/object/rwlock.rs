//! A readers-writer lock: any number of readers, or one writer.
//!
//! Completions are in one total order, those of readers included, although the order of two
//! overlapping readers makes no difference.
//!
//! Readers may overtake a waiting writer. std leaves that open, and on some systems the lock admits
//! no further reader while a writer waits. For a thread that already reads, that is a deadlock with
//! the writer. So a second read of a thread has two alternatives
//! ([`Chance::WriterFirst`](crate::Chance::WriterFirst)): a granted read, or a
//! [`Call::ReadBehind`], which waits for ever. The thread does nothing after that, so other threads
//! can perform their operations up to the waiting write before it. Hence the second alternative is
//! possible exactly if a writer waits at the end of the execution; else the execution does not
//! count.
//!
//! A first read of a thread that waits for a writer adds no behaviour by itself: the read is
//! granted after the writer, an order that is explored anyway. It differs only if the thread that
//! keeps the writer waiting waits for this reader. That deadlock is not searched for, because every
//! read would then have two alternatives.

use super::effect::{Effect, Mode};
use super::synchronization::Synchronization;
use super::{Exclusion, Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use crate::base::words::{Problem, Reader, Words, tables};

/// The lock's state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RwLock {
    writer: Option<ThreadId>,
    /// In order of arrival; a thread occurs once for each time it holds the lock.
    readers: Vec<ThreadId>,
    poisoned: bool,
}

/// Calls of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Takes the lock for reading, after waiting while a thread writes.
    Read,
    /// Takes the lock for reading again once no writer waits; a writer waits for the caller.
    ReadBehind,
    /// Takes the lock for reading if no thread writes.
    TryRead,
    /// Takes the lock for writing, after waiting while a thread reads or writes.
    Write,
    /// Takes the lock for writing if no thread reads or writes.
    TryWrite,
    /// Releases the lock after reading.
    ReadUnlock,
    /// Releases the lock after writing.
    WriteUnlock {
        /// True when the writer began to panic while it held the lock.
        poison: bool,
    },
    /// Changes from writing to reading, with no other writer in between.
    Downgrade,
    /// Asks whether the lock is poisoned.
    IsPoisoned,
    /// Removes the poison.
    ClearPoison,
}

tables! {
    Call {
        "read" => Read,
        "read-behind" => ReadBehind,
        "try-read" => TryRead,
        "write" => Write,
        "try-write" => TryWrite,
        "read-unlock" => ReadUnlock,
        "write-unlock" => WriteUnlock { poison },
        "downgrade" => Downgrade,
        "is-poisoned" => IsPoisoned,
        "clear-poison" => ClearPoison,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Read | Call::ReadBehind => "read",
            Call::TryRead => "try-read",
            Call::Write => "write",
            Call::TryWrite => "try-write",
            Call::ReadUnlock => "read-unlock",
            Call::WriteUnlock { .. } => "write-unlock",
            Call::Downgrade => "downgrade",
            Call::IsPoisoned => "is-poisoned",
            Call::ClearPoison => "clear-poison",
        }
    }

    fn takes(self) -> bool {
        matches!(
            self,
            Call::Read | Call::ReadBehind | Call::TryRead | Call::Write | Call::TryWrite
        )
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::ReadUnlock | Call::WriteUnlock { .. })
    }

    fn asks(self) -> bool {
        self == Call::IsPoisoned
    }

    fn polls(self) -> bool {
        matches!(self, Call::TryRead | Call::TryWrite) || self.asks()
    }

    fn intended_lock_effect(self) -> Option<Effect> {
        let take = |mode, waits| Some(Effect::Take { mode, waits });
        match self {
            Call::Read | Call::ReadBehind => take(Mode::Read, true),
            Call::TryRead => take(Mode::Read, false),
            Call::Write => take(Mode::Write, true),
            Call::TryWrite => take(Mode::Write, false),
            Call::ReadUnlock | Call::WriteUnlock { .. } => Some(Effect::Release),
            Call::Downgrade => Some(Effect::Downgrade),
            Call::IsPoisoned | Call::ClearPoison => None,
        }
    }

    fn poisons(self) -> bool {
        self == Call::WriteUnlock { poison: true }
    }
}

impl RwLock {
    /// Creates a free lock.
    pub fn new(poisoned: bool) -> Self {
        RwLock {
            poisoned,
            ..RwLock::default()
        }
    }

    /// True when a writer panicked.
    pub fn poisoned(&self) -> bool {
        self.poisoned
    }

    /// True when the thread reads.
    pub fn is_read_by(&self, thread: ThreadId) -> bool {
        self.readers.contains(&thread)
    }

    fn is_readable(&self) -> bool {
        self.writer.is_none()
    }

    fn is_writable(&self) -> bool {
        self.writer.is_none() && self.readers.is_empty()
    }

    fn taken(&self) -> Reply {
        Reply::grant(Grant::Taken {
            poisoned: self.poisoned,
        })
    }
}

impl Machine for RwLock {
    type Call = Call;
    const EXCLUSION: Exclusion = Exclusion::Lock { shared: true };

    fn write_initial(&self, out: &mut String) {
        self.poisoned.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(RwLock::new(words.read()?))
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {
            Call::Read => self.is_readable(),
            Call::ReadBehind => false,
            Call::Write => self.is_writable(),
            Call::TryRead
            | Call::TryWrite
            | Call::ReadUnlock
            | Call::WriteUnlock { .. }
            | Call::Downgrade
            | Call::IsPoisoned
            | Call::ClearPoison => true,
        }
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::TryRead if !self.is_readable() => Reply::grant(Grant::Refused),
            Call::TryWrite if !self.is_writable() => Reply::grant(Grant::Refused),
            Call::Read | Call::ReadBehind | Call::TryRead => {
                self.readers.push(by);
                self.taken()
            }
            Call::Write | Call::TryWrite => {
                self.writer = Some(by);
                self.taken()
            }
            Call::ReadUnlock => {
                let reader = self.readers.iter().position(|&reader| reader == by);
                let reader = reader.expect("raddle: not a reader; please report this");
                self.readers.remove(reader);
                Reply::DONE
            }
            Call::WriteUnlock { poison } => {
                self.writer = None;
                self.poisoned |= poison;
                Reply::DONE
            }
            Call::Downgrade => {
                self.writer = None;
                self.readers.push(by);
                Reply::DONE
            }
            Call::IsPoisoned => Reply::answer(self.poisoned),
            Call::ClearPoison => {
                self.poisoned = false;
                Reply::DONE
            }
        }
    }

    fn blocked_by(&self) -> Option<ThreadId> {
        self.writer.or_else(|| self.readers.first().copied())
    }

    fn held_by(&self, thread: ThreadId) -> bool {
        self.writer == Some(thread) || self.readers.contains(&thread)
    }

    /// A release by a writer synchronizes with later readers and writers, a release by a reader
    /// with later writers only.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        let (written, read) = (0, 1);
        match call {
            _ if call.takes() && reply.to_grant() == Grant::Refused => Synchronization::NONE,
            Call::Read | Call::ReadBehind | Call::TryRead => Synchronization::acquire(written),
            Call::Write | Call::TryWrite => Synchronization::acquire(written).and_acquire(read),
            Call::WriteUnlock { .. } | Call::Downgrade => Synchronization::release(written),
            Call::ReadUnlock => Synchronization::release(read),
            Call::IsPoisoned | Call::ClearPoison => Synchronization::NONE,
        }
    }
}
