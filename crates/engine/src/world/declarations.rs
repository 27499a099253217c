//! Declarations of the program in the running execution. They are recorded if accesses of cells are, and labels of
//! events whenever the front end has some.

use super::World;
use super::strategy::Dispatch;
use crate::base::ids::{EventId, ObjectId, SiteId, ThreadId};
use crate::model::declared::{Block, DataSet, DataUse, Datum, Declared, EventLabel};

impl<D: Dispatch> World<D> {
    /// Records that the running thread enters a block; returns its number.
    pub fn enter_block(&mut self, thread: ThreadId, site: SiteId, name: &str) -> Option<usize> {
        let from = self.events_of(thread);
        let accesses = self.state.execution.accesses.len();
        let blocks = &mut self.declared()?.blocks;
        blocks.push(Block {
            name: name.to_owned(),
            thread,
            site,
            from,
            to: None,
            accesses: [accesses; 2],
            value: None,
        });
        Some(blocks.len() - 1)
    }

    /// Records that the running thread leaves a block, with the text of its value.
    pub fn leave_block(&mut self, thread: ThreadId, block: usize, value: Option<String>) {
        let to = self.events_of(thread);
        let accesses = self.state.execution.accesses.len();
        let blocks = self.declared().map(|declared| &mut declared.blocks);
        if let Some(block) = blocks.and_then(|blocks| blocks.get_mut(block)) {
            block.to = Some(to);
            block.accesses[1] = accesses;
            block.value = value;
        }
    }

    /// Declares that these variables belong together.
    pub fn declare_set(&mut self, name: String, data: Vec<Datum>) {
        if let Some(declared) = self.declared() {
            declared.sets.push(DataSet { name, data });
        }
    }

    /// Records that the running thread has used the data in a lock that it is about to release.
    pub fn note_data_use(&mut self, thread: ThreadId, lock: ObjectId, writes: bool) {
        let released = self.events_of(thread);
        if let Some(declared) = self.declared() {
            declared.uses.push(DataUse {
                thread,
                lock,
                released,
                writes,
            });
        }
    }

    /// Labels the last event of the running thread.
    pub fn label_event(&mut self, thread: ThreadId, text: String) {
        if let Some(index) = self.events_of(thread).checked_sub(1) {
            let event = EventId { thread, index };
            self.state.execution.labels.push(EventLabel { event, text });
        }
    }

    fn declared(&mut self) -> Option<&mut Declared> {
        let is_kept = self.keeps_accesses();
        is_kept.then(|| &mut **self.state.execution.declared.get_or_insert_default())
    }
}
