//! Which thread of one execution is which thread of another: the one with the same place in the tree
//! of creations.

use crate::base::ids::ThreadId;
use crate::model::execution::Execution;

/// The places where threads have been, and who is where in this execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Family {
    /// By place: the places of its children, in the order it makes them.
    children: Vec<Vec<usize>>,
    /// By thread of this execution.
    places: Vec<usize>,
}

impl Family {
    /// An execution begins, in which nobody is known.
    pub(super) fn begin(&mut self) {
        self.places.clear();
    }

    /// How many places there are.
    pub(super) fn places(&self) -> usize {
        self.children.len()
    }

    /// Where the thread is, which is known.
    #[inline]
    pub(super) fn place(&self, thread: ThreadId) -> usize {
        self.places[thread.index()]
    }

    /// The next thread that nobody knew yet, and who made it; known from now on.
    #[inline]
    pub(super) fn meet(&mut self, execution: &Execution) -> Option<(ThreadId, Option<ThreadId>)> {
        if self.places.len() == execution.threads.len() {
            return None;
        }
        let thread = ThreadId::new(self.places.len());
        let info = &execution.threads[thread.index()];
        let parent = info.spawned_by.map(|event| event.thread);
        let place = match parent {
            None => {
                if self.children.is_empty() {
                    self.children.push(Vec::new());
                }
                0
            }
            Some(parent) => self.child(self.place(parent), info.ordinal as usize),
        };
        self.places.push(place);
        Some((thread, parent))
    }

    fn child(&mut self, parent: usize, ordinal: usize) -> usize {
        while self.children[parent].len() <= ordinal {
            let place = self.children.len();
            self.children[parent].push(place);
            self.children.push(Vec::new());
        }
        self.children[parent][ordinal]
    }
}
