//! Atomics of the standard library itself.
//!
//! They are no events and no scheduling points: the thread performs them in memory, and no other
//! thread runs in between. But they synchronize by their orderings (`happens_before` of the
//! engine). So the drop of the last `Arc` happens after all others, and two threads that have only
//! cloned it are unordered.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use raddle_engine::Operation;
use raddle_engine::memory::happens_before::{
    self, DetachedAccess, DetachedAccesses, Strength, ThreadClock,
};

use super::arc_counts::{self, Change};
use super::threads;
use crate::execution::part::{Part, PartCell};
use crate::execution::{running, shadow_stack};
use crate::host::addresses::Table;
use crate::host::mode::host;
use crate::names::rust_paths::FunctionKind;
use crate::threads::atomics;

/// Number of equal loads after which a thread is taken to wait.
const PATIENCE: u32 = 64;

/// The atomics of the standard library in the execution.
#[derive(Default)]
pub(crate) struct StdAtomics {
    /// Index of each atomic with a release clock.
    atomics: Table<usize>,
    accesses: DetachedAccesses,
    /// Address and epoch of the last load, and its number of repetitions.
    look: (usize, u64, u32),
}

impl Part for StdAtomics {
    fn renew(&mut self) {
        let StdAtomics {
            atomics,
            accesses,
            look,
        } = self;
        atomics.clear();
        accesses.clear();
        *look = (0, 0, 0);
    }
}

pub(crate) static STD_ATOMICS: PartCell<StdAtomics> = PartCell::new();

/// Removes the atomics at these addresses, which others will use.
pub(crate) fn forget(range: std::ops::Range<usize>) {
    STD_ATOMICS.get().atomics.forget(range);
}

/// Access to the clock of the running thread, which the world owns.
struct Running;

impl ThreadClock for Running {
    fn acquire(&mut self, clock: &[u32]) {
        running().acquire(clock);
    }

    fn release(&mut self, clock: &mut Vec<u32>) {
        running().release_clock(clock);
    }
}

impl StdAtomics {
    fn here(&mut self) -> DetachedAccess<'_, Running> {
        self.accesses.at(running().thread().index(), Running)
    }

    /// Acquires by a load of the atomic at an address in the running thread.
    fn read(&mut self, address: usize, ordering: Ordering) {
        if let Some(&mut atomic) = self.atomics.get(address) {
            happens_before::load(&mut self.here(), atomic, Strength::of(ordering));
        }
    }

    /// Releases by a store to the atomic at an address in the running thread.
    fn write(&mut self, address: usize, ordering: Ordering) {
        let strength = Strength::of(ordering);
        if let Some(atomic) = self.written(address, strength) {
            happens_before::store(&mut self.here(), atomic, strength, None);
        }
    }

    /// Acquires and releases by an update of the atomic at an address in the running thread.
    fn update(&mut self, address: usize, ordering: Ordering) {
        let strength = Strength::of(ordering);
        if let Some(atomic) = self.written(address, strength) {
            happens_before::update(&mut self.here(), atomic, atomic, strength);
        }
    }

    /// Returns the index of an atomic that is written; nothing if it has no release clock and gets
    /// none.
    fn written(&mut self, address: usize, strength: Strength) -> Option<usize> {
        let known = self.atomics.get(address).copied();
        let thread = running().thread().index();
        if known.is_none() && (strength.releases() || self.accesses.has_fence(thread)) {
            let atomic = self.accesses.add_atomic();
            self.atomics.insert(address, atomic);
            return Some(atomic);
        }
        known
    }
}

/// In guest mode: records a load of the atomic at an address by the running thread, in code of a kind
/// and at a place in the program.
pub(crate) fn load(address: usize, order: c_int, region: FunctionKind, code: usize) {
    if shadow_stack::is_modelled() {
        return;
    }
    if shadow_stack::region() == FunctionKind::Scope {
        threads::end_scope(address, code);
    }
    arc_counts::use_count(address, false, region);
    let ordering = atomics::ordering(order);
    let waits = {
        let mut known = STD_ATOMICS.get();
        known.read(address, atomics::of_load(ordering));
        let epoch = crate::host::mode::epoch();
        let (last, since, count) = known.look;
        let count = match (last, since) == (address, epoch) {
            true => count + 1,
            false => 0,
        };
        known.look = (address, epoch, count);
        count >= PATIENCE
    };
    if waits {
        let site = shadow_stack::users(code);
        host(|| running().perform(site, |_| Operation::Yield));
    }
}

/// In guest mode: records a store to the atomic at an address by the running thread.
pub(crate) fn store(address: usize, order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    let ordering = atomics::of_store(atomics::ordering(order));
    STD_ATOMICS.get().write(address, ordering);
}

/// In guest mode: records an update of the atomic at an address by the running thread, in code of a kind.
pub(crate) fn update(address: usize, change: Change, order: c_int, region: FunctionKind) {
    if shadow_stack::is_modelled() {
        return;
    }
    arc_counts::use_count(address, true, region);
    arc_counts::change_count(address, change, region);
    let ordering = atomics::ordering(order);
    STD_ATOMICS.get().update(address, ordering);
}

/// In guest mode: records a failed compare-exchange of the atomic at an address by the running
/// thread, in code of a kind.
pub(crate) fn fail(address: usize, order: c_int, region: FunctionKind) {
    if shadow_stack::is_modelled() {
        return;
    }
    arc_counts::use_count(address, false, region);
    STD_ATOMICS.get().read(address, atomics::ordering(order));
}

/// In guest mode: records a fence of the running thread.
pub(crate) fn fence(order: c_int) {
    if shadow_stack::is_modelled() {
        return;
    }
    let strength = Strength::of(atomics::ordering(order));
    happens_before::fence(&mut STD_ATOMICS.get().here(), strength);
}
