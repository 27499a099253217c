//! Edges of the wait-for graph at the end of an execution, from which deadlocks are drawn.

use raddle_engine::Operation;
use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::{self, Blocked};
use raddle_engine::object::{Call, Object, channel};

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
            Operation::Call { object, .. } => title(object.index()).to_owned(),
            _ => return None,
        })
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
