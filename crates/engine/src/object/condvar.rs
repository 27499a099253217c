//! A condition variable: threads wait until they are notified.
//!
//! A wait is two calls, with the unlocking of the mutex between them: [`Call::Wait`] makes the
//! thread a waiter and [`Call::Wake`] ends the wait. Becoming a waiter before unlocking is the same
//! as doing both at once, because no thread can tell the difference: a notification in between reaches
//! the waiter, as it would directly after both.
//!
//! A spurious wake-up is an outcome of `Wait`, not of `Wake`: the thread becomes no waiter at all
//! and goes on as soon as it has the mutex again. A waiter that wakes up before any notification
//! cannot be told from that, and the other outcome leaves the thread waiting, so a wake-up that
//! *may* happen never hides a deadlock of a program that relies on it.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, push, tables, unknown};

/// The word of a futex in saved searches.
const FUTEX: &str = "futex";

/// The condition variable's state: the waiting threads, in the order of their waits. A notified thread
/// stays until it waits again, unless its time may run out: whether it has woken up makes no difference.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Condvar {
    waiters: Vec<Waiter>,
    /// How many calls were completed, without those that wake up in silence.
    completed: u32,
    /// True when a notification synchronizes with later waits.
    is_futex: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiter {
    thread: ThreadId,
    /// By which of the completed calls.
    notified: Option<u32>,
}

/// What threads can ask of a condition variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Become a waiter. The answer is whether the wait is over at once, without a notification.
    Wait {
        /// Whether that may happen.
        spurious: bool,
        /// Whether the thread has looked at what the mutex protects since it took it. Only messages
        /// make a difference of that.
        looked: bool,
    },
    /// Go on when notified. The answer is whether the time ran out before that.
    Wake {
        /// Whether the time may run out.
        timeout: bool,
    },
    /// Notify any one waiter.
    NotifyOne,
    /// Notify all waiters.
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
    /// The queue of a futex. Its calls are totally ordered, with the comparison of the word that begins a wait:
    /// a wait that comes after a wake-up compares no older value than was written before the wake-up.
    pub fn futex() -> Self {
        Condvar {
            is_futex: true,
            ..Condvar::default()
        }
    }

    /// By which of the completed calls the thread was notified.
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

    /// Only the lock passes anything on, if there is one.
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
