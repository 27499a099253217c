//! Cells and other memory of the running execution: accesses, which are no operations, and values
//! that no longer exist.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::Location;

use raddle_engine::check::memory_error::{Fate, MemoryError, Moment};
use raddle_engine::{CellId, Ending, LocationId, Operation, Reply, SiteId, Step, ThreadId, World};

use super::{Context, Made, current, statics};
use crate::runtime::alloc;
use crate::runtime::early_frees::UnorderedDrop;
use crate::runtime::identity::{Identity, Refusal};

/// An operation that cannot happen.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// The value does not exist.
    Memory { what: &'static str, fate: Fate },
    /// A foreign thread has used the value since the execution began.
    Foreign,
}

/// An access that lasts while this exists.
pub struct Ongoing {
    cell: CellId,
    begun_by: ThreadId,
    stamp: u64,
}

impl Ongoing {
    /// Calls `f` with the calling thread, if it belongs to the execution of this access.
    #[inline]
    fn with_world<R>(&self, f: impl FnOnce(&mut World, ThreadId) -> R) -> Option<R> {
        let context = current()?;
        let is_running = !context.has_stopped() && context.stamp() == self.stamp;
        is_running.then(|| context.with_world(|world| f(world, context.thread())))
    }

    /// Makes it the access of a pointer.
    pub fn by_pointer(self) -> OngoingByPointer {
        let pointer = OngoingByPointer {
            access: ManuallyDrop::new(self),
            used: Cell::new(None),
        };
        pointer.note_use();
        pointer
    }
}

impl Drop for Ongoing {
    #[inline]
    fn drop(&mut self) {
        self.with_world(|world, thread| world.end_access(thread, self.begun_by, self.cell));
    }
}

/// An access by a pointer that reports its uses.
///
/// It ends with the last operation of the thread that drops it, or with a use after that operation. A value with such
/// a pointer may release the cell in its destructor, before the pointer itself is dropped.
pub struct OngoingByPointer {
    access: ManuallyDrop<Ongoing>,
    /// The thread of the last use, and its number of events then.
    used: Cell<Option<(ThreadId, u32)>>,
}

impl OngoingByPointer {
    /// Records that the calling thread uses the pointer.
    pub fn note_use(&self) {
        let used = (self.access).with_world(|world, thread| (thread, world.events_of(thread)));
        self.used.set(used);
    }
}

impl Drop for OngoingByPointer {
    fn drop(&mut self) {
        let Ongoing { begun_by, cell, .. } = *self.access;
        self.access.with_world(|world, thread| {
            let before_last = world.events_of(thread).saturating_sub(1);
            let own_use = self.used.get().filter(|&(user, _)| user == thread);
            let index = own_use.map_or(before_last, |(_, used)| before_last.max(used));
            world.end_access_at(thread, index, begun_by, cell);
        });
    }
}

impl Context {
    /// Records that a write of a cell changes thread state outside the stack.
    #[inline]
    fn note_write(&self, writes: bool) {
        if writes {
            self.forget_looks();
        }
    }

    /// Reads or writes a cell in one step.
    #[inline]
    pub fn access_cell(
        &self,
        identity: &Identity,
        made: &Made,
        writes: bool,
        place: &'static Location<'static>,
    ) {
        self.note_write(writes);
        self.with_cell(identity, made, place, |world, cell| {
            world.access_cell(self.thread(), cell, writes, self.site(place));
        });
    }

    /// Begins a read or write of a cell.
    #[inline]
    pub fn begin_access(
        &self,
        identity: &Identity,
        made: &Made,
        writes: bool,
        place: &'static Location<'static>,
    ) -> Option<Ongoing> {
        self.note_write(writes);
        self.with_cell(identity, made, place, |world, cell| {
            world.begin_access(self.thread(), cell, writes, self.site(place));
            Ongoing {
                cell,
                begun_by: self.thread(),
                stamp: self.stamp(),
            }
        })
    }

