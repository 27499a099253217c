//! A monitor: a lock with condition queues, with the semantics of Hoare or of Mesa.
//!
//! Conditions are first in, first out. *Signal and continue*: the signaller continues, and the
//! signalled thread competes with all others to re-enter. *Signal and urgent wait*: the monitor is
//! handed to the signalled thread at once. The signaller waits, and gets the monitor back, before
//! any newcomer, when that thread leaves or waits. A thread that must wait does so with the call
//! [`Call::Resume`].

use super::effect::{Effect, Mode};
use super::synchronization::Synchronization;
use super::{Exclusion, Machine, Request};
use crate::base::ids::ThreadId;
use crate::base::outcome::Outcome;
use crate::base::reply::Reply;
use crate::base::words::{Problem, Reader, Words, tables};

/// The effect of a signal on the thread that signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Discipline {
    /// It continues.
    SignalContinue,
    /// It hands the monitor to the signalled thread and waits.
    SignalUrgent,
}

/// The monitor's state.
#[derive(PartialEq, Eq, Debug)]
pub struct Monitor {
    discipline: Discipline,
    inside: Option<ThreadId>,
    /// Conditions and the threads that wait for them, in order of arrival.
    waiting: Vec<(u32, ThreadId)>,
    /// Signalled threads that compete to re-enter (signal and continue).
    signalled: Vec<ThreadId>,
    /// Signallers that handed the monitor over; the last re-enters first (signal and urgent wait).
    urgent: Vec<ThreadId>,
}

/// Calls of a monitor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Enters, after waiting until the monitor is free.
    Enter,
    /// Leaves.
    Exit,
    /// Leaves and waits for a signal of this condition.
    Wait(u32),
    /// Re-enters after a wait or after handing the monitor over.
    Resume,
    /// Signals the first thread that waits for this condition. The answer is true when the
    /// signaller hands the monitor over.
    Signal(u32),
    /// Signals all threads that wait for this condition.
    SignalAll(u32),
    /// Reads the number of threads that wait for this condition.
    Waiting(u32),
}

tables! {
    Call {
        "enter" => Enter,
        "exit" => Exit,
        "wait" => Wait(condition),
        "resume" => Resume,
        "signal" => Signal(condition),
        "signal-all" => SignalAll(condition),
        "waiting" => Waiting(condition),
    }
    Discipline {
        "signal-continue" => SignalContinue,
        "signal-urgent" => SignalUrgent,
    }
}

impl Request for Call {
    fn label(self) -> &'static str {
        match self {
            Call::Enter => "enter",
            Call::Exit => "exit",
            Call::Wait(_) => "wait",
            Call::Resume => "resume",
            Call::Signal(_) => "signal",
            Call::SignalAll(_) => "signal-all",
            Call::Waiting(_) => "waiting",
        }
    }

    fn gives_back(self) -> bool {
        self == Call::Exit
    }

    fn changed_nothing(self, _reply: Reply) -> bool {
        matches!(self, Call::Waiting(_))
    }

    fn always_changes(self) -> bool {
        !matches!(self, Call::Waiting(_))
    }

    fn intended_lock_effect(self) -> Option<Effect> {
        let take = |waits| Effect::Take {
            mode: Mode::Write,
            waits,
        };
        match self {
            Call::Enter => Some(take(true)),
            // The wait before it is not a wait for the monitor.
            Call::Resume => Some(take(false)),
            Call::Exit | Call::Wait(_) => Some(Effect::Release),
            Call::Signal(_) | Call::SignalAll(_) | Call::Waiting(_) => None,
        }
    }

    fn lock_effect(self, reply: Reply) -> Option<Effect> {
        match self {
            // A signaller that hands the monitor over leaves it.
            Call::Signal(_) => reply.to_answer().then_some(Effect::Release),
            _ => self.intended_lock_effect(),
        }
    }
}

impl Monitor {
    /// Creates a free monitor.
    pub fn new(discipline: Discipline) -> Self {
        Monitor {
            discipline,
            inside: None,
            waiting: Vec::new(),
            signalled: Vec::new(),
            urgent: Vec::new(),
        }
    }

    /// Removes the first thread that waits for the condition from the queue.
    fn take_waiting(&mut self, condition: u32) -> Option<ThreadId> {
        let first = self
            .waiting
            .iter()
            .position(|&(waits_for, _)| waits_for == condition)?;
        Some(self.waiting.remove(first).1)
    }
}

// By hand: the search copies many states, and `clone_from` reuses the memory of the old ones.
impl Clone for Monitor {
    fn clone(&self) -> Self {
        Monitor {
            discipline: self.discipline,
            inside: self.inside,
            waiting: self.waiting.clone(),
            signalled: self.signalled.clone(),
            urgent: self.urgent.clone(),
        }
    }

    fn clone_from(&mut self, other: &Self) {
        self.discipline = other.discipline;
        self.inside = other.inside;
        self.waiting.clone_from(&other.waiting);
        self.signalled.clone_from(&other.signalled);
        self.urgent.clone_from(&other.urgent);
    }
}

impl Machine for Monitor {
    type Call = Call;
    const EXCLUSION: Exclusion = Exclusion::Guard;

    fn write_initial(&self, out: &mut String) {
        self.discipline.write(out);
    }

    fn read_initial(words: &mut Reader<'_>) -> Result<Self, Problem> {
        Ok(Monitor::new(words.read()?))
    }

    fn open(&self, call: Call, by: ThreadId) -> bool {
        match (call, self.discipline) {
            (Call::Enter, _) => self.inside.is_none(),
            (Call::Resume, Discipline::SignalContinue) => {
                self.inside.is_none() && self.signalled.contains(&by)
            }
            (Call::Resume, Discipline::SignalUrgent) => self.inside == Some(by),
            _ => true,
        }
    }

    fn apply(&mut self, call: Call, by: ThreadId, _outcome: Outcome) -> Reply {
        match call {
            Call::Enter | Call::Resume => {
                self.inside = Some(by);
                self.signalled.retain(|&thread| thread != by);
            }
            Call::Exit => self.inside = self.urgent.pop(),
            Call::Wait(condition) => {
                self.waiting.push((condition, by));
                self.inside = self.urgent.pop();
            }
            Call::Signal(condition) => {
                let Some(woken) = self.take_waiting(condition) else {
                    return Reply::answer(false);
                };
                let makes_way = self.discipline == Discipline::SignalUrgent;
                if makes_way {
                    self.urgent.push(by);
                    self.inside = Some(woken);
                } else {
                    self.signalled.push(woken);
                }
                return Reply::answer(makes_way);
            }
            Call::SignalAll(condition) => {
                while let Some(woken) = self.take_waiting(condition) {
                    self.signalled.push(woken);
                }
            }
            Call::Waiting(condition) => {
                let waiting = self.waiting.iter().filter(|(c, _)| *c == condition).count();
                return Reply::value(waiting as u64);
            }
        }
        Reply::DONE
    }

    fn blocked_by(&self) -> Option<ThreadId> {
        self.inside
    }

    /// A leave synchronizes with the next entry. A signaller stays inside, unless it hands the
    /// monitor over.
    fn synchronization(&self, call: Call, reply: Reply) -> Synchronization {
        match call {
            Call::Enter | Call::Resume => Synchronization::acquire(0),
            Call::Exit | Call::Wait(_) => Synchronization::release(0),
            Call::Signal(_) if reply.to_answer() => Synchronization::release(0),
            Call::Signal(_) | Call::SignalAll(_) | Call::Waiting(_) => Synchronization::NONE,
        }
    }
}
