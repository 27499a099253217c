//! A condition variable: threads wait until they are notified.
//!
//! A wait is two calls, with the unlocking of the mutex between them: [`Call::Wait`] registers the
//! thread as a waiter and [`Call::Wake`] ends the wait. Registration before the unlock is
//! equivalent to one step of both: a notification in between reaches the waiter, as it would
//! directly after both.
//!
//! A spurious wake-up is an outcome of `Wait`, not of `Wake`: the thread does not become a waiter
//! and continues as soon as it has the mutex again. This is indistinguishable from a waiter that
//! wakes up before any notification. The other outcome leaves the thread waiting, so a possible
//! spurious wake-up never hides a deadlock of a program that relies on it.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, push, tables, unknown};

/// The word of a futex in the text form of searches.
const FUTEX: &str = "futex";

/// The condition variable's state: the waiting threads, in the order of their waits. A notified
/// thread stays listed until it waits again, because nothing depends on whether it has woken up.
/// One whose wait may time out is removed when it wakes up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Condvar {
    waiters: Vec<Waiter>,
    /// Number of completed calls, without silent wake-ups.
    completed: u32,
    /// True when a notification synchronizes with later waits.
    is_futex: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiter {
    thread: ThreadId,
    /// Number of the completed call that notified it.
    notified: Option<u32>,
}

/// Calls of a condition variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Registers a waiter. The answer is true when the wait ends at once, without a notification.
    Wait {
        /// True when the wait may end at once.
        spurious: bool,
        /// True when the thread has accessed data that the mutex protects since it locked it. Used
        /// by messages only.
        looked: bool,
    },
    /// Ends the wait once notified. The answer is true when the wait timed out before that.
    Wake {
        /// True when the wait may time out.
        timeout: bool,
    },
    /// Notifies one waiter, any of them.
    NotifyOne,
    /// Notifies all waiters.
    NotifyAll,
}

tables! {
    Call {
        "wait" => Wait { spurious, looked },
        "wake" => Wake { timeout },
        "notify-one" => NotifyOne,
        "notify-all" => NotifyAll,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Wait { .. } => "wait",
            Call::Wake { .. } => "wake",
            Call::NotifyOne => "notify-one",
            Call::NotifyAll => "notify-all",
        }
    }

    fn is_silent(self) -> bool {
        self == Call::Wake { timeout: false }
    }

    fn remark(self, reply: Reply) -> Option<&'static str> {
        match self {
            Call::Wait { .. } if reply.to_answer() => Some("wakes up spuriously"),
            Call::Wake { .. } if reply.to_answer() => Some("timed out"),
            _ => None,
        }
    }
}

impl Condvar {
    /// Creates the queue of a futex. Its calls are totally ordered, including the comparison of the
    /// word that begins a wait. A wait after a wake-up therefore compares no older value than was
    /// written before the wake-up.
    pub fn futex() -> Self {
        Condvar {
            is_futex: true,
            ..Condvar::default()
        }
    }

    /// Returns the number of the completed call that notified the thread.
    fn notified(&self, thread: ThreadId) -> Option<u32> {
        let waiter = self.waiters.iter().find(|waiter| waiter.thread == thread);
        waiter.and_then(|waiter| waiter.notified)
    }

    fn not_notified(&mut self) -> impl Iterator<Item = &mut Waiter> {
        let waiters = self.waiters.iter_mut();
        waiters.filter(|waiter| waiter.notified.is_none())
    }

    fn forget(&mut self, thread: ThreadId) {
        self.waiters.retain(|waiter| waiter.thread != thread);
    }
}

impl Machine for Condvar {
    type Call = Call;

    fn write_initial(&self, out: &mut String) {
        if self.is_futex {
            push(out, FUTEX);
        }
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        if words.is_empty() {
            return Ok(Condvar::default());
        }
        match words.word()? {
            FUTEX => Ok(Condvar::futex()),
            word => Err(unknown(word)),
        }
    }

    fn open(&self, call: Call, by: ThreadId) -> bool {
        match call {
            Call::Wake { timeout } => timeout || self.notified(by).is_some(),
            Call::Wait { .. } | Call::NotifyOne | Call::NotifyAll => true,
        }
    }

    fn outcomes(&self, call: Call, _by: ThreadId) -> u32 {
        match call {
            Call::Wait { spurious, .. } => 1 + u32::from(spurious),
            Call::NotifyOne => {
                let waiters = self.waiters.iter();
                let waiting = waiters.filter(|waiter| waiter.notified.is_none());
                (waiting.count() as u32).max(1)
            }
            Call::Wake { .. } | Call::NotifyAll => 1,
        }
    }

    fn opened_by(&self, _call: Call, by: ThreadId) -> Option<u32> {
        self.notified(by)
    }

    fn apply(&mut self, call: Call, by: ThreadId, outcome: Outcome) -> Reply {
        if call.is_silent() {
            return Reply::answer(false);
        }
        let this = self.completed;
        self.completed += 1;
        match call {
            Call::Wait { .. } => {
                let spurious = outcome.is_yes();
                self.forget(by);
                if !spurious {
                    self.waiters.push(Waiter {
                        thread: by,
                        notified: None,
                    });
                }
                Reply::answer(spurious)
            }
            Call::Wake { .. } => {
                let timed_out = self.notified(by).is_none();
                self.forget(by);
                Reply::answer(timed_out)
            }
            Call::NotifyOne => {
                if let Some(waiter) = self.not_notified().nth(outcome.waiter()) {
                    waiter.notified = Some(this);
                }
                Reply::DONE
            }
            Call::NotifyAll => {
                self.not_notified()
                    .for_each(|waiter| waiter.notified = Some(this));
                Reply::DONE
            }
        }
    }

    /// Only the mutex synchronizes; the calls of a futex, which has none, do so themselves.
    fn synchronization(&self, call: Call, _reply: Reply) -> Synchronization {
        let notified = 0;
        match call {
            _ if !self.is_futex => Synchronization::NONE,
            Call::Wait { .. } => Synchronization::acquire(notified),
            Call::NotifyOne | Call::NotifyAll => Synchronization::release(notified),
            Call::Wake { .. } => Synchronization::NONE,
        }
    }
}