    /// Checks the calling thread's last event, a load of an atomic that must not be atomic: a write that
    /// does not happen before it is a data race.
    ///
    /// The load is an event, so that the search runs the class in which it takes the value of any write
    /// that it races with.
    pub fn check_unsynchronized_load(
        &self,
        identity: &Identity,
        made: Made,
        place: &'static Location<'static>,
    ) {
        let Some(index) = identity.get(self.stamp()).filter(|_| !self.has_stopped()) else {
            return;
        };
        let (location, site) = (LocationId::new(index), self.site(place));
        self.with_world(|world| {
            let cell = world.add_cell();
            self.cells.borrow_mut().add(identity, made, || cell.index());
            world.check_plain(self.thread(), cell, false, site, |at| at == location);
        });
    }

    /// Records an access by a thread with exclusive access to the cell.
    pub fn own_cell(&self, identity: &Identity, place: Option<&'static Location<'static>>) {
        if let Some(index) = identity.get(self.stamp())
            && !self.has_stopped()
            && let Ok(mut exploration) = self.exploration.try_borrow_mut()
        {
            let site = place.map(|place| self.site(place));
            let world = exploration.world();
            world.own_cell(self.thread(), CellId::new(index), site);
        }
    }

    /// Records that the calling thread drops the cell.
    pub fn drop_cell(&self, identity: &Identity) {
        if self.has_stopped() {
            return;
        }
        if let Ok(mut exploration) = self.exploration.try_borrow_mut() {
            let (world, thread) = (exploration.world(), self.thread());
            let moment = world.moment(thread);
            if let Some(index) = identity.get(self.stamp()) {
                let uses = world.own_cell(thread, CellId::new(index), None);
                let unordered = uses.into_iter().map(|used_after| UnorderedDrop {
                    address: identity.address(),
                    dropped: moment,
                    used_after,
                });
                self.unordered_drops.borrow_mut().extend(unordered);
            }
            self.dropped.borrow_mut().push((identity.address(), moment));
        }
        identity.drop_in(self.stamp());
    }

    /// Gives a cell a name in this execution.
    pub fn label_cell(&self, identity: &Identity, made: &Made, name: String) {
        let cell = self.with_world(|world| self.cell(world, identity, made));
        if let Ok(cell) = cell {
            self.cells.borrow_mut().label(cell.index(), name);
        }
    }

    /// Returns the present moment with a name of the calling thread that does not depend on the
    /// schedule; `None` while raddle's own state is borrowed.
    pub(crate) fn moment_and_thread(&self) -> Option<(u64, Moment)> {
        let mut exploration = self.exploration.try_borrow_mut().ok()?;
        let world = exploration.world();
        let thread = self.thread();
        Some((world.state().fingerprint(thread), world.moment(thread)))
    }

    /// Uses a cell in the running execution; does nothing once that has stopped.
    #[inline]
    fn with_cell<R>(
        &self,
        identity: &Identity,
        made: &Made,
        place: &'static Location<'static>,
        use_it: impl FnOnce(&mut World, CellId) -> R,
    ) -> Option<R> {
        if self.has_stopped() {
            return None;
        }
        let used = self.with_world(|world| {
            let cell = self.cell(world, identity, made)?;
            Ok(use_it(world, cell))
        });
        match used {
            Ok(used) => Some(used),
            Err(fault) => self.stop_with(fault, place),
        }
    }

    /// Returns the cell of a value in this execution.
    #[inline]
    pub(super) fn cell(
        &self,
        world: &mut World,
        identity: &Identity,
        made: &Made,
    ) -> Result<CellId, Fault> {
        match identity.get(self.stamp()) {
            Some(index) => Ok(CellId::new(index)),
            None => self.first_use(world, identity, made),
        }
    }

    fn first_use(
        &self,
        world: &mut World,
        identity: &Identity,
        made: &Made,
    ) -> Result<CellId, Fault> {
        // Noticed when the copy of a static was made.
        let noticed = self.progress.take_fault().then(|| self.fault.take());
        let fault = noticed.flatten();
        if let Some(fault) = fault.or_else(|| self.fault(identity, "UnsafeCell", made)) {
            return Err(fault);
        }
        let mut added = None;
        let index = self.index(&self.cells, identity, *made, || {
            let cell = world.add_cell();
            added = Some(cell);
            cell.index()
        });
        if let Some(cell) = added
            && !statics::is_static(identity)
            && let Some(moment) = alloc::made_by(identity.address(), self.stamp())
        {
            world.make_cell(cell, moment);
        }
        Ok(CellId::new(index))
    }

