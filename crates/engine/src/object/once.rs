//! An initialization that is done once: one thread performs it, the others wait until it is done.
//!
//! A thread that panics during the initialization leaves the object poisoned. The next thread
//! either performs the initialization anyway, or is only informed of the poison.

use super::synchronization::Synchronization;
use super::{Exclusion, Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::{Grant, Reply};
use crate::base::words::{Problem, Reader, Words, tables};

/// The state of the initialization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Once {
    /// No thread has begun.
    #[default]
    New,
    /// This thread performs it.
    Running(ThreadId),
    /// It is done.
    Done,
    /// The last thread that performed it panicked.
    Poisoned,
}

/// Calls of a once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Begins the initialization, after waiting while another thread performs it. Taken: the caller
    /// performs it, unless it is poisoned and the caller does not insist. Refused: it is done
    /// already.
    Begin {
        /// True to perform it even if it is poisoned.
        insist: bool,
    },
    /// Ends the initialization, because it is done or its thread panicked.
    Finish {
        /// True when the thread panicked.
        poison: bool,
    },
    /// Asks whether the initialization is done.
    IsCompleted,
    /// Waits until the initialization is done. The answer is true when it is poisoned instead.
    Wait {
        /// True to continue waiting if it is poisoned.
        insist: bool,
    },
}

tables! {
    Call {
        "begin" => Begin { insist },
        "finish" => Finish { poison },
        "is-completed" => IsCompleted,
        "wait" => Wait { insist },
    }
    Once {
        "new" => New,
        "running" => Running(thread),
        "done" => Done,
        "poisoned" => Poisoned,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Begin { .. } => "call-once",
            Call::Finish { .. } => "finish",
            Call::IsCompleted => "is-completed",
            Call::Wait { .. } => "wait",
        }
    }

    fn takes(self) -> bool {
        matches!(self, Call::Begin { .. })
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::Finish { .. })
    }

    fn asks(self) -> bool {
        self == Call::IsCompleted
    }

    fn remark(self, reply: Reply) -> Option<&'static str> {
        match self {
            Call::Begin { .. } if reply.to_grant() == Grant::Refused => Some("done already"),
            Call::Finish { poison: true } => Some("poisoned"),
            Call::Wait { .. } if reply.to_answer() => Some("poisoned"),
            _ => None,
        }
    }

    fn poisons(self) -> bool {
        self == Call::Finish { poison: true }
    }

    fn finds_poison(self, reply: Reply) -> bool {
        match self {
            Call::Begin { .. } => reply.to_grant() == Grant::Taken { poisoned: true },
            Call::Wait { .. } => reply.to_answer(),
            Call::Finish { .. } | Call::IsCompleted => false,
        }
    }
}

impl Machine for Once {
    type Call = Call;
    const EXCLUSION: Exclusion = Exclusion::Guard;

    fn write_initial(&self, out: &mut String) {
        self.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        words.read()
    }

    fn open(&self, call: Call, _by: ThreadId) -> bool {
        match call {
            Call::Begin { .. } => !matches!(self, Once::Running(_)),
            Call::Finish { .. } | Call::IsCompleted => true,
            Call::Wait { insist } => match self {
                Once::Done => true,
                Once::Poisoned => !insist,
                Once::New | Once::Running(_) => false,
            },
        }
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: Outcome) -> Reply {
        let poisoned = *self == Once::Poisoned;
        match call {
            Call::Begin { .. } if *self == Once::Done => Reply::grant(Grant::Refused),
            Call::Begin { insist } => {
                if insist || !poisoned {
                    *self = Once::Running(by);
                }
                Reply::grant(Grant::Taken { poisoned })
            }
            Call::Finish { poison } => {
                *self = if poison { Once::Poisoned } else { Once::Done };
                Reply::DONE
            }
            Call::IsCompleted => Reply::answer(*self == Once::Done),
            Call::Wait { .. } => Reply::answer(poisoned),
        }
    }

    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        match call {
            Call::Begin { .. } | Call::Wait { .. } => Synchronization::acquire(0),
            Call::IsCompleted if reply.to_answer() => Synchronization::acquire(0),
            Call::IsCompleted => Synchronization::NONE,
            Call::Finish { .. } => Synchronization::release(0),
        }
    }

    fn blocked_by(&self) -> Option<ThreadId> {
        match self {
            Once::Running(thread) => Some(*thread),
            Once::New | Once::Done | Once::Poisoned => None,
        }
    }
}
