//! Who waits for whom at the end, as data: what a drawing of a deadlock is made of.

use raddle_engine::Operation;
use raddle_engine::check::Finding;
use raddle_engine::check::deadlock::{self, Blocked};
use raddle_engine::object::{Call, channel};

use crate::data::insight::Wait;
use crate::data::place::Place;
use crate::words::finding::context::Words;

/// The threads that wait in what was found.
pub(crate) fn of(finding: &Finding, words: &Words<'_>) -> Vec<Wait> {
    let blocked = match finding {
        Finding::Deadlock(blocked)
        | Finding::ThreadOutlives(blocked)
        | Finding::LostWakeup { blocked, .. }
        | Finding::Livelock { blocked, .. } => blocked,
        _ => return Vec::new(),
    };
    let wait = |one: &Blocked| Wait {
        thread: one.thread.index(),
        what: words.awaited(one).unwrap_or_default(),
        place: words.names.place(one.site),
        on: one.waits_for.map(|thread| thread.index()),
        taken: words.taken(one),
    };
    blocked.iter().map(wait).collect()
}

impl Words<'_> {
    /// What a thread waits for, if there is a word for it.
    pub(crate) fn awaited(&self, blocked: &Blocked) -> Option<String> {
        let title = |index: usize| self.things.title(index);
        let received = |index: usize| format!("its message to be received from {}", title(index));
        Some(match &blocked.operation {
            Operation::Join { target } => format!("{} to end", self.trace.title(*target)),
            Operation::Call {
                call: Call::Parker(_),
                ..
            } => "an unpark".to_owned(),
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

    /// Where the one that a thread waits for took what it waits for.
    pub(crate) fn taken(&self, blocked: &Blocked) -> Option<Place> {
        let Operation::Call { object, .. } = blocked.operation else {
            return None;
        };
        let taken = deadlock::taken(self.execution, object, blocked.waits_for?)?;
        self.names.place(taken.site)
    }
}
