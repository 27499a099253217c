//! Reads that did not see the latest write, in words.

use raddle_engine::{Event, Operation};

use crate::words::finding::context::Words;

/// So many are explained.
const MAX_NOTES: usize = 3;

impl Words<'_> {
    /// A line for each access that took an older value than others had written by then.
    pub(crate) fn stale(&self) -> String {
        let events = &self.execution.events;
        let stale = events.iter().filter(|event| event.back() > 0);
        let notes: Vec<String> = stale.filter_map(|event| self.note(event)).collect();
        let mut text = String::new();
        for note in notes.iter().take(MAX_NOTES) {
            text += "\n";
            text += note;
        }
        if notes.len() > MAX_NOTES {
            text += &format!("\nand {} more like that", notes.len() - MAX_NOTES);
        }
        text
    }

    fn note(&self, event: &Event) -> Option<String> {
        let (Operation::Load { .. } | Operation::Update { .. }) = event.operation else {
            return None;
        };
        let unseen = self.next_write(event)?;
        let location = event.operation.location()?;
        Some(format!(
            "stale: {}{} did not see what {} had written to {}{}: {}",
            self.trace.title(event.id.thread),
            self.at(event.site),
            self.trace.title(unseen.id.thread),
            self.things.location(location.index()),
            self.at(unseen.site),
            why(unseen, event),
        ))
    }

    /// The write that directly follows what the event read, if it had been performed by then.
    fn next_write(&self, event: &Event) -> Option<&Event> {
        let events = &self.execution.events;
        let position = events.iter().position(|other| other.id == event.id)?;
        events[..position].iter().find(|other| {
            other.writes()
                && other.source == event.source
                && other.operation.location() == event.operation.location()
        })
    }
}

/// Why nobody may expect the one to see the other.
fn why(write: &Event, read: &Event) -> String {
    match (write.operation.ordering(), read.operation.ordering()) {
        (Some(write), Some(read)) => {
            format!("nothing orders the two ({write:?} write, {read:?} read)")
        }
        _ => "nothing orders the two".to_owned(),
    }
}
