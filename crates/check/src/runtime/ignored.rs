//! Locations that the program declares to be ignored, in a check that leaves their accesses out of the search.
//!
//! The search may do so only for relaxed accesses that no fence orders, so other programs are refused.

use std::sync::atomic::Ordering;

use raddle_engine::{LocationId, World};

use super::Context;

impl Context {
    /// Leaves accesses of ignored locations out of the search.
    pub(crate) fn set_ignores(&self, ignores: bool) {
        self.ignores.set(ignores);
    }

    /// True when the calling thread's accesses of ignored locations are left out of the search.
    #[inline]
    pub fn ignores(&self) -> bool {
        self.ignores.get() && !self.has_stopped()
    }

    /// Prepares an access of an ignored location.
    #[cold]
    #[track_caller]
    pub fn ignore(&self, ordering: Ordering, location: impl FnOnce(&mut World) -> LocationId) {
        if ordering != Ordering::Relaxed {
            self.refuse(&format!(
                "raddle: with `reduce = \"paths\"` an `Ignored` value is accessed with `Relaxed` only, because \
                 `{ordering:?}` may order other accesses; use `Relaxed`, or the atomic without `Ignored`"
            ));
        }
        let is_fenced = self.with_world(|world| {
            let location = location(world);
            world.ignore_location(location);
            world.has_fence()
        });
        if is_fenced {
            self.refuse(FENCED);
        }
    }

    /// Prepares a fence.
    #[inline]
    #[track_caller]
    pub fn fence_beside_ignored(&self) {
        if self.ignores() && self.with_world(|world| world.has_ignored()) {
            self.refuse(FENCED);
        }
    }

    /// Refuses an operation. The program may catch the panic, so the search is incomplete in any case.
    #[cold]
    #[track_caller]
    fn refuse(&self, why: &str) -> ! {
        self.with_exploration(|exploration| exploration.note_refusal());
        panic!("{why}");
    }
}

const FENCED: &str = "raddle: with `reduce = \"paths\"` a program that uses `Ignored` values must have no fence, \
                      because it orders relaxed accesses of them; use the atomics without `Ignored`, or leave out \
                      `reduce`";
