//! Messages for panics and for those that follow from them.

use std::fmt::Write;

use raddle_engine::check::panic::{Manner, Panic, cause, poisoned_by};

use crate::words::finding::context::FindingContext;

impl FindingContext<'_> {
    pub(crate) fn panicked(&self, panic: &Panic) -> String {
        let thread = self.trace.title(panic.thread);
        let did = match panic.manner {
            Manner::Panic => "panicked",
            Manner::Assertion => "failed an assertion",
            Manner::Crash => "crashed",
            Manner::FreedTwice => "freed memory a second time",
            Manner::Uninitialised => "read memory that nothing has written",
            Manner::Memory | Manner::Outside => "used memory that it must not use",
            Manner::Exit => "ended the program",
            Manner::Uncontrolled => "did what cannot be controlled",
        };
        let mut text = format!("{thread} {did}");
        if let Some(place) = &panic.place {
            let _ = write!(text, " at {place}");
        }
        let _ = write!(text, ":\n{}", panic.message);
        text + &self.panicked_in_turn(panic)
    }

    /// Returns a line for each thread that panicked because of this panic.
    fn panicked_in_turn(&self, panic: &Panic) -> String {
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
            // The messages of `join().unwrap()` and `scope` add nothing.
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
            // A `PoisonError` is unwrapped by the program, so the place is the program's; other
            // types panic inside raddle.
            let at = match other.message.contains("PoisonError") {
                true => at(other),
                false => self.at(poison.found),
            };
            text += &format!("\nand {thread} panicked in turn{at}, because {name} is poisoned");
        }
        text
    }
}