    /// Returns the fault of a value that the execution does not know, if any.
    #[inline]
    fn fault(&self, identity: &Identity, what: &'static str, made: &Made) -> Option<Fault> {
        let refusal = identity.refusal(self.stamp())?;
        self.fault_of(refusal, identity, what, made)
    }

    #[cold]
    fn fault_of(
        &self,
        refusal: Refusal,
        identity: &Identity,
        what: &'static str,
        made: &Made,
    ) -> Option<Fault> {
        let dropped = || {
            let dropped = self.dropped.borrow();
            let mut last = dropped.iter().rev();
            let last = last.find(|(address, _)| *address == identity.address());
            last.map(|&(_, moment)| moment)
        };
        let fate = match refusal {
            Refusal::Marked(mark) => {
                let is_foreign = mark.number > self.marks_before.get() && !self.has_stopped();
                return is_foreign.then(|| {
                    self.intrusions.record_mark(mark, *made);
                    Fault::Foreign
                });
            }
            Refusal::Freed => Fate::Freed(alloc::freed_by(identity.address(), self.stamp())),
            Refusal::Dropped => Fate::Dropped(dropped()),
            // Memory that was overwritten after the drop, as unoptimised code does.
            Refusal::NeverMade => match dropped() {
                Some(moment) => Fate::Dropped(Some(moment)),
                None => Fate::NeverMade,
            },
        };
        Some(Fault::Memory { what, fate })
    }

    /// Records the fault of a value that the execution does not know, if any; the operation on it
    /// then does not happen.
    #[inline]
    pub(super) fn notice_fault(
        &self,
        identity: &Identity,
        what: &'static str,
        made: &Made,
    ) -> bool {
        let fault = self.fault(identity, what, made);
        let is_faulty = fault.is_some();
        if is_faulty {
            self.fault.set(fault);
            self.progress.set_fault();
        }
        is_faulty
    }

    /// Records that a foreign thread has used the value of the next operation.
    #[cold]
    pub(super) fn notice_foreign(&self) {
        if !self.has_stopped() {
            self.fault.set(Some(Fault::Foreign));
            self.progress.set_fault();
        }
    }

    /// Stops the execution if the next operation cannot happen.
    #[cold]
    pub(super) fn stop_at_fault(&self, place: &'static Location<'static>) {
        if self.progress.take_fault() {
            let fault = self.fault.take().expect("it was noticed");
            self.stop_with(fault, place);
        }
    }

    /// Stops the execution at an operation that cannot happen, or because its time is over.
    #[cold]
    #[inline(never)]
    pub(super) fn stop_at(
        &self,
        place: &'static Location<'static>,
        operation: Operation,
        site: SiteId,
    ) -> Reply {
        self.stop_at_fault(place);
        self.cut(operation, site);
        self.retry_after_stop(operation, site)
    }

    /// Stops the execution at this operation of the running thread, because its time is over.
    pub(super) fn cut(&self, operation: Operation, site: SiteId) {
        let thread = self.thread.get();
        let step = self.with_world(|world| world.cut(thread, operation, site));
        self.suspend_for(step);
    }

    /// Stops the execution with this fault; the calling thread does not continue.
    #[cold]
    fn stop_with(&self, fault: Fault, place: &'static Location<'static>) -> ! {
        if !self.has_stopped() {
            let (thread, site) = (self.thread(), self.site(place));
            self.with_world(|world| match fault {
                Fault::Memory { what, fate } => {
                    let Moment { after, .. } = world.moment(thread);
                    world.stop_with(MemoryError {
                        thread,
                        what,
                        site,
                        after,
                        fate,
                    })
                }
                Fault::Foreign => {
                    self.intrusions.set_found_by(thread, place);
                    world.stop(Ending::Interfered)
                }
            });
            self.suspend_for(Step::Stop);
        }
        self.unwind_if_stopped();
        // A thread that is unwinding cannot be unwound again.
        self.give_up();
    }
}
