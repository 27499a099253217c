//! Violated properties.

use raddle_engine::behaviour::judge::{Violation, ViolationEnd};

use crate::words::finding::context::FindingContext;

/// Maximum labelled events in the message, the last ones.
const SHOWN: usize = 12;

impl FindingContext<'_> {
    pub(crate) fn violated_property(&self, violation: &Violation) -> String {
        let Violation {
            name,
            formula,
            word,
            end,
            ..
        } = violation;
        let mut lines = vec![
            format!("property `{name}` is violated"),
            format!("  {formula}"),
        ];
        let left_out = word.len().saturating_sub(SHOWN);
        if left_out > 0 {
            lines.push(format!("  ... {left_out} labelled events before"));
        }
        for (position, label) in &word[left_out..] {
            let event = &self.execution.events[*position];
            let thread = self.trace.title(event.id.thread);
            lines.push(format!("  {label:?} by {thread}{}", self.at(event.site)));
        }
        lines.push(
            match end {
                ViolationEnd::Event => "no continuation fulfils the property",
                ViolationEnd::Complete => "then the program ends, without what the property demands",
                ViolationEnd::Blocked => "then the threads wait for ever, without what the property demands",
                ViolationEnd::Spins => {
                    "then only loops go on for ever; each thread has its turns, and what the property demands never comes"
                }
            }
            .to_owned(),
        );
        lines.join("\n")
    }
}
