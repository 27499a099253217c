//! Messages for livelocks.

use raddle_engine::Operation;
use raddle_engine::check::deadlock::Blocked;
use raddle_engine::check::livelock::{Round, Seen};

use crate::words::finding::context::FindingContext;

impl FindingContext<'_> {
    pub(crate) fn livelock(&self, rounds: &[Round], blocked: &[Blocked]) -> String {
        let mut lines = Vec::new();
        for round in rounds {
            let thread = self.trace.title(round.thread);
            let sees: Vec<_> = round.sees.iter().map(|seen| self.seen(seen)).collect();
            lines.push(match &sees[..] {
                [one] => format!("{thread} does without end: {one}"),
                several => format!("{thread} does without end:\n  {}", several.join("\n  ")),
            });
        }
        lines.extend(self.lines(blocked));
        lines.push(
            "help: nobody is left who could change that; whoever should must do so, or the loop \
             must end for another reason"
                .to_owned(),
        );
        lines.join("\n")
    }

    /// Describes a read of a spinning thread, and the last change of the value.
    fn seen(&self, seen: &Seen) -> String {
        let event = &self.execution.events[seen.look];
        let look = format!(
            "{}{}",
            self.trace.steps[seen.look].what,
            self.at(event.site)
        );
        let Some(since) = seen.since else {
            return match event.operation {
                Operation::Load { .. } | Operation::Update { .. } => {
                    format!("{look}, which nobody has changed")
                }
                _ => look,
            };
        };
        let change = &self.execution.events[since];
        let who = match change.id.thread == event.id.thread {
            true => "it",
            false => self.trace.title(change.id.thread),
        };
        let what = &self.trace.steps[since].what;
        format!("{look}, since {who} did: {what}{}", self.at(change.site))
    }
}
