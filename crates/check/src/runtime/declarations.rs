//! Declarations of the program about its data: blocks that must appear atomic, variables that belong together, and
//! uses of the data in locks.

use std::ops::Range;
use std::panic::Location;

use raddle_engine::object::Object;
use raddle_engine::{CellId, DataSet, Datum, LocationId, ObjectId, World};

use super::{Context, Made, outside};
use crate::runtime::alloc;
use crate::runtime::identity::Identity;

/// A block that a thread is in.
#[derive(Clone, Copy, Debug)]
pub struct EnteredBlock {
    number: usize,
    stamp: u64,
}

/// A value whose Debug text has an address in it differs from run to run.
fn has_address(text: &str) -> bool {
    text.contains("0x")
}

impl Context {
    /// Sets whether accesses of cells, declarations and uses of the data in locks are recorded.
    pub(crate) fn keep_accesses(&self, keep: bool) {
        self.keeps_data_uses.set(keep);
        self.with_world(|world| world.keep_accesses(keep));
    }

    /// Sets whether labels of events are recorded.
    pub(crate) fn set_keeps_labels(&self, keeps: bool) {
        self.keeps_labels.set(keeps);
    }

    /// Labels the last event of the calling thread. `text` runs outside of the check, so that it performs no operation,
    /// and only if labels are recorded.
    pub fn label_event(&self, text: impl FnOnce() -> String) {
        if !self.keeps_labels.get() || self.has_stopped() {
            return;
        }
        let thread = self.thread();
        let text = outside(text);
        let _aside = alloc::aside();
        self.with_world(|world| world.label_event(thread, text));
    }

    /// Records that the calling thread enters a block; `None` if nothing is recorded.
    pub fn enter_block(
        &self,
        name: &str,
        place: &'static Location<'static>,
    ) -> Option<EnteredBlock> {
        if !self.keeps_data_uses.get() || self.has_stopped() {
            return None;
        }
        let (thread, site) = (self.thread(), self.site(place));
        let _aside = alloc::aside();
        let number = self.with_world(|world| world.enter_block(thread, site, name))?;
        let stamp = self.stamp();
        Some(EnteredBlock { number, stamp })
    }

    /// Records that the calling thread leaves a block. `value` returns the text of the block's value; it runs outside of
    /// the check, so that it performs no operation.
    pub fn leave_block(&self, block: EnteredBlock, value: impl FnOnce() -> Option<String>) {
        if self.stamp() != block.stamp || self.has_stopped() {
            return;
        }
        let thread = self.thread();
        let value = outside(value).filter(|text| !has_address(text));
        let _aside = alloc::aside();
        self.with_world(|world| world.leave_block(thread, block.number, value));
    }

    /// True when uses of the data in locks are recorded.
    #[inline(always)]
    pub fn keeps_data_uses(&self) -> bool {
        self.keeps_data_uses.get()
    }

    /// Records that the calling thread has used the data in a lock that it is about to release.
    pub fn record_data_use(&self, writes: bool, lock: impl FnOnce(&mut World) -> ObjectId) {
        if self.has_stopped() {
            return;
        }
        let thread = self.thread();
        let _aside = alloc::aside();
        self.with_world(|world| {
            let lock = lock(world);
            world.note_data_use(thread, lock, writes);
        });
    }

    /// Returns the variable that an object's data is.
    pub fn datum_of_object(&self, identity: &Identity, made: Made, state: Object) -> Datum {
        Datum::Lock(self.with_world(|world| self.object(world, identity, made, || state)))
    }

    /// Returns the variable that a location is.
    pub fn datum_of_location(&self, identity: &Identity, made: Made, initial: u64) -> Datum {
        Datum::Location(self.with_world(|world| self.location(world, identity, made, || initial)))
    }

    /// Returns the variable that a cell is; `None` if the cell does not exist.
    pub fn datum_of_cell(&self, identity: &Identity, made: &Made) -> Option<Datum> {
        let cell = self.with_world(|world| self.cell(world, identity, made));
        cell.ok().map(Datum::Cell)
    }

    /// Declares that these variables belong together.
    pub fn declare_set(&self, name: String, data: Vec<Datum>) {
        self.with_world(|world| world.declare_set(name, data));
    }

    /// Declares that the variables at these addresses belong together.
    pub fn declare_struct(&self, name: String, addresses: Range<usize>) {
        if self.keeps_data_uses.get() {
            let stamp = self.stamp();
            let mut structs = self.structs.borrow_mut();
            structs.retain(|(of, ..)| *of == stamp);
            structs.push((stamp, name, addresses));
        }
    }

    /// Returns the sets of variables that the execution has declared.
    pub(crate) fn declared_sets(&self) -> Vec<DataSet> {
        let mut sets: Vec<DataSet> = self.with_execution(|execution, _| {
            let declared = execution.declared.iter();
            declared.flat_map(|it| it.sets.iter().cloned()).collect()
        });
        let structs = self.structs.borrow();
        for (_, name, addresses) in structs.iter().filter(|(of, ..)| *of == self.stamp()) {
            let mut data = Vec::new();
            let mut add = |things: &super::things::Things, datum: fn(usize) -> Datum| {
                let inside = things.addresses().enumerate();
                let inside = inside.filter(|(_, address)| addresses.contains(address));
                data.extend(inside.map(|(index, _)| datum(index)));
            };
            add(&self.objects.borrow(), |index| {
                Datum::Lock(ObjectId::new(index))
            });
            add(&self.locations.borrow(), |index| {
                Datum::Location(LocationId::new(index))
            });
            add(&self.cells.borrow(), |index| {
                Datum::Cell(CellId::new(index))
            });
            let name = name.clone();
            sets.push(DataSet { name, data });
        }
        sets
    }
}
