//! Finds granules, and divides them into halves.

use super::{CHUNK, KIND, PAGE, RECENT, RecentPage, Shadow, WORD};
use crate::execution::running;
use crate::memory::granule::{ATOMIC, EMPTY, Granule, GranuleState, NO_THREAD, STATE};

impl Shadow {
    /// Returns the granule of a word.
    #[inline]
    pub(super) fn granule(&mut self, word: usize) -> *mut Granule {
        let page = word / PAGE;
        let recent = self.now.recent[page % RECENT];
        let granules = match recent.page == page {
            true => recent.granules,
            false => self.page(page),
        };
        granules.wrapping_add(word % PAGE / WORD)
    }

    #[cold]
    pub(super) fn page(&mut self, page: usize) -> *mut Granule {
        let empty = || vec![EMPTY; PAGE / WORD].into_boxed_slice();
        let granules = self.pages.entry(page).or_insert_with(empty).as_mut_ptr();
        self.now.recent[page % RECENT] = RecentPage { page, granules };
        granules
    }

    /// Returns the granule, emptied if its stamp is from another execution.
    ///
    /// Granules never move and are the shadow's own; each reference to one ends before the next is
    /// made.
    #[inline]
    pub(super) fn get<'a>(&self, granule: *mut Granule) -> &'a mut Granule {
        // SAFETY: every pointer is to a granule in `pages` or `halves`, which are never freed.
        // Callers hold one reference at a time, as the comment of this function demands.
        let granule = unsafe { &mut *granule };
        if granule.meta & !(STATE | ATOMIC) != self.stamp {
            granule.meta = self.stamp;
            (granule.write_thread, granule.read_thread) = (NO_THREAD, NO_THREAD);
        }
        granule
    }

    /// Returns the halves of a granule, with the same last accesses.
    pub(super) fn split(
        &mut self,
        granule: *mut Granule,
        start: usize,
        size: usize,
    ) -> *mut Granule {
        let whole = *self.get(granule);
        if let GranuleState::Split(number) = whole.state() {
            return self.half(number);
        }
        if self.used / CHUNK == self.halves.len() {
            self.halves.push(vec![EMPTY; CHUNK].into_boxed_slice());
        }
        let number = self.used;
        let halves = self.half(number);
        self.used += 2;
        let mut other = whole;
        if let GranuleState::Cell(cell) = whole.state() {
            other.set_state(GranuleState::Cell(running().split_cell(
                KIND,
                start + size / 2,
                cell,
            )));
        }
        // SAFETY: the two granules are inside of a chunk, because chunks have an even number of
        // them, and no other pointer to them exists yet.
        unsafe {
            halves.write(whole);
            halves.add(1).write(other);
        }
        self.get(granule).set_state(GranuleState::Split(number));
        halves
    }

    #[inline]
    pub(super) fn half(&mut self, number: usize) -> *mut Granule {
        &raw mut self.halves[number / CHUNK][number % CHUNK]
    }
}
