//! Memory that is freed too early, or could be freed earlier than it was.
//!
//! A block that another thread's next operation is about to use is freed too early: that operation is a failure.
//!
//! A free is no operation, so the search runs one order of a free and a use that no controlled operation
//! orders. Whether the other order is possible cannot be seen: the counts of std's `Arc`, for instance, are not
//! controlled. So it is tried: the driver runs the plans from here. Only [`Quarantine`](super::alloc) knows
//! what was freed, and keeps a use of it harmless.

use std::cell::RefCell;
use std::ops::Range;

use raddle_engine::check::memory_error::{Fate, MemoryError, Moment};
use raddle_engine::minimise::{EarlyFree, EarlyFrees};
use raddle_engine::{Event, EventId, LocationId, ObjectId, ThreadId};

use super::Context;
use super::cells::Fault;
use super::identity::Identity;
use super::things::Things;
use crate::runtime::alloc;

/// The drop of a cell that a use does not precede, as far as known.
pub(super) struct UnorderedDrop {
    /// The address of the cell.
    pub(super) address: usize,
    pub(super) dropped: Moment,
    /// The last event of the other thread before its use.
    pub(super) used_after: EventId,
}

impl Context {
    /// Records that the calling thread frees these bytes, which are still there. The execution fails if the next
    /// operation of another thread uses a value in them.
    pub(super) fn note_free(&self, block: &Range<usize>, moment: Moment) {
        if self.has_stopped() || self.progress.has_fault() {
            return;
        }
        let Ok(mut exploration) = self.exploration.try_borrow_mut() else {
            return;
        };
        let used = (0..exploration.execution().threads.len()).find_map(|index| {
            let thread = ThreadId::new(index);
            let has_ended = exploration.execution().threads[index].end.is_some();
            if thread == moment.thread || has_ended {
                return None;
            }
            let pending = exploration.state().pending(thread);
            let location = pending.location().map(|it| (it.index(), &self.locations));
            let object = pending.object().map(|it| (it.index(), &self.objects));
            let is_in_block = |(index, things): (usize, &RefCell<Things>)| {
                let address = things.try_borrow().ok()?.addresses().nth(index)?;
                let fits = block.contains(&address) && block.end - address >= size_of::<Identity>();
                // SAFETY: the bytes are in the block, which is not freed yet; any value of them is one of an
                // identity. A value that has moved since its first use has another one there.
                let known = fits.then(|| unsafe { &*(address as *const Identity) });
                known
                    .and_then(|it| it.get(self.stamp()))
                    .filter(|&it| it == index)
            };
            let what = match location.and_then(is_in_block) {
                Some(_) => "atomic variable",
                None => object.and_then(is_in_block).map(|_| "object")?,
            };
            Some((thread, what))
        });
        let Some((thread, what)) = used else { return };
        let fate = Fate::Freed(Some(moment));
        let site = exploration.state().pending_site(thread);
        exploration.world().stop_with(MemoryError {
            thread,
            what,
            site,
            after: moment.after,
            fate,
        });
        // An allocator must not unwind: the next operation does.
        self.fault.set(Some(Fault::Memory { what, fate }));
        self.progress.set_fault();
    }

    /// Stops the execution if the value of an operation was freed while the operation was pending.
    #[cold]
    pub fn stop_if_freed(&self, place: &'static std::panic::Location<'static>) {
        if self.progress.has_fault() && !self.has_stopped() {
            self.stop_at_fault(place);
        }
    }

    /// Returns the frees in the execution that has just stopped that another thread's use of an atomic, a lock
    /// or a cell in the block does not precede.
    pub(crate) fn early_frees(&self) -> Vec<EarlyFree> {
        if !alloc::has_freed() {
            return Vec::new();
        }
        let freed = |things: &RefCell<Things>| {
            let things = things.borrow();
            let addresses = things.addresses().enumerate();
            let freed = |(index, address)| Some((index, alloc::freed_by(address, self.stamp())?));
            addresses.filter_map(freed).collect::<Vec<_>>()
        };
        let (locations, objects) = (freed(&self.locations), freed(&self.objects));
        let drops = self.unordered_drops.borrow();
        if locations.is_empty() && objects.is_empty() && drops.is_empty() {
            return Vec::new();
        }
        self.with_execution(|execution, _| {
            let early = EarlyFrees::of(execution);
            let of_locations = locations.iter().filter_map(|&(index, freed)| {
                let location = Some(LocationId::new(index));
                early.find(freed, |event: &Event| {
                    event.operation.location() == location
                })
            });
            let of_objects = objects.iter().filter_map(|&(index, freed)| {
                let object = Some(ObjectId::new(index));
                early.find(freed, |event: &Event| event.operation.object() == object)
            });
            let of_cells = drops.iter().filter_map(|drop| {
                alloc::freed_by(drop.address, self.stamp())?;
                early.find(drop.dropped, |event: &Event| event.id == drop.used_after)
            });
            of_locations.chain(of_objects).chain(of_cells).collect()
        })
    }
}
