//! Edges of the wait-for graph at the end of an execution, from which deadlocks are drawn.

use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::{self, Blocked};
use raddle_engine::object::{Call, Object, channel, serial};
use raddle_engine::{Operation, ThreadId};

use crate::data::insight::Wait;
use crate::data::place::Place;
use crate::words::finding::context::FindingContext;

/// Returns the waiting threads of a finding.
pub(crate) fn of(finding: &Finding, context: &FindingContext<'_>) -> Vec<Wait> {
    let blocked = match finding {
        Finding::Deadlock(blocked)
        | Finding::ThreadOutlives(blocked)
        | Finding::LostWakeup { blocked, .. }
        | Finding::Livelock { blocked, .. } => blocked,
        _ => return Vec::new(),
    };
    let wait = |one: &Blocked| Wait {
        thread: one.thread.index(),
        what: context.awaited(one).unwrap_or_default(),
        place: context.names.place(one.site),
        on: one.waits_for.map(|thread| thread.index()),
        taken: context.taken(one),
    };
    blocked.iter().map(wait).collect()
}

impl FindingContext<'_> {
    /// Names the object or event that a thread waits for.
    pub(crate) fn awaited(&self, blocked: &Blocked) -> Option<String> {
        let title = |index: usize| self.things.title(index);
        let received = |index: usize| format!("its message to be received from {}", title(index));
        Some(match &blocked.operation {
            Operation::Join { target } => format!("{} to end", self.trace.title(*target)),
            Operation::Call {
                object,
                call: Call::Parker(_),
            } => match &self.execution.objects[object.index()] {
                Object::Parker(parker) if parker.is_waker() => {
                    let several = self.declared(blocked.thread);
                    several.unwrap_or_else(|| format!("a wake-up of {}", title(object.index())))
                }
                Object::Parker(parker) if parker.owner().is_none() => {
                    format!("{} to be notified", title(object.index()))
                }
                _ => "an unpark".to_owned(),
            },
            Operation::Meet { barrier } => title(barrier.index()).to_owned(),
            Operation::Receive { ports, .. } => {
                let ports = self.things.port_titles(ports, self.execution);
                format!("a message from {ports}")
            }
            Operation::Delivered { port } => received(port.index()),
            Operation::Call {
                object,
                call: Call::Channel(call),
            } => match call {
                channel::Call::Send => format!("room in {}", title(object.index())),
                channel::Call::Delivered(_) => received(object.index()),
                _ => format!("a message from {}", title(object.index())),
            },
            Operation::Call {
                object,
                call: Call::Serial(serial::Call::Wait),
            } => format!("{} to be notified", title(object.index())),
            Operation::Call {
                object,
                call: Call::Serial(_),
            } => format!("a change of {}", title(object.index())),
            Operation::Sleep { time } => format!("{time:?} to pass"),
            Operation::Call { object, .. } => title(object.index()).to_owned(),
            _ => return None,
        })
    }

    /// Names everything that a task with several declared waits waits for.
    fn declared(&self, thread: ThreadId) -> Option<String> {
        let all = self.execution.awaits.iter();
        let own = all.filter(|(waiter, ..)| *waiter == thread);
        let names: Vec<String> = own
            .filter_map(|(_, operation, site)| {
                let one = Blocked {
                    thread,
                    operation: *operation,
                    site: *site,
                    waits_for: None,
                    holds: Vec::new(),
                };
                Some(format!("{}{}", self.awaited(&one)?, self.at(*site)))
            })
            .collect();
        (!names.is_empty()).then(|| names.join(" or "))
    }

    /// Returns the place where the holder acquired the lock that a thread waits for.
    pub(crate) fn taken(&self, blocked: &Blocked) -> Option<Place> {
        let Operation::Call { object, .. } = blocked.operation else {
            return None;
        };
        let taken = deadlock::taken(self.execution, object, blocked.waits_for?)?;
        self.names.place(taken.site)
    }
}
