//! Notes on stale reads: reads that did not take the coherence-latest write.

use raddle_engine::{Event, Operation};

use crate::words::finding::context::FindingContext;

/// Maximum number of notes in a message.
const MAX_NOTES: usize = 3;

impl FindingContext<'_> {
    /// Returns a line for each access that read an older value than the latest one at that time.
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
            text += &format!("\nand {} more stale reads", notes.len() - MAX_NOTES);
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

    /// Returns the coherence successor of the write that the event read, if it came before the
    /// event.
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

/// Explains why the read may take an older write.
fn why(write: &Event, read: &Event) -> String {
    match (write.operation.ordering(), read.operation.ordering()) {
        (Some(write), Some(read)) => {
            format!("nothing orders the two ({write:?} write, {read:?} read)")
        }
        _ => "nothing orders the two".to_owned(),
    }
}
