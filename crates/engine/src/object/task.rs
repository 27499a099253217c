//! A task: a future that runs on a modelled thread of its own, which can be aborted and awaited.
//!
//! The thread polls the future, and asks before each poll whether the task was aborted. No call
//! waits: a task that is suspended waits for its waker, which is a parker.

use super::synchronization::Synchronization;
use super::{Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, tables};

/// The task's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Task {
    is_aborted: bool,
    has_ended: bool,
    /// The thread that polls the task, once it has.
    thread: Option<ThreadId>,
}

/// Calls of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Begins a poll by the thread of the task. The answer is true when the task was aborted.
    Poll,
    /// Aborts the task.
    Abort,
    /// Ends the task.
    End,
    /// Awaits the end of the task. The answer is true when it has ended.
    Join,
    /// Asks whether the task has ended.
    IsFinished,
}

tables! {
    Call {
        "poll" => Poll,
        "abort" => Abort,
        "end" => End,
        "join" => Join,
        "is-finished" => IsFinished,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Poll => "poll",
            Call::Abort => "abort",
            Call::End => "end-task",
            Call::Join => "join",
            Call::IsFinished => "is-finished",
        }
    }

    fn asks(self) -> bool {
        self == Call::IsFinished
    }

    fn gives_back(self) -> bool {
        matches!(self, Call::Abort | Call::End)
    }

    fn polls(self) -> bool {
        matches!(self, Call::Poll | Call::Join | Call::IsFinished)
    }

    /// A failed attempt to join leaves a waker behind.
    fn changed_nothing(self, reply: Reply) -> bool {
        match self {
            Call::Poll | Call::IsFinished => true,
            Call::Join => reply.to_answer(),
            Call::Abort | Call::End => false,
        }
    }
}

impl Task {
    /// Returns the thread of the task, for messages. (The search may use another identifier for it.)
    pub fn thread(&self) -> Option<ThreadId> {
        self.thread
    }
}

impl Machine for Task {
    type Call = Call;

    fn read_initial(_words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Task::default())
    }

    fn open(&self, _call: Call, _by: ThreadId) -> bool {
        true
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::Poll => {
                self.thread = Some(by);
                Reply::answer(self.is_aborted)
            }
            Call::Abort => {
                self.is_aborted = true;
                Reply::DONE
            }
            Call::End => {
                self.has_ended = true;
                Reply::DONE
            }
            Call::Join | Call::IsFinished => Reply::answer(self.has_ended),
        }
    }

    /// An abort synchronizes with the poll that finds it, and the end with a call that finds it.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        let (ended, aborted) = (0, 1);
        match call {
            Call::Abort => Synchronization::release(aborted),
            Call::End => Synchronization::release(ended),
            Call::Poll if reply.to_answer() => Synchronization::acquire(aborted),
            Call::Join | Call::IsFinished if reply.to_answer() => Synchronization::acquire(ended),
            Call::Poll | Call::Join | Call::IsFinished => Synchronization::NONE,
        }
    }
}
