//! Values that a program must drop before its execution ends.

use std::panic::Location;

use raddle_engine::ThreadId;
use raddle_engine::check::leak::{Leak, Undropped};

use super::{Context, Made, alloc, current};

/// A value with the thread that made it. Its place in the table stays empty after the drop.
pub(super) type Entry = (Made, ThreadId);

/// The obligation to drop a value before the execution ends in which it was made. It ends with this
/// value.
#[derive(Debug)]
pub struct MustDrop {
    stamp: u64,
    index: usize,
}

impl MustDrop {
    /// Records a value of this kind that the calling thread makes; `None` outside executions.
    pub fn made(kind: &'static str, place: &'static Location<'static>) -> Option<Self> {
        let context = current().filter(|context| !context.has_stopped())?;
        let _aside = alloc::aside();
        let mut undropped = context.undropped.borrow_mut();
        undropped.push(Some((Made { kind, place }, context.thread())));
        Some(MustDrop {
            stamp: context.stamp(),
            index: undropped.len() - 1,
        })
    }

    /// Records the drop of the value, while other parts of it still exist.
    pub fn dropped(&self) {
        // A value of an earlier execution has been reported already.
        if let Some(context) = current().filter(|context| context.stamp() == self.stamp) {
            context.undropped.borrow_mut()[self.index] = None;
        }
    }
}

impl Drop for MustDrop {
    fn drop(&mut self) {
        self.dropped();
    }
}

impl Context {
    /// True when the execution has values that must be dropped.
    pub(crate) fn has_undropped(&self) -> bool {
        !self.undropped.borrow().is_empty()
    }

    /// Returns the values that the execution that has just stopped has not dropped.
    pub(crate) fn undropped(&self) -> Vec<Leak> {
        let undropped = self.undropped.borrow();
        let left = undropped.iter().flatten().map(|&(made, thread)| {
            Leak::Undropped(Undropped {
                kind: made.kind,
                thread,
                made: self.site(made.place),
            })
        });
        left.collect()
    }
}
