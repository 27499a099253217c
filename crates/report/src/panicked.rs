//! Panics that follow from another, in words.

use raddle_engine::check::panic::{Panic, cause, poisoned_by};

use crate::stuck::Words;

impl Words<'_> {
    /// A line for everybody who panicked because of this panic.
    pub(crate) fn panicked_in_turn(&self, panic: &Panic) -> String {
        let panics = &self.execution.panics;
        let others = || panics.iter().filter(|other| other.thread != panic.thread);
        let at = |panic: &Panic| {
            let place = panic.place.as_ref();
            place.map_or(String::new(), |place| format!(" at {place}"))
        };
        let mut text = String::new();
        let joiner = panic.joined_by.and_then(|joiner| {
            let mut later = others().filter(|other| other.after >= panic.after);
            later.find(|other| {
                other.thread == joiner && poisoned_by(self.execution, other).is_none()
            })
        });
        if let Some(joiner) = joiner {
            let thread = self.trace.title(joiner.thread);
            text += &format!(
                "\nand {thread}, which joined it, panicked in turn{}",
                at(joiner)
            );
            // What `join().unwrap()` and `scope` say is no news.
            let news = joiner.message.as_str();
            if !news.ends_with("Any { .. }") && news != "a scoped thread panicked" {
                text += &format!(":\n{}", joiner.message);
            }
        }
        for other in others().filter(|other| cause(self.execution, other) == panic) {
            let Some(poison) = poisoned_by(self.execution, other) else {
                continue;
            };
            let thread = self.trace.title(other.thread);
            let name = self.things.title(poison.object.index());
            // Where a lock's result is unwrapped is the program's place; others panic by themselves.
            let at = match other.message.contains("PoisonError") {
                true => at(other),
                false => self.at(poison.found),
            };
            text += &format!("\nand {thread} panicked in turn{at}, because {name} is poisoned");
        }
        text
    }
}
