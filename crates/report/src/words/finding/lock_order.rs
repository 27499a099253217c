//! Messages for inconsistent lock orders.

use raddle_engine::check::lock_order::{LockOrder, Nested};

use crate::words::finding::context::FindingContext;

impl FindingContext<'_> {
    pub(crate) fn lock_order(&self, order: &LockOrder) -> String {
        match order {
            LockOrder::Circle(circle) => {
                let lines: Vec<_> = circle.iter().map(|nested| self.nested(nested)).collect();
                format!(
                    "{}\n\
                     help: if they do so at the same time, each waits for the other: take the locks in \
                     the same order everywhere",
                    lines.join("\n")
                )
            }
            LockOrder::ReadAgain(nested) => format!(
                "{}, which it reads under already\n\
                 help: if a writer comes in between, both may wait for ever: keep one guard, or pass \
                 it on",
                self.nested(nested)
            ),
        }
    }

    /// Describes the acquisition of a lock while another one is held.
    fn nested(&self, nested: &Nested) -> String {
        format!(
            "{} takes {}{}, then {}{}",
            self.trace.title(nested.thread),
            self.things.title(nested.held.index()),
            self.at(nested.since),
            self.things.title(nested.taken.index()),
            self.at(nested.at),
        )
    }
}
