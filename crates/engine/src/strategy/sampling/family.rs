//! Matches threads across executions by their position in the spawn tree.

use crate::base::ids::ThreadId;
use crate::model::execution::Execution;

/// Known positions in the spawn tree, and the position of each thread of this execution.
#[derive(Clone, Debug, Default)]
pub(super) struct Family {
    /// By position: the positions of its children, in spawn order.
    children: Vec<Vec<usize>>,
    /// By thread of this execution.
    places: Vec<usize>,
}

impl Family {
    /// Starts an execution, in which no thread is known.
    pub(super) fn begin(&mut self) {
        self.places.clear();
    }

    /// Returns the number of known positions.
    pub(super) fn places(&self) -> usize {
        self.children.len()
    }

    /// Returns the position of a known thread.
    #[inline]
    pub(super) fn place(&self, thread: ThreadId) -> usize {
        self.places[thread.index()]
    }

    /// Returns the next unknown thread and its parent, and makes it known.
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

    /// Returns the known positions, each with the ordinals that lead to it from the main thread.
    pub(super) fn paths(&self) -> Vec<(Vec<u32>, usize)> {
        let root = (!self.children.is_empty()).then(|| (Vec::new(), 0));
        let mut paths: Vec<(Vec<u32>, usize)> = root.into_iter().collect();
        let mut next = 0;
        while let Some((path, place)) = paths.get(next).cloned() {
            let children = self.children[place].iter().zip(0..);
            paths.extend(
                children.map(|(&child, ordinal)| ([&path[..], &[ordinal]].concat(), child)),
            );
            next += 1;
        }
        paths
    }

    /// Returns the position to which these ordinals lead, and makes it known.
    pub(super) fn at_path(&mut self, path: &[u32]) -> usize {
        if self.children.is_empty() {
            self.children.push(Vec::new());
        }
        let ordinals = path.iter();
        ordinals.fold(0, |parent, &ordinal| self.child(parent, ordinal as usize))
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
